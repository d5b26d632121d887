#pragma once
/// The programs of calibration: counts of values, and the scale that they ask for.
///
/// A value counts as the nearest bf16, so there is one bin for each of 2^16 codes, whatever the values' range: counts
/// need no range beforehand, and adding them up gives the same result in any order.
#include <kiln/kernel/rows/blocks.hpp>
#include <kiln/kernel/rows/quantise.hpp>
#include <kiln/tile/block_reduce.hpp>

namespace kiln::rows {

inline constexpr index_t histogram_bins = 65536;
inline constexpr int candidates = 256, error_threads = 256;
inline constexpr index_t largest_bin = 0x7f7f;  ///< of a magnitude

/// The bin of a finite value. What rounds past the largest finite bf16 counts as that, both zeros as one.
KILN_FN int bin_of(float v) {
  const int code = bf16(v).bits, size = code & 0x7fff;
  return size > largest_bin ? code - 1 : size == 0 ? 0 : code;
}
KILN_FN float value_of_bin(index_t bin) { return bf16::from_bits(static_cast<std::uint16_t>(bin)); }

template <class X>
struct histogram_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 1;
  struct lines {
    line<const X> x;
  };
  operand<const X> x;
  std::int64_t* counts;
  cut cuts;

  template <class F>
  void each_operand(F f) const {
    f(in_runs<const X>{x, cuts});
  }
  KILN_FN index_t length_of(index_t r) const { return cuts.at(r).length; }
  KILN_FN lines at(index_t r) const {
    const run_place p = cuts.at(r);
    return {part_of(x.at(p.row), p.start)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    // Neighbours are often equal, zeros above all: they are counted in one step.
    one.map([&](index_t, int n, const chunk<X, Row::width>& kept) {
      int bin = 0;
      unsigned same = 0;
      KILN_UNROLL
      for (int i = 0; i < Row::width; ++i) {
        const auto v = static_cast<float>(kept[i]);
        if (i >= n || !is_finite(v)) continue;
        const int b = bin_of(v);
        if (b != bin) add(counts + bin, same), same = 0;
        bin = b, ++same;
      }
      add(counts + bin, same);
    });
  }
};

/// Where the range is kept, and what is to be made of it.
template <class Q, class Z>
struct calibration {
  const std::int64_t* counts;
  const float *low, *high;
  float* scale;
  Z* zero;
  bool symmetric;  ///< int8 without -128
  static constexpr bool affine = !std::is_empty_v<Z>;

  KILN_FN value_range all() const { return {*low, *high}; }
  KILN_FN scale_and_zero found(value_range r) const {
    if constexpr (affine)
      return affine_of<Q>(r, symmetric);
    else
      return {scale_of<Q>(maximum_of{}(-r.low, r.high)), 0};
  }
  KILN_FN void write(value_range r) const {
    const scale_and_zero f = found(r);
    *scale = f.scale;
    if constexpr (affine) *zero = static_cast<Z>(f.zero);
  }
};

/// One block: the range that at most a part 1 - `fraction` of all values lies beyond, on each side, or in magnitude.
template <class Where, class Q, class Z>
struct percentile_program {
  static constexpr int threads = 256, bins = 128;  // of a thread
  using block_type = block_scope<Where, threads>;
  struct storage {
    std::int64_t negative[threads], positive[threads];
  };
  calibration<Q, Z> to;
  double fraction;

  KILN_HOST_CALLS KILN_FN void run(index_t, storage& shared) const {
    const block_type block;
    block.each([&](int t) {
      std::int64_t negative = 0, positive = 0;
      for (int i = 0; i < bins; ++i) positive += to.counts[t * bins + i], negative += to.counts[0x8000 + t * bins + i];
      shared.positive[t] = positive, shared.negative[t] = negative;
    });
    sync(block);
    block.each([&](int t) {
      if (t != 0) return;
      std::int64_t all = 0;
      for (int i = 0; i < threads; ++i) all += shared.positive[i] + shared.negative[i];
      const double inside = fraction * static_cast<double>(all);
      auto needed = static_cast<std::int64_t>(inside);
      if (static_cast<double>(needed) < inside) ++needed;
      const std::int64_t beyond = all - min_of(needed, all);
      const value_range seen = to.all();
      value_range r;
      if constexpr (calibration<Q, Z>::affine) {
        r.high = end_of(shared, beyond, true, false, seen.high);
        r.low = -end_of(shared, beyond, false, true, -seen.low);
      } else {
        r.high = end_of(shared, beyond, true, true, maximum_of{}(-seen.low, seen.high));
      }
      to.write(r);
    });
  }

