#pragma once
/// The program of softmax and log-softmax.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

template <class X, class Y>
struct softmax_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 3;
  struct lines {
    line<const X> x;
    line<Y> y;
  };

  operand<const X> x;
  operand<Y> y;
  float scale;
  bool masked, logarithmic;

  template <class F>
  void each_operand(F f) const {
    f(x), f(y);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float s = scale;
    const maximum_of larger;
    const float top = one.reduce(
        -infinity, [=](float a, float v, index_t) { return larger(a, v * s); }, larger);
    if (masked && top == -infinity) {
      const float nothing = logarithmic ? -infinity : 0.0f;
      one.write(one.lines.y, [=](float) { return nothing; });
      return;
    }
    const float sum = one.reduce(
        0.0f, [=](float a, float v, index_t) { return a + exponential(v * s - top); }, sum_of{});
    if (logarithmic) {
      const float log_sum = logarithm(sum);
      one.write(one.lines.y, [=](float v) { return v * s - top - log_sum; });
    } else {
      const float inverse = 1.0f / sum;
      one.write(one.lines.y, [=](float v) { return exponential(v * s - top) * inverse; });
    }
  }
};

}  // namespace kiln::rows
