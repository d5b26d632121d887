#pragma once
/// Rotary position embedding (Su et al. 2021, arXiv 2104.09864), plain and with the write into a key/value cache.
///
/// With width w, frequency f_j = theta^(-2j / w) and angle a = position * f_j, the pair (x, y) of head channels j
/// becomes (x cos a - y sin a, y cos a + x sin a); channels from w on are copied. Frequencies come from float64 and
/// angles are reduced exactly, so a cosine is right to float32 at every position; products are float32 and rounded
/// once.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/items.hpp>
#include <kiln/kernel/rows/rotary.hpp>
#include <kiln/view/reshape.hpp>

namespace kiln {

struct rotary_options {
  double theta = 10000;                  ///< base of the frequencies
  int width = 0;                         ///< channels of a head that turn, even; 0: all of them
  pairing pairs = pairing::interleaved;  ///< GLM pairs neighbours; half_split is the rule of Llama and glm4_moe
};

/// Positions start, start + 1, ... along each sequence's tokens.
struct positions_from {
  index_t start = 0;
};

namespace rows {

template <class T, int R, class S, int U>
constexpr auto heads_of(const tensor<T, R, S, U>& v) {
  return heads_operand<T>{operand_of(pick<R - 2>(v, 0)), v.stride(R - 2)};
}
template <class T, int R, class S, int U>
constexpr auto heads_in(const tensor<T, R, S, U>& v) {
  return heads_of(static_cast<tensor<const T, R, S, U>>(v));
}

inline status check_rotary(const rotary_options& o, index_t channels) {
  const index_t width = o.width == 0 ? channels : o.width;
  if (width < 0 || width > channels || width % 2 != 0)
    return fail(errc::bad_option, "option `width`: saw ", width, ", needs an even number up to ", channels,
                ", the channels of a head");
  if (width > 2 * most_pairs || channels > 0x7fffffff)
    return fail(errc::unsupported, "option `width`: saw ", width, ", at most ", 2 * most_pairs, " channels turn");
  if (!(o.theta > 0 && o.theta < 1e300))
    return fail(errc::bad_option, "option `theta`: saw ", o.theta, ", needs a positive number");
  return {};
}

template <class T, int R, class S, int U>
index_t tokens_of(const tensor<T, R, S, U>& v) {
  return v.extent(0) * (R == 4 ? v.extent(R - 3) : 1);
}

/// Everything but the checks. `fill` sets what the variants differ in.
template <class Executor, class X, class Y, int R, class S, int U, class Fill>
status run_rotary(const Executor& ex, trace::launch_record record, const tensor<X, R, S, U>& x,
                  const heads_operand<Y>& out, const rotary_options& o, bool vectors, Fill fill) {
  using element = std::remove_const_t<X>;
  const auto channels = static_cast<int>(x.extent(R - 1)), width = o.width == 0 ? channels : o.width;
  const auto with = [&]<pairing How, int Width>(std::integral_constant<pairing, How>,
                                                std::integral_constant<int, Width>) {
    rotary_program<element, Y, How, Width> p{};
    p.x = heads_in(x), p.out = out;
    p.heads = x.extent(R - 2), p.tokens_of_sequence = x.extent(R - 3);
    p.channels = channels, p.width = width;
    p.rotated_pieces = width / 2 / Width;
    p.pieces = p.rotated_pieces + ceil_div(channels - width, 2 * Width);
    p.table = rotary_frequencies(o.theta, width);
    fill(p);
    return run_items(ex, record, p, tokens_of(x) * ceil_div(p.heads, p.most_heads) * p.pieces);
  };
  constexpr int wide = 8 / static_cast<int>(sizeof(element) > sizeof(Y) ? sizeof(element) : sizeof(Y));
  const bool whole = width % (2 * wide) == 0 && channels % (2 * wide) == 0;
  constexpr std::integral_constant<pairing, pairing::interleaved> neighbours{};
  constexpr std::integral_constant<pairing, pairing::half_split> halves{};
  constexpr std::integral_constant<int, wide> chunks{};
  constexpr std::integral_constant<int, 1> single{};
  vectors = vectors && whole && heads_in(x).vectors(2 * wide) && out.vectors(2 * wide);
  if (o.pairs == pairing::interleaved) return vectors ? with(neighbours, chunks) : with(neighbours, single);
  return vectors ? with(halves, chunks) : with(halves, single);
}

template <class Executor, class X, int R, class S, int U, class Y, class SY, int UY>
status check_rotary_views(const tensor<X, R, S, U>& x, const tensor<Y, R, SY, UY>& out, const rotary_options& o) {
  static_assert(R == 3 || R == 4, "rotary takes [tokens, heads, channels] or [batch, tokens, heads, channels]");
  check_spaces<Executor, tensor<X, R, S, U>, tensor<Y, R, SY, UY>>();
  check_float<X>(), check_float<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_same_shape("out", out, "x", x));
  KILN_TRY(check_in_place("out", out, "x", x));
  return check_rotary(o, x.extent(R - 1));
}

template <class X, int R, class S, int U, class Y, class SY, int UY>
bool same_place(const tensor<X, R, S, U>& x, const tensor<Y, R, SY, UY>& out) {
  return static_cast<const void*>(x.data) == static_cast<const void*>(out.data);
}

}  // namespace rows

