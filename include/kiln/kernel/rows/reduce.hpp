#pragma once
/// The programs of reductions along rows and along columns.
#include <kiln/core/reduction.hpp>
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/blocks.hpp>
#include <kiln/kernel/rows/math.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln {

namespace rows {

/// What a reduction starts from, does with a value, joins with, and makes of the end.
template <reduction Op>
struct reducer {
  static constexpr float identity = Op == reduction::max ? -infinity : Op == reduction::min ? infinity : 0.0f;
  KILN_FN float operator()(float a, float b) const {
    if constexpr (Op == reduction::min)
      return minimum_of{}(a, b);
    else if constexpr (Op == reduction::sum || Op == reduction::mean)
      return a + b;
    else
      return maximum_of{}(a, b);
  }
  KILN_FN float operator()(float a, float v, index_t) const {
    return (*this)(a, Op == reduction::amax ? magnitude(v) : v);
  }
  KILN_FN static float finished(float a, index_t n) { return Op == reduction::mean ? a / static_cast<float>(n) : a; }
};

template <reduction Op, class A>
inline constexpr bool rounds<reducer<Op>, A> = Op == reduction::sum || Op == reduction::mean;

template <class X, class Y, reduction Op>
struct row_reduce_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 1;
  struct lines {
    line<const X> x;
    Y* out;
  };
  operand<const X> x;
  operand<Y> out;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), out.data + out.offset(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    using op = reducer<Op>;
    const float all = one.reduce(op::identity, op{}, op{});
    one.once([&] { *one.lines.out = convert<Y>(op::finished(all, one.length())); });
  }
};

/// A block takes `Columns` chunks of columns; `Lanes` threads share the rows of each, and their results are joined in
/// order.
template <class Where, int Columns, int Lanes, int Width, class X, class Y, reduction Op>
struct column_reduce_program {
  using op = reducer<Op>;
  using block_type = block_scope<Where, Columns * Lanes>;
  struct storage {
    float partial[Lanes][Columns * Width];
  };
  operand<const X> x;
  line<Y> out;
  index_t rows, columns;

  KILN_HOST_CALLS KILN_FN void run(index_t block, storage& shared) const {
    const block_type threads;
    threads.each([&](int t) {
      const index_t c = (block * Columns + t % Columns) * Width;
      float a[Width];
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) a[i] = op::identity;
      const int n = valid(c);
      if (n > 0) {
        if constexpr (rounds<op, float>) {
          for (index_t r = t / Columns; r < rows;) {
            float part[Width];
            KILN_UNROLL
            for (int i = 0; i < Width; ++i) part[i] = op::identity;
            for (int left = most_in_turn; left > 0 && r < rows; --left, r += Lanes) add(r, c, n, part);
            KILN_UNROLL
            for (int i = 0; i < Width; ++i) a[i] = op{}(a[i], part[i]);
          }
        } else {
          for (index_t r = t / Columns; r < rows; r += Lanes) add(r, c, n, a);
        }
      }
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) shared.partial[t / Columns][t % Columns * Width + i] = a[i];
    });
    sync(threads);
    threads.each([&](int t) {
      if (t >= Columns) return;
      const index_t c = (block * Columns + t) * Width;
      const int n = valid(c);
      for (int i = 0; i < n; ++i) {
        float a = shared.partial[0][t * Width + i];
        for (int lane = 1; lane < Lanes; ++lane) a = op{}(a, shared.partial[lane][t * Width + i]);
        out[c + i] = convert<Y>(op::finished(a, rows));
      }
    });
  }

 private:
  KILN_FN void add(index_t r, index_t c, int n, float (&a)[Width]) const {
    chunk<X, Width> v;
    load(x.at(r), c, n, v);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) a[i] = op{}(a[i], static_cast<float>(v[i]), c);
  }
  KILN_FN int valid(index_t c) const {
    return columns <= c ? 0 : columns - c < Width ? static_cast<int>(columns - c) : Width;
  }
};

template <int Width, reduction Op, class Executor, class X, class Y>
status run_columns(const Executor& ex, trace::launch_record record, const operand<const X>& x, const line<Y>& out,
                   index_t rows, index_t columns) {
  constexpr int across = Executor::on_host ? 4 : 32, lanes = Executor::on_host ? 4 : 16;
  using program = column_reduce_program<where_of<Executor>, across, lanes, Width, X, Y, Op>;
  record.schedule = Executor::on_host ? "columns" : "columns, 16 threads each";
  return run_blocks(ex, record, program{x, out, rows, columns}, ceil_div<index_t>(columns, across * Width));
}

}  // namespace rows
}  // namespace kiln
