#pragma once
/// Numbers to codes: the rules, and the programs that compute scales of rows, runs and tensors.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/cut.hpp>
#include <kiln/kernel/rows/extreme.hpp>
#include <kiln/kernel/rows/math.hpp>
#include <kiln/kernel/rows/quotient.hpp>
#include <kiln/kernel/rows/range.hpp>
#include <kiln/kernel/rows/scaled.hpp>

namespace kiln::rows {

/// Stands for zero points where there are none.
struct no_zero {};

/// What a code may be.
struct quantise_rule {
  bool symmetric = false;  ///< int8 without -128
  bool to_nan = false;     ///< 8-bit floats do not saturate
};

template <class Q>
inline constexpr bool is_code = std::is_same_v<Q, std::int8_t> || std::is_same_v<Q, std::uint8_t> ||
                                std::is_same_v<Q, e4m3> || std::is_same_v<Q, e5m2>;

/// Largest magnitude that a scaled value may have: 127, 255, 448, 57344.
template <class Q>
KILN_FN constexpr float largest() {
  return static_cast<float>((limits<Q>::max)());
}

/// Never so small that its inverse overflows. NaN and infinity stay, to be seen.
KILN_FN constexpr float usable_scale(float s) { return s < 0x1p-126f ? 0x1p-126f : s; }

/// amax / largest; 1 if amax is 0. A 127th of the largest float is rounded up, and 127 times that would be infinite;
/// its quotients by 255, 448 and 57344 are not.
template <class Q>
KILN_FN float scale_of(float amax) {
  float s = amax / largest<Q>();
  if constexpr (std::is_same_v<Q, std::int8_t>) {
    constexpr float most = (limits<float>::max)() / largest<Q>() * (1 - 0x1p-24f);  // a step down
    if (s > most && is_finite(s)) s = most;
  }
  return amax == 0 ? 1 : usable_scale(s);
}

struct scale_and_zero {
  float scale;
  std::int32_t zero;
};
/// The scale that spreads a range over all codes, and the code of 0; scale 1 and zero point 0 for an empty range. A
/// range so wide that an end's code would stand for infinity gets a smaller scale, and is clipped by up to two steps.
template <class Q>
KILN_FN scale_and_zero affine_of(value_range r, bool symmetric) {
  constexpr std::int32_t highest = (limits<Q>::max)();
  const std::int32_t lowest = symmetric && std::is_signed_v<Q> ? -highest : std::int32_t{limits<Q>::lowest()};
  if (r.low == 0 && r.high == 0) return {1, 0};
  const auto steps = static_cast<float>(highest - lowest);
  float s = usable_scale(r.high / steps - r.low / steps);  // the difference of the ends may overflow
  const auto code = convert<std::int32_t>(static_cast<float>(lowest) - r.low / s);
  const std::int32_t zero = code < lowest ? lowest : code > highest ? highest : code;
  // By 256ths, as a quotient would call a function here, and spill.
  const auto most = static_cast<float>(max_of(zero - lowest, highest - zero));
  if (is_finite(s)) {
    KILN_NO_UNROLL
    while (!is_finite(s * most)) s *= 1 - 0x1p-8f;
  }
  return {s, zero};
}

namespace detail {
/// Whether rounding to Q exceeds its largest finite value (a tie goes to the even code: e4m3's 448, e5m2's infinity).
template <class Q>
KILN_FN bool overflows(float v) {
  return std::is_same_v<Q, e4m3> ? magnitude(v) > 464.0f : magnitude(v) >= 61440.0f;
}
/// What an overflow becomes without saturation: e4m3's NaN, e5m2's infinity, with the sign of v.
template <class Q>
KILN_FN Q overflowed(float v) {
  const auto sign = static_cast<std::uint8_t>(bit_cast<std::uint32_t>(v) >> 24 & 0x80u);
  return Q::from_bits(static_cast<std::uint8_t>(sign | (std::is_same_v<Q, e4m3> ? 0x7f : 0x7c)));
}
}  // namespace detail

template <class Q>
KILN_FN Q quantised(float x, float scale, bool symmetric) {
  const auto q = convert<Q>(x / scale);
  if constexpr (std::is_same_v<Q, std::int8_t>)
    return symmetric && q == -128 ? std::int8_t{-127} : q;
  else
    return q;
}
/// round(x / scale) + zero, clamped.
template <class Q>
KILN_FN Q quantised(float x, float scale, std::int32_t zero, bool symmetric) {
  constexpr std::int64_t highest = (limits<Q>::max)();
  const std::int64_t lowest = symmetric && std::is_signed_v<Q> ? -highest : std::int64_t{limits<Q>::lowest()};
  const std::int64_t q = std::int64_t{convert<std::int32_t>(x / scale)} + zero;
  return static_cast<Q>(q < lowest ? lowest : q > highest ? highest : q);
}

/// As a step of `scaled_program`: numbers to codes. `Bounded`: the scale is that of the numbers, so that no quotient
/// lies beyond the codes.
template <class Q, bool Bounded = false>
struct to_codes {
  quantise_rule rule;
  template <int Width, class X, class Factors>
  KILN_FN chunk<Q, Width> operator()(const chunk<X, Width>& x, const Factors& by) const {
    if constexpr (Factors::affine) {
      chunk<Q, Width> q;
      KILN_UNROLL
      for (int i = 0; i < Width; ++i)
        q[i] = quantised<Q>(static_cast<float>(x[i]), by.scale(i), by.zero(i), rule.symmetric);
      return q;
    } else {
      chunk<float, Width> v = widened(x);
      if constexpr (Factors::one) {
        const quotient divided(by.scale(0));
        KILN_UNROLL
        for (int i = 0; i < Width; ++i) v[i] = divided.template of<(sizeof(X) <= 2), Bounded>(v[i]);
      } else {
        KILN_UNROLL
        for (int i = 0; i < Width; ++i) v[i] = v[i] / by.scale(i);
      }
      if constexpr (std::is_same_v<Q, std::int8_t> && !Bounded) {
        const float least = rule.symmetric ? -127.0f : -128.0f;
        KILN_UNROLL
        for (int i = 0; i < Width; ++i) v[i] = v[i] < least ? least : v[i];
      }
      chunk<Q, Width> q = rounded<Q>(v);
      if constexpr (is_floating_v<Q> && !Bounded) {
        if (rule.to_nan) {
          KILN_UNROLL
          for (int i = 0; i < Width; ++i)
            if (detail::overflows<Q>(v[i])) q[i] = detail::overflowed<Q>(v[i]);
        }
      }
      return q;
    }
  }
};
/// Codes to numbers.
template <class Y>
struct to_numbers {
  template <int Width, class Q, class Factors>
  KILN_FN chunk<Y, Width> operator()(const chunk<Q, Width>& q, const Factors& by) const {
    chunk<float, Width> y;
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) {
      if constexpr (Factors::affine)  // an int32 may have more digits than a float, and the difference more bits
        y[i] = static_cast<float>(std::int64_t{q[i]} - by.zero(i));
      else
        y[i] = static_cast<float>(q[i]);
      y[i] *= by.scale(i);
    }
    return rounded<Y>(y);
  }
};

