#pragma once
/// The program of norms whose result becomes codes: rows (of an operand, or of a sum with its residual), a norm, and
/// one scale a row, computed or given. The normalised values are computed again for the codes, with the same operations
/// as for the scale, and never stored.
#include <kiln/kernel/rows/norm.hpp>
#include <kiln/kernel/rows/quantise.hpp>

namespace kiln::rows {

/// Rows as they are.
template <class X>
struct rows_of_one {
  using held = X;
  using lead = X;
  using lines = line<const X>;
  operand<const X> x;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  KILN_FN lines at(index_t r) const { return x.at(r); }
  template <int Width>
  KILN_FN static void load(const lines& l, index_t c, int n, chunk<held, Width>& to) {
    rows::load(l, c, n, to);
  }
  template <int Width>
  KILN_FN static void keep(const lines&, index_t, int, const chunk<held, Width>&) {}
};

/// Rows of x + residual, stored as `sum`. The norm sees the sum before its rounding.
template <class X, class R, class T>
struct rows_of_sum {
  using held = float;
  using lead = std::conditional_t<(sizeof(X) > sizeof(T)), X, T>;
  struct lines {
    line<const X> x;
    line<const R> residual;
    line<T> sum;
  };
  operand<const X> x;
  operand<const R> residual;
  operand<T> sum;

  template <class F>
  void each_operand(F f) const {
    f(x), f(residual), f(sum);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), residual.at(r), sum.at(r)}; }
  template <int Width>
  KILN_FN static void load(const lines& l, index_t c, int n, chunk<held, Width>& to) {
    chunk<X, Width> a;
    chunk<R, Width> b;
    rows::load(l.x, c, n, a);
    rows::load(l.residual, c, n, b);
    const chunk<float, Width> v = widened(a), u = widened(b);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) to[i] = v[i] + u[i];
  }
  template <int Width>
  KILN_FN static void keep(const lines& l, index_t c, int n, const chunk<held, Width>& kept) {
    store(l.sum, c, n, rounded<T>(kept));
  }
};

/// v * factor * weight, as `rms_norm_program` computes it for a float32 result.
template <class W>
struct rms_values {
  static constexpr int phases = 1;
  using lines = line<const W>;
  operand<const W> weight;
  float epsilon;

  template <class F>
  void each_operand(F f) const {
    f(weight);
  }
  KILN_FN lines at() const { return weight.only(); }
  template <class Row>
  KILN_FN float measure(Row& one) const {
    return inverse_norm(one, epsilon);
  }
  template <int Width>
  using at_chunk = chunk<W, Width>;
  KILN_FN static weight_line<W> loads(const lines& l) { return {l}; }
  template <class X, int Width>
  KILN_FN static chunk<float, Width> values(const chunk<W, Width>& w, float factor, const chunk<X, Width>& x) {
    const chunk<float, Width> v = widened(x), by = widened(w);
    chunk<float, Width> y;
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) y[i] = v[i] * factor * by[i];
    return y;
  }
};

/// (v - mean) * factor * weight + bias, as `layer_norm_program` computes it for a float32 result.
template <class W, class B>
struct layer_values {
  static constexpr int phases = 2;
  struct lines {
    line<const W> weight;
    line<const B> bias;
  };
  operand<const W> weight;
  operand<const B> bias;
  float epsilon;

  using statistics = layer_statistics;

  template <class F>
  void each_operand(F f) const {
    f(weight), f(bias);
  }
  KILN_FN lines at() const { return {weight.only(), bias.only()}; }
  template <class Row>
  KILN_FN statistics measure(Row& one) const {
    return layer_statistics_of(one, epsilon);
  }
  template <int Width>
  using at_chunk = weight_and_bias<W, B, Width>;
  KILN_FN static weight_and_bias_lines<W, B> loads(const lines& l) { return {l.weight, l.bias}; }
  template <class X, int Width>
  KILN_FN static chunk<float, Width> values(const weight_and_bias<W, B, Width>& with, const statistics& of,
                                            const chunk<X, Width>& x) {
    return of.of(x, with);
  }
};

/// `Scale` is float where scales are computed, const float where they are given.
template <class Source, class Norm, class Q, class Scale>
struct norm_quantise_program {
  using held = typename Source::held;
  using lead = typename Source::lead;
  static constexpr bool computed = !std::is_const_v<Scale>;
  static constexpr int phases = Norm::phases + (computed ? 2 : 1);
  static constexpr bool few_registers = true, much_beside = true;
  struct lines {
    typename Source::lines source;
    typename Norm::lines norm;
    line<Q> q;
    Scale* scale;
  };
  Source source;
  Norm norm;
  operand<Q> q;
  place_of_run<Scale> scales;
  to_codes<Q, computed> codes;

  template <class F>
  void each_operand(F f) const {
    source.each_operand(f), norm.each_operand(f), f(q);
  }
  KILN_FN lines at(index_t r) const { return {source.at(r), norm.at(), q.at(r), scales.at(r, 0)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<held, Width>& to) const {
    Source::load(l.source, c, n, to);
  }
  KILN_FN static float value(held v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    constexpr int width = Row::width;
    using lying_beside = typename Norm::template at_chunk<width>;
    auto beside = one.template beside<lying_beside>(Norm::loads(one.lines.norm));
    const auto measured = norm.measure(one);
    one_factor<false> by;
    if constexpr (computed) {
      const float amax = one.reduce_chunks(
          beside, 0.0f,
          [&](float(&a)[width], index_t, int n, const chunk<held, width>& kept, const lying_beside& with) {
            const chunk<float, width> y = Norm::values(with, measured, kept);
            KILN_UNROLL
            for (int i = 0; i < width; ++i)
              if (i < n) a[i] = maximum_of{}(a[i], magnitude(y[i]));
          },
          maximum_of{});
      by.s = scale_of<Q>(amax);
      one.once([&] { *one.lines.scale = by.s; });
    } else {
      by.s = *one.lines.scale;
    }
    one.map(beside, [&](index_t c, int n, const chunk<held, width>& kept, const lying_beside& with) {
      Source::keep(one.lines.source, c, n, kept);
      store(one.lines.q, c, n, codes(Norm::values(with, measured, kept), by));
    });
  }
};

}  // namespace kiln::rows
