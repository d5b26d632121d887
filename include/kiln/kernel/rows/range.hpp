#pragma once
/// Ranges of values: of rows, of columns, of a whole tensor. A range holds 0, so that 0 has a code.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/blocks.hpp>
#include <kiln/kernel/rows/cut.hpp>
#include <kiln/kernel/rows/math.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln::rows {

/// low <= 0 <= high; NaN in both once a NaN was among the values.
struct value_range {
  float low = 0, high = 0;
};
/// As one number, for `reduce`.
KILN_FN std::uint64_t packed(value_range r) {
  return std::uint64_t{bit_cast<std::uint32_t>(r.high)} << 32 | bit_cast<std::uint32_t>(r.low);
}
KILN_FN value_range unpacked(std::uint64_t r) {
  return {bit_cast<float>(static_cast<std::uint32_t>(r)), bit_cast<float>(static_cast<std::uint32_t>(r >> 32))};
}
KILN_FN value_range joined(value_range a, value_range b) {
  return {minimum_of{}(a.low, b.low), maximum_of{}(a.high, b.high)};
}
/// `Finite`: values that are not are passed over.
template <bool Finite>
struct widen_range {
  KILN_FN std::uint64_t operator()(std::uint64_t a, float v, index_t) const {
    if (Finite && !is_finite(v)) return a;
    return packed(joined(unpacked(a), {v, v}));
  }
};
struct join_ranges {
  KILN_FN std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    return packed(joined(unpacked(a), unpacked(b)));
  }
};
struct count_not_finite {
  KILN_FN std::uint64_t operator()(std::uint64_t a, float v, index_t) const { return a + (is_finite(v) ? 0 : 1); }
};

/// *to = larger of the two, by all threads of a kernel in any order. x >= 0: such floats order as their bits do, NaN
/// above all.
KILN_FN void raise(float* to, float x) {
#if defined(__CUDA_ARCH__)
  atomicMax(reinterpret_cast<unsigned*>(to), bit_cast<unsigned>(x) & 0x7fffffffu);
#else
  *to = maximum_of{}(*to, x);
#endif
}
/// The smaller, of x <= 0 and a word that starts as -0.0f.
KILN_FN void lower(float* to, float x) {
#if defined(__CUDA_ARCH__)
  atomicMax(reinterpret_cast<unsigned*>(to), bit_cast<unsigned>(x) | 0x80000000u);
#else
  *to = minimum_of{}(*to, x);
#endif
}
/// The same where the word is an integer's that holds a float's bits.
KILN_FN void lower(std::int32_t* to, float x) {
#if defined(__CUDA_ARCH__)
  atomicMax(reinterpret_cast<unsigned*>(to), bit_cast<unsigned>(x) | 0x80000000u);
#else
  *to = bit_cast<std::int32_t>(minimum_of{}(bit_cast<float>(*to), x));
#endif
}
KILN_FN void add(std::int64_t* to, std::uint64_t n) {
  if (n == 0) return;
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(n));
#else
  *to += static_cast<std::int64_t>(n);
#endif
}

/// Widens the range in two words by all values of a run. `Finite`: others are counted in `ignored`. Each group has
/// words of its own, or all share one pair (strides 0). `Low` is float, or int32 for a word that holds a float's bits.
template <class X, bool Finite, class Low = float>
struct range_program {
  using held = X;
  using lead = X;
  static constexpr int phases = Finite ? 2 : 1;
  struct lines {
    line<const X> x;
    Low* low;
    float* high;
    std::int64_t* ignored;
  };
  operand<const X> x;
  place_of_run<Low> low;
  place_of_run<float> high;
  place_of_run<std::int64_t> ignored;
  cut cuts;

  template <class F>
  void each_operand(F f) const {
    f(in_runs<const X>{x, cuts});
  }
  KILN_FN index_t length_of(index_t r) const { return cuts.at(r).length; }
  KILN_FN lines at(index_t r) const {
    const run_place p = cuts.at(r);
    return {part_of(x.at(p.row), p.start), low.at(p.row, p.group), high.at(p.row, p.group), ignored.at(p.row, p.group)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const value_range all = unpacked(one.reduce(std::uint64_t{0}, widen_range<Finite>{}, join_ranges{}));
    std::uint64_t others = 0;
    if constexpr (Finite) others = one.reduce(std::uint64_t{0}, count_not_finite{}, sum_of{});
    one.once([&] {
      lower(one.lines.low, all.low), raise(one.lines.high, all.high);
      if constexpr (Finite) add(one.lines.ignored, others);
    });
  }
};

/// Ranges of columns, over groups of rows. A block takes `Columns` chunks of columns of one group; `Lanes` threads
/// share the rows of each. `into(group, column, range, values passed over)` is called once for each group and column.
template <class Where, int Columns, int Lanes, int Width, class X, bool Finite, class Into>
struct column_range_program {
  using block_type = block_scope<Where, Columns * Lanes>;
  struct storage {
    float low[Lanes][Columns * Width], high[Lanes][Columns * Width];
    unsigned ignored[Finite ? Lanes : 1][Finite ? Columns * Width : 1];
  };
  operand<const X> x;
  Into into;
  index_t rows, columns, group, wide;  ///< `wide`: blocks side by side