/// A run of a row, its own scale (and zero point) and its values over that.
template <class X, class Q, class Z>
struct quantise_runs_program {
  using held = X;
  using lead = X;
  static constexpr bool affine = !std::is_same_v<Z, no_zero>;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static constexpr int threads_at_once = affine ? 1024 : 1280;  // 40 registers are too few without uniform addresses
#else
  static constexpr int threads_at_once = affine ? 1024 : is_floating_v<Q> ? 1536 : 1280;
#endif
  struct lines {
    line<const X> x;
    line<Q> q;
    float* scale;
    Z* zero;
  };
  operand<const X> x;
  operand<Q> q;
  place_of_run<float> scales;
  place_of_run<Z> zeros;
  to_codes<Q, true> codes;
  cut cuts;

  template <class F>
  void each_operand(F f) const {
    f(in_runs<const X>{x, cuts}), f(in_runs<Q>{q, cuts});
  }
  bool whole(index_t width) const { return cuts.whole(width); }
  KILN_FN index_t length_of(index_t r) const { return cuts.at(r).length; }
  KILN_FN lines at(index_t r) const {
    const run_place p = cuts.at(r);
    constexpr bool hidden = affine || sizeof(X) == 4;  // these would spill
    return {part_of(x.template at<hidden>(p.row), p.start), part_of(q.template at<hidden>(p.row), p.start),
            scales.at(p.row, p.group), zeros.at(p.row, p.group)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    one_factor<affine> by;
    if constexpr (affine) {
      const value_range all = unpacked(one.reduce(std::uint64_t{0}, widen_range<false>{}, join_ranges{}));
      const scale_and_zero found = affine_of<Q>(all, codes.rule.symmetric);
      by = {found.scale, found.zero};
      one.once([&] { *one.lines.scale = found.scale, *one.lines.zero = static_cast<Z>(found.zero); });
    } else {
      by = {scale_of<Q>(one.template find<extreme::largest_magnitude>()), 0};
      one.once([&] { *one.lines.scale = by.scale(0); });
    }
    one.map([&](index_t c, int n, const chunk<X, Row::width>& kept) { store(one.lines.q, c, n, codes(kept, by)); });
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
    f(in_runs<const X>{x, cuts});
  }
  bool whole(index_t width) const { return cuts.whole(width); }
  KILN_FN index_t length_of(index_t r) const { return cuts.at(r).length; }
  KILN_FN lines at(index_t r) const {
    const run_place p = cuts.at(r);
    return {part_of(x.at(p.row), p.start)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to_chunk) const {
    rows::load(l.x, c, n, to_chunk);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const float amax = one.template find<extreme::largest_magnitude>();
    one.once([&] { raise(to, amax); });
  }
};

/// One item: clears the word that `amax_program` raises, or makes a scale of it.
template <class Q>
struct scale_program {
  float* scale;
  bool start;
  KILN_FN void run(index_t) const { *scale = start ? 0.0f : scale_of<Q>(*scale); }
};

/// The same of the two words that `range_program` moves: the scale's place holds the high end, the zero point's the low
/// one meanwhile.
template <class Q>
struct affine_program {
  float* scale;
  std::int32_t* zero;
  bool start, symmetric;
  KILN_FN void run(index_t) const {
    if (start) {
      *scale = 0, *zero = bit_cast<std::int32_t>(-0.0f);
    } else {
      const scale_and_zero found = affine_of<Q>({bit_cast<float>(*zero), *scale}, symmetric);
      *scale = found.scale, *zero = found.zero;
    }
  }
};

/// Makes scales (and zero points) of the ranges of a group of rows, column by column.
template <class Q, class Z>
struct scales_of_columns {
  place_of_run<float> scales;
  place_of_run<Z> zeros;
  bool symmetric;
  KILN_FN void operator()(index_t group, index_t c, value_range r, index_t) const {
    if constexpr (std::is_same_v<Z, no_zero>) {
      *scales.at(group, c) = scale_of<Q>(maximum_of{}(-r.low, r.high));
    } else {
      const scale_and_zero found = affine_of<Q>(r, symmetric);
      *scales.at(group, c) = found.scale, *zeros.at(group, c) = static_cast<Z>(found.zero);
    }
  }
};

}  // namespace kiln::rows
