#pragma once
/// Rotary position embedding (Su et al. 2021, arXiv 2104.09864), plain and with the write into a key/value cache.
///
/// With width w, frequency f_j = theta^(-2j / w) and angle a = position * f_j, the pair (x, y) of head channels j
/// becomes (x cos a - y sin a, y cos a + x sin a); channels from w on are copied. Frequencies come from float64 and
/// angles are reduced exactly, so with theta of at least 1 a cosine is right to float32 at positions below 2^28 and to
/// 5e-7 at all of 32 bits, and loses a digit for every further factor of ten; products are float32 and rounded once.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/items.hpp>
#include <kiln/kernel/rows/rotary.hpp>
#include <kiln/kernel/rows/sound.hpp>
#include <kiln/view/reshape.hpp>

namespace kiln {

struct rotary_options {
  double theta = 10000;                          ///< base of the frequencies
  int width = 0;                                 ///< channels of a head that turn, even; 0: all of them
  one_of<pairing> pairs = pairing::interleaved;  ///< GLM pairs neighbours; half_split is the rule of Llama and glm4_moe
};

/// Positions start, start + 1, ... along each sequence's tokens.
struct positions_from {
  index_t start = 0;
};

namespace rows {

template <class T, int R, class S, int U>
auto heads_of(const tensor<T, R, S, U>& v) {
  return heads_operand<T>{operand_of(pick<R - 2>(v, 0)), v.stride(R - 2)};
}
template <class T, int R, class S, int U>
auto heads_in(const tensor<T, R, S, U>& v) {
  return heads_of(static_cast<tensor<const T, R, S, U>>(v));
}

template <class T, class S, int U>
constexpr auto each_vector(const tensor<T, 1, S, U>& v) {
  return line<const std::remove_const_t<T>>{v.data, v.stride(0)};
}

inline status check_rotary(const rotary_options& o, index_t channels) {
  const index_t width = o.width == 0 ? channels : o.width;
  if (width < 0 || width > channels || width % 2 != 0)
    return fail(errc::bad_option, "option `width`: saw ", width, ", needs an even number up to ", channels,
                ", the channels of a head");
  if (channels > 0x7fffffff)
    return fail(errc::unsupported, "a head has ", channels, " channels, needs at most 2147483647");
  if (!(o.theta > 1e-300 && o.theta < 1e300))
    return fail(errc::bad_option, "option `theta`: saw ", o.theta, ", needs a number between 1e-300 and 1e300");
  return {};
}

template <class T, int R, class S, int U>
index_t tokens_of(const tensor<T, R, S, U>& v) {
  return saturated_product(v.extent(0), R == 4 ? v.extent(R - 3) : 1);
}

/// Everything but the checks and the operands.
template <class Executor, class X, class Q, class Y>
status run_rotary(const Executor& ex, trace::launch_record record, rotary_operands<X, Q, Y>& p, index_t tokens,
                  index_t channels, const rotary_options& o) {
  p.channels = static_cast<int>(channels), p.width = o.width == 0 ? p.channels : o.width;
  p.frequencies = rotary_frequencies(o.theta, p.width);
  const auto with = [&]<pairing How, int Width>(std::integral_constant<pairing, How>,
                                                std::integral_constant<int, Width>) {
    const rotary_program<X, Q, Y, How, Width> program(p, tokens, Executor::on_host);
    return run_items(ex, record, program, program.items(tokens));
  };
  constexpr auto larger = [](std::size_t a, std::size_t b) { return a > b ? a : b; };
  constexpr int wide = 8 / static_cast<int>(larger(sizeof(X), larger(sizeof(Q), sizeof(Y))));
  constexpr std::integral_constant<pairing, pairing::interleaved> neighbours{};
  constexpr std::integral_constant<pairing, pairing::half_split> halves{};
  constexpr std::integral_constant<int, wide> chunks{};
  constexpr std::integral_constant<int, 1> single{};
  const bool vectors = p.width % (2 * wide) == 0 && p.channels % (2 * wide) == 0 && p.vectors(2 * wide);
  if (o.pairs == pairing::interleaved) return vectors ? with(neighbours, chunks) : with(neighbours, single);
  return vectors ? with(halves, chunks) : with(halves, single);
}

template <class X, int R, class S, int U, class Y, class SY, int UY>
status check_rotary_views(const tensor<X, R, S, U>& x, const tensor<Y, R, SY, UY>& out, const rotary_options& o,
                          const char* from = "x", const char* to = "out") {
  KILN_TRY(check_view(from, x));
  KILN_TRY(check_output(to, out));
  KILN_TRY(check_same_shape(to, out, from, x));
  KILN_TRY(check_in_place(to, out, from, x));
  return check_rotary(o, x.extent(R - 1));
}

/// Fills in queries that have elements.
template <class X, class Q, class Y, class In, class Out>
void set_queries(rotary_operands<X, Q, Y>& p, const In& q, const Out& out) {
  p.q = heads_in(q), p.q_out = heads_of(out);
  p.q_heads = q.extent(In::rank - 2);
  p.tokens_of_sequence = elementwise::divisor(q.extent(In::rank - 3));
  p.in_place = static_cast<const void*>(q.data) == static_cast<const void*>(out.data);
}

/// What an append asks of its keys, values and caches.
template <class Executor, class K, class V, class P, class A, class KC, class VC>
status check_append(const K& k, const V& v, const P& positions, const A& places, const KC& key_cache,
                    const VC& value_cache, const rotary_options& options) {
  KILN_TRY(check_view("k", k));
  KILN_TRY(check_view("v", v));
  KILN_TRY(check_view("positions", positions));
  KILN_TRY(check_view("places", places));
  KILN_TRY(check_output("key_cache", key_cache));
  KILN_TRY(check_output("value_cache", value_cache));
  KILN_TRY(check_same_shape("v", v, "k", k));
  KILN_TRY(check_same_shape("value_cache", value_cache, "key_cache", key_cache));
  for (int a = 1; a <= 2; ++a)
    if (key_cache.extent(KC::rank - a) != k.extent(3 - a))
      return fail(errc::bad_shape, "operand `key_cache`: axis ", KC::rank - a, " has extent ",
                  key_cache.extent(KC::rank - a), ", needs ", k.extent(3 - a), " as in `k`");
  KILN_TRY(check_length("positions", positions, k.extent(0), "the tokens of `k`"));
  KILN_TRY(check_length("places", places, k.extent(0), "the tokens of `k`"));
  const auto apart = [&](const char* name, const auto& out) -> status {
    KILN_TRY(check_apart(name, out, "k", k));
    KILN_TRY(check_apart(name, out, "v", v));
    KILN_TRY(check_apart(name, out, "positions", positions));
    return check_apart(name, out, "places", places);
  };
  KILN_TRY(apart("key_cache", key_cache));
  KILN_TRY(apart("value_cache", value_cache));
  KILN_TRY(check_apart("value_cache", value_cache, "key_cache", key_cache));
  KILN_TRY(check_rotary(options, k.extent(2)));
  if constexpr (Executor::on_host) {
    const index_t rows = tokens_of(key_cache);
    for (index_t t = 0; t < places.extent(0) && !k.empty(); ++t)
      if (places(t) >= rows)
        return fail(errc::bad_option, "operand `places`: element ", t, " is ", places(t), ", needs to be below ", rows,
                    ", the rows of `key_cache`");
  }
  return {};
}

/// Fills in keys, values and caches that have elements.
template <class X, class Q, class Y, class K, class V, class P, class A, class KC, class VC>
void set_keys(rotary_operands<X, Q, Y>& p, const K& k, const V& v, const P& positions, const A& places,
              const KC& key_cache, const VC& value_cache, std::int32_t* flag) {
  p.positions = each_vector(positions), p.places = each_vector(places);
  p.flag = flag;
  p.cache_rows = tokens_of(key_cache);
  if (k.empty()) return;
  p.kv_heads = k.extent(1);
  p.k = heads_in(k), p.v = heads_in(v);
  if (p.cache_rows > 0) p.k_out = heads_of(key_cache), p.v_out = heads_of(value_cache);
}

/// Whether rotary's types are sound; else an assertion has said why. `Positions`: a view, or none.
template <class Executor, class X, class Y, class... Positions>
constexpr bool sound_rotary() {
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(3, 4), writes<Y, numbers>(rank_of<X>),
                                                               reads<Positions, elements_of<std::int32_t>>(1)...);
  static_assert(found.what != fault::memory,
                "rotary: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0,
                "rotary: x needs to be a view of float, f16 or bf16: [tokens, heads, channels], or with [batch, ...]");
  static_assert(found.operand != 1, "rotary: out needs to be a view of x's rank of float, f16 or bf16, not const");
  static_assert(found.operand != 2,
                "rotary: positions needs to be a vector (a view of rank 1) of int32, or positions_from{start}");
  return found.none();
}

/// Whether rotary_append's types are sound, those of keys, values and caches ...
template <class Executor, class K, class V, class P, class A, class KC, class VC>
constexpr bool sound_append() {
  using ids = elements_of<std::int32_t>;
  constexpr auto found = first_fault<typename Executor::space>(
      reads<K, numbers>(3), reads<V, elements_like<K>>(3), reads<P, ids>(1), reads<A, ids>(1),
      writes<KC, numbers>(3, 4), writes<VC, elements_like<KC>>(rank_of<KC>));
  static_assert(
      found.what != fault::memory,
      "rotary_append: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0,
                "rotary_append: k needs to be a view [tokens, heads, channels] of float, f16 or bf16");
  static_assert(found.operand != 1, "rotary_append: v needs to be a view [tokens, heads, channels] of k's type");
  static_assert(found.operand != 2, "rotary_append: positions needs to be a vector (a view of rank 1) of int32");
  static_assert(found.operand != 3, "rotary_append: places needs to be a vector (a view of rank 1) of int32");
  static_assert(found.operand != 4,
                "rotary_append: key_cache needs to be a view [rows, heads, channels] or [batch, capacity, heads, "
                "channels] of float, f16 or bf16, not const");
  static_assert(found.operand != 5,
                "rotary_append: value_cache needs to be a view of key_cache's rank and type, not const");
  return found.none();
}
/// ... and those of queries.
template <class Executor, class Q, class QO, class K>
constexpr bool sound_queries() {
  constexpr auto found = first_fault<typename Executor::space>(reads<K, numbers>(3), reads<Q, elements_like<K>>(3),
                                                               writes<QO, numbers>(3));
  static_assert(
      found.what != fault::memory,
      "rotary_append: q or q_out lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 1, "rotary_append: q needs to be a view [tokens, heads, channels] of k's type");
  static_assert(found.operand != 2,
                "rotary_append: q_out needs to be a view [tokens, heads, channels] of float, f16 or bf16, not const");
  return found.none();
}

}  // namespace rows

/// out = x turned by its tokens' positions. `x` and `out` [tokens, heads, channels] or [batch, tokens, heads,
/// channels], of float, f16 or bf16, any strides; `out` may be `x` itself, or a slice of a key cache. `positions`
/// int32, one for each token, batch by batch. Errors: bad_shape, bad_stride, null_pointer, overlap (equal views are
/// allowed), bad_option (width, theta).
template <executor Executor, class X, class P, class Y>
requires(!std::is_same_v<P, positions_from>) status
    rotary(const Executor& ex, const X& x, const P& positions, const Y& out, rotary_options options = {}) {
  using namespace rows;
  if constexpr (!sound_rotary<Executor, X, Y, P>()) {
    return {};
  } else {
    return in_call("rotary", [&]() -> status {
      KILN_TRY(check_rotary_views(x, out, options));
      KILN_TRY(check_view("positions", positions));
      KILN_TRY(check_length("positions", positions, tokens_of(x), "the tokens of `x`"));
      KILN_TRY(check_apart("out", out, "positions", positions));
      if (out.empty()) return {};
      rotary_operands<typename X::value_type, typename Y::value_type, typename Y::value_type> p;
      set_queries(p, x, out);
      p.positions = each_vector(positions);
      return run_rotary(ex, {.program = "rotary", .bytes = bytes_of(x, positions, out)}, p, tokens_of(x),
                        x.extent(X::rank - 1), options);
    }());
  }
}

/// The same with positions start, start + 1, ... for the tokens of each sequence. bad_option, too, if the last of them
/// passes 2^63 - 1.
template <executor Executor, class X, class Y>
status rotary(const Executor& ex, const X& x, positions_from positions, const Y& out, rotary_options options = {}) {
  using namespace rows;
  if constexpr (!sound_rotary<Executor, X, Y>()) {
    return {};
  } else {
    return in_call("rotary", [&]() -> status {
      KILN_TRY(check_rotary_views(x, out, options));
      if (out.empty()) return {};
      const index_t tokens = x.extent(X::rank - 3), last = (limits<index_t>::max)() - (tokens - 1);
      if (positions.start > last)
        return fail(errc::bad_option, "operand `positions`: starts at ", positions.start, ", needs at most ", last,
                    ", for the last of ", tokens, " tokens has a position of 64 bits, too");
      rotary_operands<typename X::value_type, typename Y::value_type, typename Y::value_type> p;
      set_queries(p, x, out);
      p.start = positions.start;
      return run_rotary(ex, {.program = "rotary", .bytes = bytes_of(x, out)}, p, tokens_of(x), x.extent(X::rank - 1),
                        options);
    }());
  }
}

template <class Any = void>
status rotary(...) {
  static_assert(
      kiln::detail::never<Any>,
      "rotary takes (executor, x, positions, out, options), the last may be left out; the executor is host or "
      "device(stream)");
  return {};
}
template <class X, class P, class Y>
status rotary(const X&, const P&, const Y&, const rotary_options&) {
  return rotary<X>();
}

/// Turns keys and appends them with their values to a cache, in one launch: row places[t] of `key_cache` gets token t
/// of `k` turned by positions[t], row places[t] of `value_cache` gets token t of `v`. `k` and `v` [tokens, heads,
/// channels], the tokens of all sequences one after another, however many each has; caches [rows, heads, channels], or
/// [batch, capacity, heads, channels] with row b * capacity + i; positions and places int32. A negative place: the
/// token is skipped. Places have to be different. On the host a place outside the cache is an error; on the device it
/// is skipped and `flag` (if not null: one int32 in device memory, set to 0 by the caller) becomes 1.
template <executor Executor, class K, class V, class P, class A, class KC, class VC>
status rotary_append(const Executor& ex, const K& k, const V& v, const P& positions, const A& places,
                     const KC& key_cache, const VC& value_cache, rotary_options options = {},
                     std::int32_t* flag = nullptr) {
  using namespace rows;
  if constexpr (!sound_append<Executor, K, V, P, A, KC, VC>()) {
    return {};
  } else {
    return in_call("rotary_append", [&]() -> status {
      KILN_TRY(check_append<Executor>(k, v, positions, places, key_cache, value_cache, options));
      if (k.empty()) return {};
      using stored = typename KC::value_type;
      rotary_operands<typename K::value_type, stored, stored> p;
      set_keys(p, k, v, positions, places, key_cache, value_cache, flag);
      return run_rotary(ex,
                        {.program = "rotary_append",
                         .fused = "key and value cache write",
                         .bytes = 2 * bytes_of(k) + 2.0 * static_cast<double>(k.size()) * sizeof(stored)},
                        p, k.extent(0), k.extent(2), options);
    }());
  }
}

/// The same, and q_out = q turned by the same positions, all in one launch: what a layer does between its projection
/// and its attention. `q` and `q_out` [tokens, heads, channels]; `q_out` may be `q` itself. Every query is turned,
/// those of tokens without a place, too.
template <executor Executor, class Q, class QO, class K, class V, class P, class A, class KC, class VC>
status rotary_append(const Executor& ex, const Q& q, const QO& q_out, const K& k, const V& v, const P& positions,
                     const A& places, const KC& key_cache, const VC& value_cache, rotary_options options = {},
                     std::int32_t* flag = nullptr) {
  using namespace rows;
  if constexpr (!sound_append<Executor, K, V, P, A, KC, VC>()) {
    return {};
  } else if constexpr (!sound_queries<Executor, Q, QO, K>()) {
    return {};
  } else {
    return in_call("rotary_append", [&]() -> status {
      KILN_TRY(check_rotary_views(q, q_out, options, "q", "q_out"));
      KILN_TRY(check_append<Executor>(k, v, positions, places, key_cache, value_cache, options));
      for (int a : {0, 2})
        if (q.extent(a) != k.extent(a))
          return fail(errc::bad_shape, "operand `q`: axis ", a, " has extent ", q.extent(a), ", needs ", k.extent(a),
                      " as in `k`");
      KILN_TRY(check_apart("q_out", q_out, "k", k));
      KILN_TRY(check_apart("q_out", q_out, "v", v));
      KILN_TRY(check_apart("q_out", q_out, "positions", positions));
      KILN_TRY(check_apart("q_out", q_out, "places", places));
      KILN_TRY(check_apart("key_cache", key_cache, "q", q));
      KILN_TRY(check_apart("value_cache", value_cache, "q", q));
      KILN_TRY(check_apart("key_cache", key_cache, "q_out", q_out));
      KILN_TRY(check_apart("value_cache", value_cache, "q_out", q_out));
      if (q.empty() && k.empty()) return {};
      using stored = typename KC::value_type;
      rotary_operands<typename Q::value_type, typename QO::value_type, stored> p;
      if (!q.empty()) set_queries(p, q, q_out);
      set_keys(p, k, v, positions, places, key_cache, value_cache, flag);
      return run_rotary(
          ex,
          {.program = "rotary_append",
           .fused = "queries, key and value cache write",
           .bytes = bytes_of(q, q_out) + 2 * bytes_of(k) + 2.0 * static_cast<double>(k.size()) * sizeof(stored)},
          p, q.extent(0), q.extent(2), options);
    }());
  }
}

template <class Any = void>
status rotary_append(...) {
  static_assert(kiln::detail::never<Any>,
                "rotary_append takes (executor, q, q_out, k, v, positions, places, key_cache, value_cache, options, "
                "flag), without q and q_out, options and flag, too; the executor is host or device(stream)");
  return {};
}
template <class K, class V, class P, class A, class KC, class VC>
status rotary_append(const K&, const V&, const P&, const A&, const KC&, const VC&, const rotary_options&) {
  return rotary_append<K>();
}
template <class Q, class QO, class K, class V, class P, class A, class KC, class VC>
status rotary_append(const Q&, const QO&, const K&, const V&, const P&, const A&, const KC&, const VC&,
                     const rotary_options&) {
  return rotary_append<Q>();
}

}  // namespace kiln