/// out = x turned by its tokens' positions. `x` and `out` [tokens, heads, channels] or [batch, tokens, heads,
/// channels], of float, f16 or bf16, any strides; `out` may be `x` itself, or a slice of a key cache. `positions`
/// int32, one for each token, batch by batch. Errors: bad_shape, bad_stride, null_pointer, overlap (equal views are
/// allowed), bad_option (width, theta), unsupported (width above 512).
template <executor Executor, class X, int R, class S, int U, class P, class SP, int UP, class Y, class SY, int UY>
status rotary(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<P, 1, SP, UP>& positions,
              const tensor<Y, R, SY, UY>& out, rotary_options options = {}) {
  using namespace rows;
  static_assert(std::is_same_v<std::remove_const_t<P>, std::int32_t>, "rotary takes positions of int32");
  check_spaces<Executor, tensor<P, 1, SP, UP>>();
  KILN_TRY(check_rotary_views<Executor>(x, out, options));
  KILN_TRY(check_view("positions", positions));
  KILN_TRY(check_length("positions", positions, tokens_of(x), "the tokens of `x`"));
  KILN_TRY(check_apart("out", out, "positions", positions));
  if (out.empty()) return {};
  return run_rotary(ex, {.program = "rotary", .bytes = bytes_of(x, positions, out)}, x, heads_of(out), options, true,
                    [&](auto& p) {
                      p.in_place = same_place(x, out);
                      p.positions = each_row(tensor<const std::int32_t, 1, SP, UP>(positions));
                    });
}

/// The same with positions start, start + 1, ... for the tokens of each sequence.
template <executor Executor, class X, int R, class S, int U, class Y, class SY, int UY>
status rotary(const Executor& ex, const tensor<X, R, S, U>& x, positions_from positions,
              const tensor<Y, R, SY, UY>& out, rotary_options options = {}) {
  using namespace rows;
  KILN_TRY(check_rotary_views<Executor>(x, out, options));
  if (out.empty()) return {};
  return run_rotary(ex, {.program = "rotary", .bytes = bytes_of(x, out)}, x, heads_of(out), options, true,
                    [&](auto& p) {
                      p.in_place = same_place(x, out);
                      p.start = positions.start;
                    });
}

/// Turns keys and appends them with their values to a cache, in one pass: row places[t] of `key_cache` gets token t of
/// `k` turned by positions[t], row places[t] of `value_cache` gets token t of `v`. `k` and `v` [tokens, heads,
/// channels]; caches [rows, heads, channels], or [batch, capacity, heads, channels] with row b * capacity + i. A
/// negative place: the token is skipped. Places have to be different. On the host a place outside the cache is an
/// error; on the device it is skipped and `flag` (if not null: one int32 in device memory, set to 0 by the caller)
/// becomes 1.
template <executor Executor, class X, class S, int UK, int UV, class P, class SP, int UP, class Q, int UQ, class Y,
          int RC, class SY, int UY, int UZ>
