#pragma once
/// The programs of quantisation: a row with its scale, a tensor with a given one, the largest magnitude of a tensor.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// Largest magnitude that a scaled value may have: 127, 448, 57344.
template <class Q>
KILN_FN constexpr float largest() {
  return static_cast<float>((limits<Q>::max)());
}

/// amax / largest; 1 if amax is 0, and never so small that its inverse overflows. NaN and infinity stay, to be seen.
template <class Q>
KILN_FN float scale_of(float amax) {
  if (amax == 0) return 1;
  const float s = amax / largest<Q>();
  return s < 0x1p-126f ? 0x1p-126f : s;
}

template <class Q>
KILN_FN Q quantised(float x, float scale, bool symmetric) {
  const float v = x / scale;
  if constexpr (std::is_same_v<Q, std::int8_t>) {
    const auto q = convert<std::int8_t>(v);
    return symmetric && q == -128 ? std::int8_t{-127} : q;
  } else {
    return convert<Q>(v);
  }
}

struct larger_magnitude {
  KILN_FN float operator()(float a, float v, index_t) const { return maximum_of{}(a, magnitude(v)); }
};

/// Writes one chunk of quantised values.
template <class Q, int Width, class X>
KILN_FN void store_quantised(const line<Q>& to, index_t c, int n, const chunk<X, Width>& x, float scale, bool symmetric) {
  chunk<Q, Width> q;
  KILN_UNROLL
  for (int i = 0; i < Width; ++i) q[i] = quantised<Q>(static_cast<float>(x[i]), scale, symmetric);
  store(to, c, n, q);
}

/// A row, its own scale and its values over that.
template <class X, class Q>
struct quantise_rows_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 2;
  struct lines {
    line<const X> x;
    line<Q> q;
    float* scale;
  };
  operand<const X> x;
  operand<Q> q;
  operand<float> scales;
  bool symmetric;

  template <class F>
  void each_operand(F f) const {
    f(x), f(q);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), q.at(r), scales.data + scales.offset(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float scale = scale_of<Q>(one.reduce(0.0f, larger_magnitude{}, maximum_of{}));
    one.once([&] { *one.lines.scale = scale; });
    one.map([&](index_t c, int n, const chunk<X, Row::width>& kept) {
      store_quantised(one.lines.q, c, n, kept, scale, symmetric);
    });
  }
};

/// Rows cut into pieces, so that one long row keeps the whole GPU busy.
struct cut {
  static constexpr index_t longest = 8192;
  index_t length, pieces;

  explicit constexpr cut(index_t n) : length(n), pieces(n > longest ? ceil_div(n, longest) : 1) {}
  KILN_FN index_t row_of(index_t r) const { return divided(r, pieces); }
  KILN_FN index_t start_of(index_t r) const { return (r - row_of(r) * pieces) * longest; }
  KILN_FN index_t length_of(index_t r) const {
    const index_t left = length - start_of(r);
    return left < longest ? left : longest;
  }
};

/// Values over a scale that is there already: each row's, or one for all (stride 0).
template <class X, class Q>
struct quantise_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 1;
  struct lines {
    line<const X> x;
    line<Q> q;
    const float* scale;
  };
  operand<const X> x;
  operand<Q> q;
  operand<const float> scales;
  bool symmetric;
  cut cuts;

  template <class F>
  void each_operand(F f) const {
    f(x), f(q);
  }
  KILN_FN index_t length_of(index_t r) const { return cuts.length_of(r); }
  KILN_FN lines at(index_t r) const {
    const index_t whole = cuts.row_of(r), start = cuts.start_of(r);
    line<const X> from = x.at(whole);
    line<Q> to = q.at(whole);
    from.data += start * from.step, to.data += start * to.step;
    return {from, to, scales.data + scales.offset(whole)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float scale = *one.lines.scale;
    one.map([&](index_t c, int n, const chunk<X, Row::width>& kept) {
      store_quantised(one.lines.q, c, n, kept, scale, symmetric);
    });
  }
};

/// Raises `*to` to the largest magnitude of all rows. Magnitudes order as their bits do, NaN above all, so an integer
/// maximum gives the same result in any order.
template <class X>
struct amax_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 1;
  struct lines {
    line<const X> x;
  };
  operand<const X> x;
  float* to;
  cut cuts;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  KILN_FN index_t length_of(index_t r) const { return cuts.length_of(r); }
  KILN_FN lines at(index_t r) const {
    line<const X> from = x.at(cuts.row_of(r));
    from.data += cuts.start_of(r) * from.step;
    return {from};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to_chunk) const {
    rows::load(l.x, c, n, to_chunk);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float amax = one.reduce(0.0f, larger_magnitude{}, maximum_of{});
    one.once([&] {
#if defined(__CUDA_ARCH__)
      atomicMax(reinterpret_cast<unsigned*>(to), bit_cast<unsigned>(amax) & 0x7fffffffu);
#else
      *to = maximum_of{}(*to, amax);
#endif
    });
  }
};

/// One item: clears the word that `amax_program` raises, or makes a scale of it.
template <class Q>
struct scale_program {
  float* scale;
  bool start;
  KILN_FN void run(index_t) const { *scale = start ? 0.0f : scale_of<Q>(*scale); }
};

}  // namespace kiln::rows
