#pragma once
/// What reductions start from, and how they join; the program of those along rows.
#include <kiln/core/reduction.hpp>
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

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

}  // namespace rows
}  // namespace kiln