  KILN_HOST_CALLS KILN_FN void run(index_t block, storage& shared) const {
    const block_type threads;
    const watch_of watch(threads);
    const index_t g = divided(block, wide), first = (block - g * wide) * Columns;
    const index_t begin = g * group, end = min_of(begin + group, rows);
    threads.each([&](int t) {
      const index_t c = (first + t % Columns) * Width;
      value_range r[Width];
      unsigned ignored[Width] = {};
      const int n = valid(c);
      if (n > 0) {
        for (index_t i = begin + t / Columns; i < end; i += Lanes) {
          chunk<X, Width> v;
          load(x.at(i), c, n, v);
          KILN_UNROLL
          for (int k = 0; k < Width; ++k) {
            const auto y = static_cast<float>(v[k]);
            if (!Finite || is_finite(y))
              r[k] = joined(r[k], {y, y});
            else
              ++ignored[k];
          }
        }
      }
      KILN_UNROLL
      for (int k = 0; k < Width; ++k) {
        shared.low[t / Columns][t % Columns * Width + k] = r[k].low;
        shared.high[t / Columns][t % Columns * Width + k] = r[k].high;
        if constexpr (Finite) shared.ignored[t / Columns][t % Columns * Width + k] = ignored[k];
        watch.write(&shared.low[t / Columns][t % Columns * Width + k], sizeof(float), t);
        watch.write(&shared.high[t / Columns][t % Columns * Width + k], sizeof(float), t);
        if constexpr (Finite)
          watch.write(&shared.ignored[t / Columns][t % Columns * Width + k], sizeof(shared.ignored[0][0]), t);
      }
    });
    sync(threads);
    threads.each([&](int t) {
      if (t >= Columns) return;
      const index_t c = (first + t) * Width;
      for (int k = 0; k < valid(c); ++k) {
        value_range r;
        index_t ignored = 0;
        for (int lane = 0; lane < Lanes; ++lane) {
          r = joined(r, {shared.low[lane][t * Width + k], shared.high[lane][t * Width + k]});
          if constexpr (Finite) ignored += shared.ignored[lane][t * Width + k];
          watch.read(&shared.low[lane][t * Width + k], sizeof(float), t);
          watch.read(&shared.high[lane][t * Width + k], sizeof(float), t);
          if constexpr (Finite) watch.read(&shared.ignored[lane][t * Width + k], sizeof(shared.ignored[0][0]), t);
        }
        into(g, c + k, r, ignored);
      }
    });
  }

 private:
  KILN_FN int valid(index_t c) const {
    return columns <= c ? 0 : columns - c < Width ? static_cast<int>(columns - c) : Width;
  }
};

template <bool Finite, int Width, class Executor, class X, class Into>
status run_column_ranges(const Executor& ex, trace::launch_record record, const operand<const X>& x, const Into& into,
                         index_t rows, index_t columns, index_t group) {
  constexpr int across = Executor::on_host ? 4 : 32, lanes = Executor::on_host ? 4 : 16;
  using program = column_range_program<where_of<Executor>, across, lanes, Width, X, Finite, Into>;
  record.schedule = Executor::on_host ? "columns" : "columns, 16 threads each";
  const index_t wide = ceil_div<index_t>(columns, across * Width), groups = max_of<index_t>((rows - 1) / group + 1, 1);
  return run_blocks(ex, record, program{x, into, rows, columns, group, wide}, wide * groups);
}

/// 4-byte chunks, as `column_reduce`. `group` rows share a range.
template <bool Finite, class Executor, class X, class Into>
status column_ranges(const Executor& ex, const trace::launch_record& record, const operand<const X>& x,
                     const Into& into, index_t rows, index_t columns, index_t group) {
  constexpr int width = 4 / static_cast<int>(sizeof(X));
  group = min_of(group, max_of<index_t>(rows, 1));
  if (x.vectors(width)) return run_column_ranges<Finite, width>(ex, record, x, into, rows, columns, group);
  return run_column_ranges<Finite, 1>(ex, record, x, into, rows, columns, group);
}

}  // namespace kiln::rows
