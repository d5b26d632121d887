#pragma once
/// The programs of RMSNorm (with and without a residual) and LayerNorm.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

// Squares of float32 values overflow above 2^64 and vanish below 2^-74, where the norm itself is still an ordinary
// number. Such rows are measured again in units of 2^80 or 2^-80; no others pay for it.
inline constexpr float large_unit = 0x1p-80f, small_unit = 0x1p80f;

/// 1 / sqrt(mean of squares + epsilon) of a row: what a value is multiplied with.
template <class Row>
KILN_FN float inverse_norm(Row& one, float epsilon) {
  const auto count = static_cast<float>(one.length());
  const auto squares = [&](float unit) {
    return one.reduce(
        0.0f, [=](float a, float v, index_t) { return a + (v * unit) * (v * unit); }, sum_of{});
  };
  const float sum = squares(1.0f);
  float unit = 1;
  if (!is_finite(sum)) unit = large_unit;
  if (sum < 0x1p-80f && epsilon < 0x1p-60f) unit = small_unit;
  if (unit == 1.0f) return inverse_root(sum / count + epsilon);
  return inverse_root(squares(unit) / count + epsilon * unit * unit) * unit;
}

/// When the normalised value meets the weight.
enum class rounding {
  at_store,      ///< float32 throughout, one rounding
  before_weight  ///< the normalised value is rounded to the input's type, and the product once more
};

/// y = v * factor * weight for one chunk, stored.
template <class X, rounding When, int Width, class Y, class W>
KILN_FN void store_weighted(const line<Y>& to, const line<const W>& weight, index_t c, int n,
                            const chunk<float, Width>& v, float factor) {
  chunk<W, Width> w;
  load(weight, c, n, w);
  chunk<float, Width> y;
  KILN_UNROLL
  for (int i = 0; i < Width; ++i) y[i] = v[i] * factor;
  if constexpr (When == rounding::before_weight) {
    const chunk<X, Width> narrow = rounded<X>(y);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) y[i] = static_cast<float>(narrow[i]);
  }
  KILN_UNROLL
  for (int i = 0; i < Width; ++i) y[i] *= static_cast<float>(w[i]);
  store(to, c, n, rounded<Y>(y));
}

template <class X, class W, class Y, rounding When>
struct rms_norm_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true;
  struct lines {
    line<const X> x;
    line<const W> weight;
    line<Y> y;
  };

  operand<const X> x;
  operand<const W> weight;
  operand<Y> y;
  float epsilon;

  template <class F>
  void each_operand(F f) const {
    f(x), f(weight), f(y);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), weight.at(0), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float factor = inverse_norm(one, epsilon);
    one.map([&](index_t c, int n, const chunk<X, Row::width>& kept) {
      chunk<float, Row::width> v;
      KILN_UNROLL
      for (int i = 0; i < Row::width; ++i) v[i] = value(kept[i]);
      store_weighted<X, When>(one.lines.y, one.lines.weight, c, n, v, factor);
    });
  }
};

/// sum = x + residual, y = norm(sum) * weight. The norm sees the sum before its rounding.
template <class X, class R, class W, class T, class Y, rounding When>
struct add_rms_norm_program {
  using held = float;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true;
  struct lines {
    line<const X> x;
    line<const R> residual;
    line<const W> weight;
    line<T> sum;
    line<Y> y;
  };

  operand<const X> x;
  operand<const R> residual;
  operand<const W> weight;
  operand<T> sum;
  operand<Y> y;
  float epsilon;

  template <class F>
  void each_operand(F f) const {
    f(x), f(residual), f(weight), f(sum), f(y);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), residual.at(r), weight.at(0), sum.at(r), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<float, Width>& to) const {
    chunk<X, Width> a;
    chunk<R, Width> b;
    rows::load(l.x, c, n, a);
    rows::load(l.residual, c, n, b);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) to[i] = static_cast<float>(a[i]) + static_cast<float>(b[i]);
  }
  KILN_FN static float value(float v) { return v; }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float factor = inverse_norm(one, epsilon);
    one.map([&](index_t c, int n, const chunk<float, Row::width>& kept) {
      store(one.lines.sum, c, n, rounded<T>(kept));
      store_weighted<X, When>(one.lines.y, one.lines.weight, c, n, kept, factor);
    });
  }
};

/// What LayerNorm makes of a row: results are (v * unit - shift - mean) * factor.
struct layer_statistics {
  float unit, shift, mean, factor;
};
/// Values are taken relative to the row's first, and in another unit once more where their squares overflow or vanish.
template <class Row>
KILN_FN layer_statistics layer_statistics_of(Row& one, float epsilon) {
  const auto count = static_cast<float>(one.length());
  const float start = one.first();
  float unit = 1, shift = start, mean = 0, squares = 0;
  for (int attempt = 0;; ++attempt) {
    shift = start * unit;
    const float u = unit, s = shift;
    mean = one.reduce(
               0.0f, [=](float a, float v, index_t) { return a + (v * u - s); }, sum_of{}) /
           count;
    const float m = mean;
    squares = one.reduce(
        0.0f, [=](float a, float v, index_t) { return a + (v * u - s - m) * (v * u - s - m); }, sum_of{});
    if (attempt == 1) break;
    if (!is_finite(squares))
      unit = large_unit;
    else if (squares < 0x1p-80f && epsilon < 0x1p-60f && magnitude(start) < 0x1p40f)
      unit = small_unit;
    else
      break;
  }
  return {unit, shift, mean, inverse_root(squares / count + epsilon * unit * unit)};
}

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias. Values are taken relative to the row's first, so that a
/// mean far from zero costs no digits; the variance is that of a second pass.
template <class X, class W, class B, class Y>
struct layer_norm_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 3;
  static constexpr bool few_registers = true;
  struct lines {
    line<const X> x;
    line<const W> weight;
    line<const B> bias;
    line<Y> y;
  };

  operand<const X> x;
  operand<const W> weight;
  operand<const B> bias;
  operand<Y> y;
  float epsilon;

  template <class F>
  void each_operand(F f) const {
    f(x), f(weight), f(bias), f(y);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), weight.at(0), bias.at(0), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const layer_statistics of = layer_statistics_of(one, epsilon);
    one.map([&](index_t c, int n, const chunk<X, Row::width>& kept) {
      chunk<W, Row::width> w;
      chunk<B, Row::width> b;
      rows::load(one.lines.weight, c, n, w);
      rows::load(one.lines.bias, c, n, b);
      chunk<float, Row::width> v;
      KILN_UNROLL
      for (int i = 0; i < Row::width; ++i)
        v[i] = (value(kept[i]) * of.unit - of.shift - of.mean) * of.factor * static_cast<float>(w[i]) +
               static_cast<float>(b[i]);
      store(one.lines.y, c, n, rounded<Y>(v));
    });
  }
};

}  // namespace kiln::rows
