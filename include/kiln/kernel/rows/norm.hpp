#pragma once
/// The programs of RMSNorm (with and without a residual) and LayerNorm.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>
#include <kiln/kernel/rows/moments.hpp>

namespace kiln::rows {

// Squares of float32 values overflow above 2^64 and vanish below 2^-74, where the norm itself is still an ordinary
// number. Such rows are measured again in units of 2^80 or 2^-80; no others pay for it.
inline constexpr float large_unit = 0x1p-80f, small_unit = 0x1p80f;

/// Squares of values times a unit that one thread has.
template <int Width>
class squares_of {
 public:
  KILN_FN explicit squares_of(float unit) : unit_(unit) {}
  /// Takes the first n of a chunk.
  KILN_FN void add(const chunk<float, Width>& x, int n) {
    KILN_UNROLL
    for (int v = 0; v < Width; ++v)
      if (v < n) sum_[v % some] += (x[v] * unit_) * (x[v] * unit_);
  }
  KILN_FN float all() const {
    float sum = sum_[0];
    KILN_UNROLL
    for (int v = 1; v < some; ++v) sum += sum_[v];
    return sum;
  }

 private:
  static constexpr int some = Width < 4 ? Width : 4;  // accumulators, lest they take the registers of the row
  float unit_, sum_[some] = {};
};
template <class Row>
KILN_FN float sum_of_squares(Row& one, float unit) {
  return one.fold(squares_of<Row::width>(unit), sum_of{});
}
/// 1 / sqrt(mean of squares + epsilon) of a row: what a value is multiplied with.
template <class Row>
KILN_FN float inverse_norm(Row& one, float epsilon) {
  const auto count = static_cast<float>(one.length());
  const float sum = sum_of_squares(one, 1.0f);
  float unit = 1;
  if (!is_finite(sum)) unit = large_unit;
  if (sum < 0x1p-80f && epsilon < 0x1p-60f) unit = small_unit;
  if (unit == 1.0f) return inverse_root(sum / count + epsilon);
  return inverse_root(sum_of_squares(one, unit) / count + epsilon * unit * unit) * unit;
}

/// When the normalised value meets the weight.
enum class rounding {
  at_store,      ///< float32 throughout, one rounding
  before_weight  ///< the normalised value is rounded to the input's type, and the product once more
};

/// The chunks of a weight, as what lies beside a row.
template <class W>
struct weight_line {
  line<const W> weight;
  template <int Width>
  KILN_FN void operator()(index_t c, int n, chunk<W, Width>& to) const {
    load_constant(weight, c, n, to);
  }
  template <int Width>
  KILN_FN void from_shared(index_t c, chunk<W, Width>& to) const {
    load(weight, c, Width, to);
  }
  template <class F>
  KILN_FN void each_line(F f) {
    f(weight);
  }
};

/// y = v * factor * weight for one chunk, stored.
template <class X, rounding When, int Width, class Y, class W>
KILN_FN void store_weighted(const line<Y>& to, const chunk<W, Width>& w, index_t c, int n, const chunk<float, Width>& v,
                            float factor) {
  chunk<float, Width> y;
  KILN_UNROLL
  for (int i = 0; i < Width; ++i) y[i] = v[i] * factor;
  if constexpr (When == rounding::before_weight) {
    y = widened(rounded<X>(y));
  }
  const chunk<float, Width> by = widened(w);
  KILN_UNROLL
  for (int i = 0; i < Width; ++i) y[i] *= by[i];
  store(to, c, n, rounded<Y>(y));
}

template <class X, class W, class Y, rounding When>
struct rms_norm_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true, rows_are_lines = true;
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
  KILN_FN lines at(index_t r) const { return {x.at(r), weight.only(), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  template <class F>
  KILN_FN static constexpr void each_input(lines& l, F f) {
    f(l.x);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <int Width>
  using beside = chunk<W, Width>;
  KILN_FN static weight_line<W> loads(const lines& l) { return {l.weight}; }

  template <class Row, class Weights>
  KILN_FN void run(Row& one, Weights& weights) const {
    const float factor = inverse_norm(one, epsilon);
    one.map(weights, [&](index_t c, int n, const chunk<X, Row::width>& kept, const chunk<W, Row::width>& w) {
      store_weighted<X, When>(one.lines.y, w, c, n, widened(kept), factor);
    });
  }
};

/// sum = x + residual, y = norm(sum) * weight. The norm sees the sum before its rounding.
template <class X, class R, class W, class T, class Y, rounding When>
struct add_rms_norm_program {
  using held = float;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true, rows_are_lines = true;
  static constexpr int two_rows_of_bytes = static_cast<int>(sizeof(X) + sizeof(R));  ///< read together, an element
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
  KILN_FN lines at(index_t r) const { return {x.at(r), residual.at(r), weight.only(), sum.at(r), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<float, Width>& to) const {
    chunk<X, Width> a;
    chunk<R, Width> b;
    rows::load(l.x, c, n, a);
    rows::load(l.residual, c, n, b);
    const chunk<float, Width> v = widened(a), u = widened(b);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) to[i] = v[i] + u[i];
  }
  template <class F>
  KILN_FN static constexpr void each_input(lines& l, F f) {
    f(l.x), f(l.residual);
  }
  KILN_FN static float value(float v) { return v; }

  template <int Width>
  using beside = chunk<W, Width>;
  KILN_FN static weight_line<W> loads(const lines& l) { return {l.weight}; }

  template <class Row, class Weights>
  KILN_FN void run(Row& one, Weights& weights) const {
    const auto store_sum = [&](index_t c, int n, const chunk<float, Row::width>& kept) {
      store(one.lines.sum, c, n, rounded<T>(kept));
    };
    // Of few chunks, which nobody reads again, on its way while the row is reduced.
    if constexpr (Row::early) one.map(store_sum);
    const float factor = inverse_norm(one, epsilon);
    one.map(weights, [&](index_t c, int n, const chunk<float, Row::width>& kept, const chunk<W, Row::width>& w) {
      if constexpr (!Row::early) store_sum(c, n, kept);
      store_weighted<X, When>(one.lines.y, w, c, n, kept, factor);
    });
  }
};

template <class W, class B, int Width>
struct weight_and_bias {
  chunk<W, Width> weight;
  chunk<B, Width> bias;
};

/// What LayerNorm makes of a row: its mean is centre + low, in the unit.
struct layer_statistics {
  float unit, centre, low, factor;

  template <class X, class W, class B, int Width>
  KILN_FN chunk<float, Width> of(const chunk<X, Width>& kept, const weight_and_bias<W, B, Width>& with) const {
    const chunk<float, Width> x = widened(kept), w = widened(with.weight), b = widened(with.bias);
    const float below = -low * factor;
    chunk<float, Width> y;
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) y[i] = ((x[i] * unit - centre) * factor + below) * w[i] + b[i];
    return y;
  }
};
/// From sums of distances from a number and of their squares, in one pass: what the sum's square over the count takes
/// from the squares costs digits, so the number is near the mean. The row's first value nearly always is; where more
/// than 15 parts of 16 would go, the pass is made again from the mean that it has found. Once more, too, in another
/// unit, where squares overflow or vanish.
template <class Row>
KILN_FN layer_statistics layer_statistics_of(Row& one, float epsilon) {
  const float first = one.first(), count = static_cast<float>(one.length());
  float unit = 1, from = first;
  bool moved = false;
  KILN_NO_UNROLL
  for (;;) {
    const distances all = one.fold(distances_of<Row::width>(from, unit), distances::joined{});
    const float mean = all.sum / count, squares = all.squares - all.sum * mean;
    if (unit == 1.0f && !is_finite(all.squares)) {
      unit = large_unit, from = first * unit, moved = false;
    } else if (unit == 1.0f && all.squares < 0x1p-80f && epsilon < 0x1p-60f && magnitude(first) < 0x1p40f) {
      unit = small_unit, from = first * unit, moved = false;
    } else if (!moved && !(squares * 16 >= all.squares)) {
      from += mean, moved = true;
    } else {
      const exact_sum middle = exact_sum::of(from, mean);
      return {unit, middle.high, middle.low, inverse_root((squares < 0 ? 0 : squares) / count + epsilon * unit * unit)};
    }
  }
}

template <class W, class B>
struct weight_and_bias_lines {
  line<const W> weight;
  line<const B> bias;
  template <int Width>
  KILN_FN void operator()(index_t c, int n, weight_and_bias<W, B, Width>& to) const {
    load_constant(weight, c, n, to.weight);
    load_constant(bias, c, n, to.bias);
  }
  template <int Width>
  KILN_FN void from_shared(index_t c, weight_and_bias<W, B, Width>& to) const {
    load(weight, c, Width, to.weight), load(bias, c, Width, to.bias);
  }
  template <class F>
  KILN_FN void each_line(F f) {
    f(weight), f(bias);
  }
};

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias. Values are measured from one of the row, so that a mean
/// far from zero costs no digits.
template <class X, class W, class B, class Y>
struct layer_norm_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true, rows_are_lines = true;
  static constexpr bool much_beside = true;
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
  KILN_FN lines at(index_t r) const { return {x.at(r), weight.only(), bias.only(), y.at(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  template <class F>
  KILN_FN static constexpr void each_input(lines& l, F f) {
    f(l.x);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <int Width>
  using beside = weight_and_bias<W, B, Width>;
  KILN_FN static weight_and_bias_lines<W, B> loads(const lines& l) { return {l.weight, l.bias}; }

  template <class Row, class Both>
  KILN_FN void run(Row& one, Both& both) const {
    const layer_statistics of = layer_statistics_of(one, epsilon);
    one.map(both, [&](index_t c, int n, const chunk<X, Row::width>& kept, const auto& with) {
      store(one.lines.y, c, n, rounded<Y>(of.of(kept, with)));
    });
  }
};

}  // namespace kiln::rows
