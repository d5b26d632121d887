#pragma once
/// The program of the rotary embedding, and its angles.
#include <cmath>
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln {

/// Which channels of a head turn together: 2j with 2j + 1, or j with j + width / 2.
enum class pairing { interleaved, half_split };

namespace rows {

inline constexpr int most_pairs = 256;

/// Frequencies theta^(-2j / width) as turns per position, in units of 2^-64 turn. Whole turns drop out of an integer
/// product modulo 2^64, so an angle is as good as its float64 frequency at every position.
struct rotary_table {
  std::uint64_t turns[most_pairs];
};

inline rotary_table rotary_frequencies(double theta, int width) {
  constexpr double two_pi = 6.283185307179586476925;
  rotary_table t{};
  for (int j = 0; j < width / 2 && j < most_pairs; ++j) {
    const double turns = std::pow(theta, -2.0 * j / width) / two_pi;
    t.turns[j] = static_cast<std::uint64_t>((turns - std::floor(turns)) * 0x1p64);
  }
  return t;
}

struct rotation {
  float cosine, sine;
};

/// Angle position * frequency, reduced to half a turn either way before it becomes a float.
KILN_FN rotation rotation_of(std::uint64_t turns, std::int64_t position) {
  const auto whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(position) * turns);
#if defined(__CUDA_ARCH__)
  const float half_turns = static_cast<float>(whole) * 0x1p-63f;
  rotation r;
  sincospif(half_turns, &r.sine, &r.cosine);
  return r;
#else
  const double angle = static_cast<double>(whole) * (3.14159265358979323846 * 0x1p-63);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
#endif
}

/// Tokens and heads of a [tokens, heads, channels] view; tokens may be two axes.
template <class T>
struct heads_operand {
  operand<T> tokens;
  index_t head;
  KILN_FN line<T> at(index_t token, index_t h) const {
    return {tokens.data + tokens.offset(token) + h * head, tokens.step};
  }
  constexpr bool vectors(int width) const {
    const index_t unit = min_of<index_t>(16 / static_cast<index_t>(sizeof(T)), width);
    return tokens.vectors(width) && head % unit == 0;
  }
};

/// Item: `Width` pairs of `most_heads` heads of one token, or as many channels behind the rotated ones.
template <class X, class Y, pairing How, int Width>
struct rotary_program {
  static constexpr index_t most_heads = 4;  // they share the sines and cosines

  heads_operand<const X> x;
  heads_operand<Y> out;
  operand<const std::int32_t> positions;  ///< null: token t of a sequence has position start + t
  operand<const std::int32_t> places;     ///< null: token t goes to row t of the output; negative: nowhere
  heads_operand<const X> v;               ///< null, or copied beside x
  heads_operand<Y> v_out;
  index_t heads, tokens_of_sequence, start, pieces, rotated_pieces, out_rows;
  int channels, width;
  bool in_place;
  std::int32_t* flag;
  rotary_table table;

  KILN_FN void run(index_t item) const {
    const index_t head_groups = ceil_div(heads, most_heads);
    const index_t q = divided(item, pieces), token = divided(q, head_groups);
    const auto piece = static_cast<int>(item - q * pieces);
    const index_t first_head = (q - token * head_groups) * most_heads;
    const index_t last_head = min_of(first_head + most_heads, heads);
    index_t place = token;
    if (places.data != nullptr) {
      place = places.at(token)[0];
      if (place < 0) return;
      if (place >= out_rows) {
        if (flag != nullptr) *flag = 1;
        return;
      }
    }
    if (piece < rotated_pieces) {
      const index_t position = positions.data != nullptr
                                 ? static_cast<index_t>(positions.at(token)[0])
                                 : start + (token - divided(token, tokens_of_sequence) * tokens_of_sequence);
      rotation r[Width];
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) r[i] = rotation_of(table.turns[piece * Width + i], position);
      for (index_t h = first_head; h < last_head; ++h) {
        turn(x.at(token, h), out.at(place, h), piece, r);
        if (v.tokens.data != nullptr) copy_pairs(v.at(token, h), v_out.at(place, h), piece);
      }
    } else {
      const int c = width + (piece - static_cast<int>(rotated_pieces)) * 2 * Width;
      const int n = min_of(2 * Width, channels - c);
      for (index_t h = first_head; h < last_head; ++h) {
        if (!in_place) copy<2 * Width>(x.at(token, h), out.at(place, h), c, n);
        if (v.tokens.data != nullptr) copy<2 * Width>(v.at(token, h), v_out.at(place, h), c, n);
      }
    }
  }

 private:
  KILN_FN void turn(const line<const X>& from, const line<Y>& to, int piece, const rotation (&r)[Width]) const {
    chunk<float, Width> a, b;
    if constexpr (How == pairing::interleaved) {
      chunk<X, 2 * Width> both;
      move_in(from, piece * 2 * Width, both);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i)
        a[i] = static_cast<float>(both[2 * i]), b[i] = static_cast<float>(both[2 * i + 1]);
    } else {
      chunk<X, Width> low, high;
      move_in(from, piece * Width, low);
      move_in(from, width / 2 + piece * Width, high);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) a[i] = static_cast<float>(low[i]), b[i] = static_cast<float>(high[i]);
    }
    chunk<float, Width> c, d;
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) {
      c[i] = a[i] * r[i].cosine - b[i] * r[i].sine;
      d[i] = b[i] * r[i].cosine + a[i] * r[i].sine;
    }
    if constexpr (How == pairing::interleaved) {
      chunk<float, 2 * Width> both;
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) both[2 * i] = c[i], both[2 * i + 1] = d[i];
      move_out(to, piece * 2 * Width, rounded<Y>(both));
    } else {
      move_out(to, piece * Width, rounded<Y>(c));
      move_out(to, width / 2 + piece * Width, rounded<Y>(d));
    }
  }

  KILN_FN void copy_pairs(const line<const X>& from, const line<Y>& to, int piece) const {
    if constexpr (How == pairing::interleaved) {
      copy<2 * Width>(from, to, piece * 2 * Width, 2 * Width);
    } else {
      copy<Width>(from, to, piece * Width, Width);
      copy<Width>(from, to, width / 2 + piece * Width, Width);
    }
  }

  template <int N>
  KILN_FN static void copy(const line<const X>& from, const line<Y>& to, int c, int n) {
    if (n == N) {
      chunk<X, N> x;
      move_in(from, c, x);
      chunk<float, N> wide;
      KILN_UNROLL
      for (int i = 0; i < N; ++i) wide[i] = static_cast<float>(x[i]);
      move_out(to, c, rounded<Y>(wide));
    } else {
      for (int i = 0; i < n; ++i) to[c + i] = convert<Y>(static_cast<float>(from[c + i]));
    }
  }

  // Width 1 is for any strides: a pair's elements are moved one by one.
  template <int N>
  KILN_FN static void move_in(const line<const X>& from, int c, chunk<X, N>& to) {
    if constexpr (Width == 1) {
      KILN_UNROLL
      for (int i = 0; i < N; ++i) to[i] = from[c + i];
    } else {
      load(from, c, N, to);
    }
  }
  template <int N>
  KILN_FN static void move_out(const line<Y>& to, int c, const chunk<Y, N>& from) {
    if constexpr (Width == 1) {
      KILN_UNROLL
      for (int i = 0; i < N; ++i) to[c + i] = from[i];
    } else {
      store(to, c, N, from);
    }
  }
};

}  // namespace rows
}  // namespace kiln
