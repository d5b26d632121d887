#pragma once
/// The program of the rotary embedding, and its angles.
#include <cmath>
#include <kiln/kernel/elementwise/chunk.hpp>
#include <kiln/kernel/elementwise/divisor.hpp>
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
  T* data = nullptr;
  index_t step = 1, head = 0, inner = 0, outer = 0;
  elementwise::divisor by;  ///< tokens of the inner axis

  heads_operand() = default;
  heads_operand(const operand<T>& tokens, index_t stride_of_heads)
      : data(tokens.data),
        step(tokens.step),
        head(stride_of_heads),
        inner(tokens.inner),
        outer(tokens.middle),
        by(max_of<index_t>(tokens.inner_size, 1)) {}

  KILN_FN line<T> at(index_t token, index_t h) const {
    const index_t q = by.of(token);
    return {data + q * outer + (token - q * by.value()) * inner + h * head, step};
  }
  bool vectors(int width) const {
    const index_t unit = min_of<index_t>(16 / static_cast<index_t>(sizeof(T)), width);
    const index_t bytes = unit * static_cast<index_t>(sizeof(T));
    return step == 1 && head % unit == 0 && inner % unit == 0 && outer % unit == 0 &&
           reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0;
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
  bool in_place = false;                 ///< q_out is q
  line<const std::int32_t> positions{};  ///< null: token t of a sequence has position start + t
  index_t start = 0;
  elementwise::divisor tokens_of_sequence;
  line<const std::int32_t> places{};  ///< the cache row of each token's keys and values; negative: none
  index_t cache_rows = 0;
  std::int32_t* flag = nullptr;  ///< told of places past the cache
  int channels = 0, width = 0;
  rotary_frequencies frequencies{};

  /// Whether every access to `n` neighbours is aligned.
  bool vectors(int n) const {
    return (q_heads == 0 || (q.vectors(n) && q_out.vectors(n))) &&
           (kv_heads == 0 || (k.vectors(n) && v.vectors(n) && k_out.vectors(n) && v_out.vectors(n)));
  }
};

/// Item: `Width` pairs of some heads of one token, or as many channels behind the rotated ones.
template <class X, class Q, class Y, pairing How, int Width>
struct rotary_program {
  /// Of an item: they share sines and cosines. Fewer where that leaves fewer items than a GPU has threads: then it is
  /// latency that takes the time.
  static constexpr index_t most_heads = 8, enough_items = index_t{1} << 17;

  rotary_operands<X, Q, Y> o;
  int rotated_pieces, q_groups, heads;
  elementwise::divisor pieces, groups;

  rotary_program(const rotary_operands<X, Q, Y>& operands, index_t tokens, bool share)
      : o(operands), rotated_pieces(o.width / 2 / Width) {
    const index_t all = rotated_pieces + ceil_div(o.channels - o.width, 2 * Width);
    const index_t for_each = tokens / ceil_div<index_t>(enough_items, all * (o.q_heads + o.kv_heads));
    heads = static_cast<int>(share ? most_heads : max_of<index_t>(1, min_of(most_heads, for_each)));
    q_groups = static_cast<int>(ceil_div<index_t>(o.q_heads, heads));
    pieces = elementwise::divisor(all), groups = elementwise::divisor(q_groups + ceil_div<index_t>(o.kv_heads, heads));
  }

  index_t items(index_t tokens) const { return tokens * groups.value() * pieces.value(); }

  KILN_FN void run(index_t item) const {
    const index_t both = pieces.of(item), token = groups.of(both);
    const auto piece = static_cast<int>(item - both * pieces.value());
    const auto group = static_cast<int>(both - token * groups.value());
    if (group < q_groups) {
      if (piece < rotated_pieces || !o.in_place) run_queries(token, group, piece);
    } else {
      run_keys(token, group - q_groups, piece);
    }
  }

 private:
  using raw = chunk<X, 2 * Width>;

