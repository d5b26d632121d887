#pragma once
/// The programs of softmax and log-softmax, with and without a mask.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/extreme.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// All phases of a softmax of `scale` times a row's values.
template <class Row>
KILN_FN void softmax_of(Row& one, float scale, bool masked, bool logarithmic) {
  const float s = scale;
  // Rounding a product keeps the order, so the largest of all products is that of the largest value, or the smallest.
  float top = s * (s < 0 ? one.template find<extreme::smallest>() : one.template find<extreme::largest>());
  const bool nothing = masked && top == -infinity;  // then the sum is 0
  if (nothing) top = 0;
  const float sum = one.reduce(
      0.0f, [=](float a, float v, index_t) { return a + quick_exponential(v * s - top); }, sum_of{});
  if (logarithmic) {
    const float log_sum = nothing ? 0 : logarithm(sum);
    one.write(one.lines.y, [=](float v) { return v * s - top - log_sum; });
  } else {
    const float inverse = nothing ? 1 : 1.0f / sum;
    one.write(one.lines.y, [=](float v) { return quick_exponential(v * s - top) * inverse; });
  }
}

template <class X, class Y>
struct softmax_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 3;
  static constexpr bool few_registers = true;
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
    softmax_of(one, scale, masked, logarithmic);
  }
};

/// What a mask does to the values: bytes choose them, numbers are added to them.
template <class M>
inline constexpr bool chooses = std::is_same_v<M, std::uint8_t>;

/// Values are scaled and masked as they are read, so that all phases see the same ones.
template <class X, class M, class Y>
struct masked_softmax_program {
  using held = float;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 3;
  static constexpr bool few_registers = true;
  static constexpr bool has_mask = true;  ///< so that a row has its mask beside it in registers
  struct lines {
    line<const X> x;
    line<const M> mask;
    line<Y> y;
  };

  operand<const X> x;
  operand<const M> mask;
  operand<Y> y;
  float scale;
  bool masked, logarithmic;

  template <class F>
  void each_operand(F f) const {
    f(x), f(mask), f(y);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), mask.at(r), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<float, Width>& to) const {
    chunk<X, Width> v;
    chunk<M, Width> m;
    rows::load(l.x, c, n, v);
    rows::load(l.mask, c, n, m);
    to = widened(v);
    if constexpr (chooses<M>) {
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) to[i] = m[i] != 0 ? to[i] * scale : -infinity;
    } else {
      const chunk<float, Width> more = widened(m);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) to[i] = to[i] * scale + more[i];
    }
  }
  KILN_FN static float value(float v) { return v; }

  template <class Row>
  KILN_FN void run(Row& one) const {
    softmax_of(one, 1.0f, masked, logarithmic);
  }
};

}  // namespace kiln::rows