 private:
  /// The smallest magnitude that no more than `beyond` values exceed, of positive ones, negative ones or both;
  /// `largest` is theirs, of which the bin knows 8 bits only.
  KILN_FN float end_of(const storage& shared, std::int64_t beyond, bool positive, bool negative, float largest) const {
    std::int64_t above = 0;
    int t = threads - 1;
    const auto part = [&](int i) { return (positive ? shared.positive[i] : 0) + (negative ? shared.negative[i] : 0); };
    while (t > 0 && above + part(t) <= beyond) above += part(t--);
    index_t bin = static_cast<index_t>(t) * bins + bins - 1;
    const auto count = [&](index_t b) {
      return (positive ? to.counts[b] : 0) + (negative ? to.counts[0x8000 + b] : 0);
    };
    while (bin > 0 && above + count(bin) <= beyond) above += count(bin--);
    return beyond == 0 ? largest : min_of(value_of_bin(bin), largest);
  }
};

/// x * 2^(-sixteenths / 16), the same on both executors.
KILN_FN float shrunk(float x, int sixteenths) {
  if (sixteenths & 1) x *= 0.957603281f;
  if (sixteenths & 2) x *= 0.917004043f;
  if (sixteenths & 4) x *= 0.840896415f;
  if (sixteenths & 8) x *= 0.707106781f;
  return x * bit_cast<float>(static_cast<std::uint32_t>(127 - (sixteenths >> 4)) << 23);
}

/// The ranges that a search looks at. Symmetric: 16 octaves below the largest magnitude, in steps of 1/16. Affine: each
/// end over 8 octaves in steps of 1/2, then, around the best pair, in steps of 1/16.
template <bool Affine>
struct candidate_ranges {
  value_range all;
  int around = -1;  ///< the best of the first step; -1 in the first

  KILN_FN value_range at(int k) const {
    if constexpr (!Affine) return {0, shrunk(maximum_of{}(-all.low, all.high), k)};
    int low = k % 16 * 8, high = k / 16 * 8;
    if (around >= 0) low = around % 16 * 8 + k % 16 - 8, high = around / 16 * 8 + k / 16 - 8;
    return {shrunk(all.low, max_of(low, 0)), shrunk(all.high, max_of(high, 0))};
  }
};

/// Block k: the sum of squared errors of candidate k.
template <class Where, class Q, class Z>
struct errors_program {
  using block_type = block_scope<Where, error_threads>;
  using storage = reduce_storage<Where, error_threads>;
  calibration<Q, Z> to;
  const std::int64_t* best;  ///< of the first step
  bool second;
  std::int64_t* errors;  ///< the bits of doubles

  KILN_HOST_CALLS KILN_FN void run(index_t k, storage& shared) const {
    const block_type block;
    const candidate_ranges<calibration<Q, Z>::affine> ranges{to.all(), second ? static_cast<int>(*best) : -1};
    const scale_and_zero f = to.found(ranges.at(static_cast<int>(k)));
    fragments<double, 1, block_type> sum;
    block.each([&](int t) {
      double total = 0;
      KILN_NO_UNROLL
      for (index_t bin = t; bin < histogram_bins; bin += error_threads) {
        const std::int64_t n = to.counts[bin];
        if (n == 0) continue;
        const float v = value_of_bin(bin);
        double back;
        if constexpr (calibration<Q, Z>::affine)
          back = static_cast<double>(quantised<Q>(v, f.scale, f.zero, to.symmetric)) - f.zero;
        else
          back = static_cast<double>(static_cast<float>(quantised<Q>(v, f.scale, to.symmetric)));
        const double error = static_cast<double>(v) - static_cast<double>(f.scale) * back;
        total += static_cast<double>(n) * error * error;
      }
      sum.of(t)[0] = total;
    });
    const double all = block_reduce(block, shared, sum, sum_of{});
    block.each([&](int t) {
      if (t == 0) errors[k] = bit_cast<std::int64_t>(all);
    });
  }
};

/// One item: the candidate of the least error, of equal ones the widest; `last` writes its scale.
template <class Q, class Z>
struct choose_program {
  calibration<Q, Z> to;
  std::int64_t* best;
  bool second, last;
  const std::int64_t* errors;

  KILN_FN void run(index_t) const {
    int least = 0;
    for (int k = 1; k < candidates; ++k)
      if (bit_cast<double>(errors[k]) < bit_cast<double>(errors[least])) least = k;
    if (last) {
      const candidate_ranges<calibration<Q, Z>::affine> ranges{to.all(), second ? static_cast<int>(*best) : -1};
      to.write(ranges.at(least));
    } else {
      *best = least;
    }
  }
};

}  // namespace kiln::rows