  // All that an item reads is under way before anything waits.
  KILN_FN void run_queries(index_t token, int group, int piece) const {
    const index_t last = min_of<index_t>(index_t{group} * heads + heads, o.q_heads);
    index_t h = index_t{group} * heads;
    const index_t position = position_of(token);
    raw x = read(o.q.at(token, h), piece);
    begun(x);
    rotation r[Width] = {};
    if (piece < rotated_pieces) rotations(position, piece, r);
    KILN_NO_UNROLL
    while (true) {
      raw next = x;
      if (h + 1 < last) next = read(o.q.at(token, h + 1), piece);
      begun(next);
      write<true>(x, o.q_out.at(token, h), piece, r);
      if (++h >= last) return;
      x = next;
    }
  }
  KILN_FN void run_keys(index_t token, int group, int piece) const {
    const index_t last = min_of<index_t>(index_t{group} * heads + heads, o.kv_heads);
    index_t h = index_t{group} * heads;
    const index_t position = position_of(token), place = o.places[token];
    raw x = read(o.k.at(token, h), piece), v = read(o.v.at(token, h), piece);
    begun(x), begun(v);
    rotation r[Width] = {};
    if (piece < rotated_pieces) rotations(position, piece, r);
    if (place < 0) return;
    if (place >= o.cache_rows) {
      if (o.flag != nullptr) *o.flag = 1;
      return;
    }
    KILN_NO_UNROLL
    for (;; x = read(o.k.at(token, h), piece), v = read(o.v.at(token, h), piece)) {
      write<true>(x, o.k_out.at(place, h), piece, r);
      write<false>(v, o.v_out.at(place, h), piece, r);
      if (++h >= last) return;
    }
  }
  /// Keeps the compiler from loading `x` later, behind a branch that waits for something else.
  KILN_FN static void begun([[maybe_unused]] raw& x) {
#if defined(__CUDA_ARCH__)
    struct words {
      std::uint32_t w[sizeof(raw) / 4];
    } w = bit_cast<words>(x);
    KILN_UNROLL
    for (std::size_t i = 0; i < sizeof(raw) / 4; ++i) asm volatile("" : "+r"(w.w[i]));
    x = bit_cast<raw>(w);
#endif
  }

  KILN_FN index_t position_of(index_t token) const {
    return o.positions.data != nullptr
               ? static_cast<index_t>(o.positions[token])
               : o.start + (token - o.tokens_of_sequence.of(token) * o.tokens_of_sequence.value());
  }
  KILN_FN void rotations(index_t position, int piece, rotation (&r)[Width]) const {
    double turns = o.frequencies.turns(piece * Width);
    KILN_UNROLL
    for (int i = 0; i < Width; ++i, turns *= o.frequencies.ratio) r[i] = rotation_of(turns, position);
  }

  // Where the elements of a piece stand: 2 * Width neighbours, or `Width` in each half of what turns. Behind that, a
  // last piece may be shorter.
  KILN_FN int begin_of(int piece) const {
    return piece < rotated_pieces ? piece * 2 * Width : o.width + (piece - rotated_pieces) * 2 * Width;
  }
  KILN_FN bool in_halves(int piece) const { return How == pairing::half_split && piece < rotated_pieces; }
  KILN_FN int count_of(int piece) const { return min_of(2 * Width, o.channels - begin_of(piece)); }

  KILN_FN raw read(const line<const X>& from, int piece) const {
    raw x;
    if (in_halves(piece)) {
      chunk<X, Width> low, high;
      move_in(from, piece * Width, Width, low);
      move_in(from, o.width / 2 + piece * Width, Width, high);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) x[i] = low[i], x[Width + i] = high[i];
    } else {
      move_in(from, begin_of(piece), count_of(piece), x);
    }
    return x;
  }

  template <bool Turned, class Out>
  KILN_FN void write(const raw& x, const line<Out>& to, int piece, const rotation (&r)[Width]) const {
    chunk<float, 2 * Width> y;
    KILN_UNROLL
    for (int i = 0; i < 2 * Width; ++i) y[i] = static_cast<float>(x[i]);
    if (Turned && piece < rotated_pieces) {
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) {
        constexpr bool halves = How == pairing::half_split;
        float &first = y[halves ? i : 2 * i], &second = y[halves ? Width + i : 2 * i + 1];
        const float a = first, b = second;
        first = a * r[i].cosine - b * r[i].sine;
        second = b * r[i].cosine + a * r[i].sine;
      }
    }
    const chunk<Out, 2 * Width> rounded_y = rounded<Out>(y);
    if (in_halves(piece)) {
      chunk<Out, Width> low, high;
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) low[i] = rounded_y[i], high[i] = rounded_y[Width + i];
      move_out(to, piece * Width, Width, low);
      move_out(to, o.width / 2 + piece * Width, Width, high);
    } else {
      move_out(to, begin_of(piece), count_of(piece), rounded_y);
    }
  }

  // Width 1 is for any strides: a pair's elements are moved one by one.
  template <int N>
  KILN_FN static void move_in(const line<const X>& from, int c, int n, chunk<X, N>& to) {
    if constexpr (Width == 1) {
      KILN_UNROLL
      for (int i = 0; i < N; ++i) to[i] = i < n ? from[c + i] : X{};
    } else {
      elementwise::load_chunk(from.data + c, to.v);
    }
  }
  template <int N, class Out>
  KILN_FN static void move_out(const line<Out>& to, int c, int n, const chunk<Out, N>& from) {
    if constexpr (Width == 1) {
      KILN_UNROLL
      for (int i = 0; i < N; ++i)
        if (i < n) to[c + i] = from[i];
    } else {
      elementwise::store_chunk(to.data + c, from.v);
    }
  }
};

}  // namespace rows
}  // namespace kiln
