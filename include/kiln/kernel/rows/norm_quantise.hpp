#pragma once
/// The program of norms whose result becomes codes: rows (of an operand, or of a sum with its residual), a norm, and
/// one scale a row, computed or given. The normalised values are never stored: they are computed again for the codes,
/// with the same operations as for the scale, or, of an RMSNorm whose rows registers hold, not needed at all.
#include <kiln/kernel/rows/norm.hpp>
#include <kiln/kernel/rows/quantise.hpp>

namespace kiln::rows {

/// Rows as they are.
template <class X>
struct rows_of_one {
  using held = X;
  using lead = X;
  using lines = line<const X>;
  static constexpr int threads_at_once = 1024;
  operand<const X> x;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  template <class F>
  KILN_FN static constexpr void each_input(lines& l, F f) {
    f(l);
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
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static constexpr int threads_at_once = 640;  // 80 registers are too few without uniform addresses
#else
  static constexpr int threads_at_once = 768;
#endif
  operand<const X> x;
  operand<const R> residual;
  operand<T> sum;

  template <class F>
  void each_operand(F f) const {
    f(x), f(residual), f(sum);
  }
  template <class F>
  KILN_FN static constexpr void each_input(lines& l, F f) {
    f(l.x), f(l.residual);
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

/// Of a row: the sum of squares, and the largest magnitude of a value times its weight.
struct alignas(8) squares_and_largest {
  float squares, largest;
  struct joined {
    KILN_FN squares_and_largest operator()(const squares_and_largest& a, const squares_and_largest& b) const {
      return {a.squares + b.squares, maximum_of{}(a.largest, b.largest)};
    }
  };
};
/// Those that one thread has.
template <int Width>
class squares_and_largest_of {
 public:
  KILN_FN void add(const chunk<float, Width>& v, const chunk<float, Width>& by, int n) {
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) {
      if (i < n) {
        squares_[i % some] += v[i] * v[i];
        largest_[i % some] = maximum_of{}(largest_[i % some], magnitude(v[i] * by[i]));
      }
    }
  }
  KILN_FN squares_and_largest all() const {
    squares_and_largest r{squares_[0], largest_[0]};
    KILN_UNROLL
    for (int i = 1; i < some; ++i) r = squares_and_largest::joined{}(r, {squares_[i], largest_[i]});
    return r;
  }

 private:
  static constexpr int some = Width < 4 ? Width : 4;  // accumulators, lest they take the registers of the row
  float squares_[some] = {}, largest_[some] = {};
};

/// v * factor * weight, as `rms_norm_program` computes it for a float32 result.
template <class W>
struct rms_values {
  static constexpr int phases = 1;
  static constexpr bool one_factor = true;  ///< for all values of a row
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
  template <class Row, class Beside>
  KILN_FN squares_and_largest measure_both(Row& one, Beside& beside) const {
    constexpr int width = Row::width;
    return one.fold(
        beside, squares_and_largest_of<width>{},
        [](squares_and_largest_of<width>& a, index_t, int n, const chunk<typename Row::held, width>& kept,
           const chunk<W, width>& w) { a.add(widened(kept), widened(w), n); },
        [](const squares_and_largest_of<width>& a) { return a.all(); }, squares_and_largest::joined{});
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
  static constexpr int phases = 1;
  static constexpr bool one_factor = false;
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
  static constexpr bool few_registers = true, much_beside = true, rows_are_lines = true;
  static constexpr bool more_in_hand = true;  ///< weights meet a scale as well
  static constexpr int threads_at_once = Source::threads_at_once;
  struct lines {
    typename Source::lines source;
    typename Norm::lines norm;
    line<Q> q;
    index_t row;  ///< an address of its scale would lie in two registers until the scale is known
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
  KILN_FN lines at(index_t r) const { return {source.at(r), norm.at(), q.at(r), r}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<held, Width>& to) const {
    Source::load(l.source, c, n, to);
  }
  template <class F>
  KILN_FN static constexpr void each_input(lines& l, F f) {
    Source::each_input(l.source, f);
  }
  KILN_FN static float value(held v) { return static_cast<float>(v); }

  template <int Width>
  using beside = typename Norm::template at_chunk<Width>;
  KILN_FN static auto loads(const lines& l) { return Norm::loads(l.norm); }

  template <class Row, class Companion>
  KILN_FN void run(Row& one, Companion& beside_it) const {
    if constexpr (computed && Norm::one_factor && Row::in_registers) {
      if (run_at_once(one, beside_it)) return;
      auto again = one.again();
      auto beside_again = again.template beside<beside<Row::width>>(loads(one.lines));
      run_in_steps(again, beside_again);
    } else {
      run_in_steps(one, beside_it);
    }
  }

 private:
  /// A factor for the whole row changes neither which value is the largest nor its code: the norm and the scale come
  /// from one pass, and v * weight * (factor / scale) is a code before its rounding. False if numbers on the way might
  /// overflow or vanish, or are none, before anything is written.
  template <class Row, class Companion>
  KILN_FN bool run_at_once(Row& one, Companion& beside_it) const {
    const squares_and_largest found = norm.measure_both(one, beside_it);
    const float factor = inverse_root(found.squares / static_cast<float>(one.length()) + norm.epsilon);
    const float scale = scale_of<Q>(factor * found.largest);
    if (!(is_moderate(found.squares) && is_moderate(found.largest) && is_moderate(scale))) return false;
    one.once([&] { *scales.at(one.lines.row, 0) = scale; });
    const float steps = factor / scale;
    one.map(beside_it, [&](index_t c, int n, const chunk<held, Row::width>& kept, const beside<Row::width>& with) {
      Source::keep(one.lines.source, c, n, kept);
      store(one.lines.q, c, n, rounded<Q>(Norm::values(with, steps, kept)));
    });
    return true;
  }
  KILN_FN static bool is_moderate(float x) { return x > 0x1p-60f && x < 0x1p60f; }

  template <class Row, class Companion>
  KILN_FN void run_in_steps(Row& one, Companion& beside_it) const {
    constexpr int width = Row::width;
    const auto measured = norm.measure(one);
    one_factor<false> by;
    if constexpr (computed) {
      const float amax = one.reduce_chunks(
          beside_it, 0.0f,
          [&](float(&a)[width], index_t, int n, const chunk<held, width>& kept, const beside<width>& with) {
            const chunk<float, width> y = Norm::values(with, measured, kept);
            KILN_UNROLL
            for (int i = 0; i < width; ++i)
              if (i < n) a[i] = maximum_of{}(a[i], magnitude(y[i]));
          },
          maximum_of{});
      by.s = scale_of<Q>(amax);
      one.once([&] { *scales.at(one.lines.row, 0) = by.s; });
    } else {
      by.s = *scales.at(one.lines.row, 0);
    }
    one.map(beside_it, [&](index_t c, int n, const chunk<held, width>& kept, const beside<width>& with) {
      Source::keep(one.lines.source, c, n, kept);
      store(one.lines.q, c, n, codes(Norm::values(with, measured, kept), by));
    });
  }
};

}  // namespace kiln::rows
