#pragma once
/// The program of the rotary embedding, and its angles.
#include <cmath>
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln {

/// Which channels of a head turn together: 2j with 2j + 1, or j with j + width / 2.
enum class pairing { interleaved, half_split };

namespace rows {

struct rotation {
  float cosine, sine;
};

/// By `turns` whole turns and parts of one for each position. They are taken in units of 2^-64 turn, where whole turns
/// drop out of an integer product: the angle is as good as `turns` at every position, and lies within half a turn
/// before it becomes a float.
KILN_FN rotation rotation_of(double turns, std::int64_t position) {
  const auto part = static_cast<std::uint64_t>((turns - floor(turns)) * 0x1p64);
  const auto angle = static_cast<std::int64_t>(static_cast<std::uint64_t>(position) * part);
#if defined(__CUDA_ARCH__)
  const float half_turns = static_cast<float>(angle) * 0x1p-63f;
  rotation r;
  sincospif(half_turns, &r.sine, &r.cosine);
  return r;
#else
  const double radians = static_cast<double>(angle) * (3.14159265358979323846 * 0x1p-63);
  return {static_cast<float>(std::cos(radians)), static_cast<float>(std::sin(radians))};
#endif
}

/// Frequencies theta^(-2j / width), in float64: a power of two for the first pair of an item and a product for each
/// further one. There is no table to make or to read.
struct rotary_frequencies {
  double rate = 0, ratio = 1;  ///< frequency j is 2^(-rate j); the next is ratio times this one

  rotary_frequencies() = default;
  rotary_frequencies(double theta, int width)
      : rate(width > 0 ? 2 * std::log2(theta) / width : 0), ratio(std::exp2(-rate)) {}

  /// In turns per position.
  KILN_FN double turns(int j) const {
    constexpr double per_radian = 1 / 6.283185307179586476925;
#if defined(__CUDA_ARCH__)
    return ::exp2(-rate * j) * per_radian;
#else
    return std::exp2(-rate * j) * per_radian;
#endif
  }
};

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

/// Queries go to rows of their own. Keys and values go to rows of two caches. Either may have no heads.
template <class X, class Q, class Y>
struct rotary_operands {
  heads_operand<const X> q{};
  heads_operand<Q> q_out{};
  heads_operand<const X> k{}, v{};
  heads_operand<Y> k_out{}, v_out{};
  index_t q_heads = 0, kv_heads = 0;
  bool in_place = false;                    ///< q_out is q
  operand<const std::int32_t> positions{};  ///< null: token t of a sequence has position start + t
  index_t start = 0, tokens_of_sequence = 1;
  operand<const std::int32_t> places{};  ///< the cache row of each token's keys and values; negative: none
  index_t cache_rows = 0;
  std::int32_t* flag = nullptr;  ///< told of places past the cache
  int channels = 0, width = 0;
  rotary_frequencies frequencies{};

  /// Whether every access to `n` neighbours is aligned.
  constexpr bool vectors(int n) const {
    return (q_heads == 0 || (q.vectors(n) && q_out.vectors(n))) &&
           (kv_heads == 0 || (k.vectors(n) && v.vectors(n) && k_out.vectors(n) && v_out.vectors(n)));
  }
};

/// Item: `Width` pairs of `most_heads` heads of one token, or as many channels behind the rotated ones.
template <class X, class Q, class Y, pairing How, int Width>
struct rotary_program {
  static constexpr index_t most_heads = 4;  // they share the sines and cosines

  rotary_operands<X, Q, Y> o;
  index_t pieces, rotated_pieces, q_groups, kv_groups;

  explicit rotary_program(const rotary_operands<X, Q, Y>& operands)
      : o(operands),
        pieces(o.width / 2 / Width + ceil_div(o.channels - o.width, 2 * Width)),
        rotated_pieces(o.width / 2 / Width),
        q_groups(ceil_div(o.q_heads, most_heads)),
        kv_groups(ceil_div(o.kv_heads, most_heads)) {}

  index_t items(index_t tokens) const { return tokens * (q_groups + kv_groups) * pieces; }

  KILN_FN void run(index_t item) const {
    const index_t groups = q_groups + kv_groups;
    const index_t both = divided(item, pieces), token = divided(both, groups), group = both - token * groups;
    const auto piece = static_cast<int>(item - both * pieces);
    const bool keys = group >= q_groups;
    index_t place = token;
    if (keys) {
      place = o.places.at(token)[0];
      if (place < 0) return;
      if (place >= o.cache_rows) {
        if (o.flag != nullptr) *o.flag = 1;
        return;
      }
    }
    const index_t first = (keys ? group - q_groups : group) * most_heads;
    const index_t last = min_of(first + most_heads, keys ? o.kv_heads : o.q_heads);
    if (piece < rotated_pieces) {
      rotation r[Width];
      rotations(token, piece, r);
      // Several heads at once need more registers than are left.
      KILN_NO_UNROLL
      for (index_t h = first; h < last; ++h) {
        if (!keys) {
          turn(o.q.at(token, h), o.q_out.at(token, h), piece, r);
        } else {
          turn(o.k.at(token, h), o.k_out.at(place, h), piece, r);
          copy_pairs(o.v.at(token, h), o.v_out.at(place, h), piece);
        }
      }
    } else if (keys || !o.in_place) {
      KILN_NO_UNROLL
      for (index_t h = first; h < last; ++h) {
        if (!keys) {
          copy_rest(o.q.at(token, h), o.q_out.at(token, h), piece);
        } else {
          copy_rest(o.k.at(token, h), o.k_out.at(place, h), piece);
          copy_rest(o.v.at(token, h), o.v_out.at(place, h), piece);
        }
      }
    }
  }

 private:
  KILN_FN void rotations(index_t token, int piece, rotation (&r)[Width]) const {
    const index_t position = o.positions.data != nullptr
                                 ? static_cast<index_t>(o.positions.at(token)[0])
                                 : o.start + (token - divided(token, o.tokens_of_sequence) * o.tokens_of_sequence);
    double turns = o.frequencies.turns(piece * Width);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i, turns *= o.frequencies.ratio) r[i] = rotation_of(turns, position);
  }

  template <class Out>
  KILN_FN void turn(const line<const X>& from, const line<Out>& to, int piece, const rotation (&r)[Width]) const {
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
      move_in(from, o.width / 2 + piece * Width, high);
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
      move_out(to, piece * 2 * Width, rounded<Out>(both));
    } else {
      move_out(to, piece * Width, rounded<Out>(c));
      move_out(to, o.width / 2 + piece * Width, rounded<Out>(d));
    }
  }

  KILN_FN void copy_pairs(const line<const X>& from, const line<Y>& to, int piece) const {
    if constexpr (How == pairing::interleaved) {
      copy<2 * Width>(from, to, piece * 2 * Width, 2 * Width);
    } else {
      copy<Width>(from, to, piece * Width, Width);
      copy<Width>(from, to, o.width / 2 + piece * Width, Width);
    }
  }

  template <class Out>
  KILN_FN void copy_rest(const line<const X>& from, const line<Out>& to, int piece) const {
    const int c = o.width + (piece - static_cast<int>(rotated_pieces)) * 2 * Width;
    copy<2 * Width>(from, to, c, min_of(2 * Width, o.channels - c));
  }

  template <int N, class Out>
  KILN_FN static void copy(const line<const X>& from, const line<Out>& to, int c, int n) {
    if (n == N) {
      chunk<X, N> x;
      move_in(from, c, x);
      chunk<float, N> wide;
      KILN_UNROLL
      for (int i = 0; i < N; ++i) wide[i] = static_cast<float>(x[i]);
      move_out(to, c, rounded<Out>(wide));
    } else {
      for (int i = 0; i < n; ++i) to[c + i] = convert<Out>(static_cast<float>(from[c + i]));
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
  template <int N, class Out>
  KILN_FN static void move_out(const line<Out>& to, int c, const chunk<Out, N>& from) {
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