status rotary_append(const Executor& ex, const tensor<X, 3, S, UK>& k, const tensor<X, 3, S, UV>& v,
                     const tensor<P, 1, SP, UP>& positions, const tensor<Q, 1, SP, UQ>& places,
                     const tensor<Y, RC, SY, UY>& key_cache, const tensor<Y, RC, SY, UZ>& value_cache,
                     rotary_options options = {}, std::int32_t* flag = nullptr) {
  using namespace rows;
  static_assert(RC == 3 || RC == 4, "a cache is [rows, heads, channels] or [batch, capacity, heads, channels]");
  static_assert(
      std::is_same_v<std::remove_const_t<P>, std::int32_t> && std::is_same_v<std::remove_const_t<Q>, std::int32_t>,
      "rotary_append takes positions and places of int32");
  check_spaces<Executor, tensor<X, 3, S, UK>, tensor<P, 1, SP, UP>, tensor<Y, RC, SY, UY>>();
  check_float<X>(), check_float<Y>();
  KILN_TRY(check_view("k", k));
  KILN_TRY(check_view("v", v));
  KILN_TRY(check_view("positions", positions));
  KILN_TRY(check_view("places", places));
  KILN_TRY(check_output("key_cache", key_cache));
  KILN_TRY(check_output("value_cache", value_cache));
  KILN_TRY(check_same_shape("v", v, "k", k));
  KILN_TRY(check_same_shape("value_cache", value_cache, "key_cache", key_cache));
  for (int a = 1; a <= 2; ++a)
    if (key_cache.extent(RC - a) != k.extent(3 - a))
      return fail(errc::bad_shape, "operand `key_cache`: axis ", RC - a, " has extent ", key_cache.extent(RC - a),
                  ", needs ", k.extent(3 - a), " as in `k`");
  KILN_TRY(check_length("positions", positions, k.extent(0), "the tokens of `k`"));
  KILN_TRY(check_length("places", places, k.extent(0), "the tokens of `k`"));
  KILN_TRY(check_apart("key_cache", key_cache, "k", k));
  KILN_TRY(check_apart("key_cache", key_cache, "v", v));
  KILN_TRY(check_apart("value_cache", value_cache, "k", k));
  KILN_TRY(check_apart("value_cache", value_cache, "v", v));
  KILN_TRY(check_apart("value_cache", value_cache, "key_cache", key_cache));
  KILN_TRY(check_rotary(options, k.extent(2)));
  if (k.empty()) return {};
  const index_t cache_rows = tokens_of(key_cache);
  if constexpr (Executor::on_host) {
    for (index_t t = 0; t < places.extent(0); ++t)
      if (places(t) >= cache_rows)
        return fail(errc::bad_option, "operand `places`: element ", t, " is ", places(t), ", needs to be below ",
                    cache_rows, ", the rows of `key_cache`");
  }
  const bool vectors = heads_in(v).vectors(16 / static_cast<int>(sizeof(Y))) &&
                       heads_of(value_cache).vectors(16 / static_cast<int>(sizeof(Y)));
  return run_rotary(ex,
                    {.program = "rotary_append",
                     .fused = "key and value cache write",
                     .bytes = 2 * bytes_of(k) + 2.0 * static_cast<double>(k.size()) * sizeof(Y)},
                    k, heads_of(key_cache), options, vectors, [&](auto& p) {
                      p.positions = each_row(tensor<const std::int32_t, 1, SP, UP>(positions));
                      p.places = each_row(tensor<const std::int32_t, 1, SP, UQ>(places));
                      p.v = heads_in(v), p.v_out = heads_of(value_cache);
                      p.out_rows = cache_rows, p.flag = flag;
                    });
}

}  // namespace kiln
