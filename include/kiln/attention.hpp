#pragma once
/// Scaled dot-product attention, softmax(scale * Q K^T) V, in one kernel that never stores the scores.
///
///     status s = attention(device(stream), q, k, v, out, {.mask = causal::bottom_right}, key_lengths(lengths), log_sum_exp(lse));
///
/// | view            | shape                           | elements                                     |
/// |-----------------|---------------------------------|----------------------------------------------|
/// | `q`             | [batch, queries, heads, dim]    | f16, bf16 or float                           |
/// | `k`             | [batch, keys, kv_heads, dim]    | q's                                          |
/// | `v`             | [batch, keys, kv_heads, dim_v]  | q's                                          |
/// | `out`           | [batch, queries, heads, dim_v]  | f16, bf16 or float; may be the view `q`      |
/// | `log_sum_exp`   | [batch, queries, heads]         | float; natural logarithm                     |
/// | `key_lengths`   | [batch]                         | int32; keys of each sequence that are valid  |
/// | `query_lengths` | [batch]                         | int32; queries of each sequence              |
///
/// Strides are free. A view whose dim axis is contiguous, and whose address and other strides are multiples of 16 bytes, is
/// read in vectors; others element by element, slower. `dim` and `dim_v` are 0 to 256. Head h reads key/value head
/// h / (heads / kv_heads). `k` and `v` may be a cache: `keys` is its capacity, and what lies behind a length is never used.
/// A key that a query does not see does not reach its result, not even as NaN.
///
/// Accumulation and statistics are float32; for f16 and bf16 on the device the weights (at most 1) are rounded to the element
/// type before they meet V. `out` is rounded once. A query that sees no key gives 0 and log-sum-exp -inf. The bits of a
/// sequence's result depend neither on the batch around it nor on how its queries are split over calls.
#include <cmath>
#include <optional>

#include <kiln/core/trace.hpp>
#include <kiln/kernel/attention/check.hpp>
#include <kiln/kernel/attention/run.hpp>

namespace kiln {

/// A mask that has to be spelled out.
struct mask_choice {
  constexpr mask_choice(causal m) : value(m) {}  // NOLINT: a causal is a choice
  causal value;
};

struct attention_options {
  std::optional<float> scale{};  ///< of the scores; without one 1 / sqrt(dim)
  mask_choice mask;              ///< causal::none, causal::bottom_right or causal::top_left: there is no default
};

namespace attn {
template <class View>
struct key_lengths_of {
  View view;
};
template <class View>
struct query_lengths_of {
  View view;
};
template <class View>
struct log_sum_exp_of {
  View view;
};
}  // namespace attn

/// Option of `attention`: how many keys of each sequence are valid, int32 [batch], 0 to `keys`. The host executor refuses
/// others; the device, whose memory the call cannot read, takes them as the nearest of the two.
template <class T, class S, int U>
constexpr attn::key_lengths_of<tensor<T, 1, S, U>> key_lengths(const tensor<T, 1, S, U>& v) {
  static_assert(std::is_same_v<std::remove_const_t<T>, std::int32_t>, "key_lengths takes a view of int32");
  return {v};
}
/// Option of `attention`: how many queries of each sequence there are, int32 [batch], 0 to `queries`; rows of `out` and of the
/// log-sum-exp behind them are left as they are. Causal masks count from the lengths. Out of range: as for `key_lengths`.
template <class T, class S, int U>
constexpr attn::query_lengths_of<tensor<T, 1, S, U>> query_lengths(const tensor<T, 1, S, U>& v) {
  static_assert(std::is_same_v<std::remove_const_t<T>, std::int32_t>, "query_lengths takes a view of int32");
  return {v};
}
/// Option of `attention`: where the natural log-sum-exp of the scaled scores goes, float [batch, queries, heads].
template <class S, int U>
constexpr attn::log_sum_exp_of<tensor<float, 3, S, U>> log_sum_exp(const tensor<float, 3, S, U>& v) {
  return {v};
}

namespace attn {

template <class Arguments, class V>
void attach(Arguments& p, const key_lengths_of<V>& o) {
  p.key_lengths = o.view;
}
template <class Arguments, class V>
void attach(Arguments& p, const query_lengths_of<V>& o) {
  p.query_lengths = o.view;
}
template <class Arguments, class V>
void attach(Arguments& p, const log_sum_exp_of<V>& o) {
  p.lse = o.view;
}
enum class option { none, key_lengths, query_lengths, log_sum_exp };
template <class O>
inline constexpr option kind_of = option::none;
template <class V>
inline constexpr option kind_of<key_lengths_of<V>> = option::key_lengths;
template <class V>
inline constexpr option kind_of<query_lengths_of<V>> = option::query_lengths;
template <class V>
inline constexpr option kind_of<log_sum_exp_of<V>> = option::log_sum_exp;
/// How often an option of this kind is given.
template <option Kind, class... Options>
inline constexpr int times_given = ((kind_of<Options> == Kind ? 1 : 0) + ... + 0);

template <class T>
inline constexpr bool is_element = std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, float>;

template <class Arguments>
trace::launch_record record_of(const Arguments& p, const char* schedule) {
  const index_t *q = p.q.extents, *v = p.v.extents;
  double visible = 0;  // of one sequence and head, were it of full length
  if (p.mask == causal::none) visible = static_cast<double>(q[1]) * static_cast<double>(v[1]);
  else
    for (index_t i = 0; i < q[1]; ++i) visible += static_cast<double>(visible_keys(p.mask, i, q[1], v[1]));
  const double heads = static_cast<double>(q[0]) * static_cast<double>(q[2]);
  static constexpr const char* fused[] = {"online softmax",
                                          "online softmax, log-sum-exp",
                                          "online softmax, ragged lengths",
                                          "online softmax, ragged lengths, log-sum-exp",
                                          "online softmax, causal mask",
                                          "online softmax, causal mask, log-sum-exp",
                                          "online softmax, causal mask, ragged lengths",
                                          "online softmax, causal mask, ragged lengths, log-sum-exp"};
  const int which = (p.mask == causal::none ? 0 : 4) + (p.key_lengths.data != nullptr || p.query_lengths.data != nullptr ? 2 : 0) + (p.lse.data != nullptr ? 1 : 0);
  const auto bytes = [](const auto& view) { return static_cast<double>(view.size()) * static_cast<double>(sizeof(*view.data)); };
  return {.program = "attention",
          .schedule = schedule,
          .fused = fused[which],
          .bytes = bytes(p.q) + bytes(p.k) + bytes(p.v) + bytes(p.out) + (p.lse.data != nullptr ? bytes(p.lse) : 0),
          .operations = 2 * heads * visible * static_cast<double>(q[3] + v[3])};
}

/// Runs the first configuration whose tiles hold the heads.
template <class Executor, class Arguments, class First, class... Rest>
status run_first(const Executor& ex, Arguments& p, table<First, Rest...>) {
  const int dim = max_of(p.head_dim, p.value_dim);
  if (dim > First::dim) {
    if constexpr (sizeof...(Rest) > 0) return run_first(ex, p, table<Rest...>{});
    return fail(errc::unsupported, "attention: this configuration takes a head_dim of at most ", First::dim, ", `q` and `v` have ", p.head_dim, " and ", p.value_dim);
  } else {
    using chosen = kernel<Arguments, First>;
    p.row_tiles = ceil_div<index_t>(p.q.extents[1] * p.group, First::rows);
    trace::scope watch(ex, trace::on() ? record_of(p, First::is_sm80 ? "multistage, sm80" : "serial, simt") : trace::launch_record{});
    return watch.done(run<chosen>(ex, p, p.row_tiles * p.k.extents[2] * p.q.extents[0]));
  }
}

}  // namespace attn

/// out = softmax(scale * q k^T) v for each sequence and head; see the top of this file. The options behind the first are
/// `key_lengths`, `query_lengths` and `log_sum_exp`, each at most once, in any order. `Config` pins an `attention_config`.
///
/// No elements in `out`: success, nothing written. No keys: zeros, and log-sum-exp -inf.
/// Errors: bad_shape, null_pointer, bad_alignment (of an element), bad_stride (`out` or the log-sum-exp visits an address twice),
/// overlap (`out` with k, v or a part of q), bad_option (scale, mask, lengths on the host), unsupported (head_dim; a GPU for
/// which no code was built), protocol (a checked host run), cuda_error. Each is returned before anything is launched.
template <class Config = automatic, executor Executor, class Q, class K, class V, class Out, class... Options>
status attention(const Executor& ex, const Q& q, const K& k, const V& v, const Out& out, const attention_options& options, const Options&... more) {
  static_assert(is_attention_config_v<Config> || std::is_same_v<Config, automatic>, "attention<...>: takes an attention_config<...> or nothing");
  static_assert(is_tensor_v<Q> && is_tensor_v<K> && is_tensor_v<V> && is_tensor_v<Out>,
                "attention: q, k, v and out are tensor views: host_view(...), device_view(...) or made from one");
  static_assert(Q::rank == 4 && K::rank == 4 && V::rank == 4 && Out::rank == 4, "attention: q, k, v and out have rank 4: [batch, length, heads, head_dim]");
  using space = typename Executor::space;
  static_assert(std::is_same_v<typename Q::space, space> && std::is_same_v<typename K::space, space> && std::is_same_v<typename V::space, space> &&
                    std::is_same_v<typename Out::space, space>,
                "attention: the views lie in another memory than the executor's: host_view goes with host, device_view with device");
  using T = typename Q::value_type;
  static_assert(attn::is_element<T> && std::is_same_v<T, typename K::value_type> && std::is_same_v<T, typename V::value_type>,
                "attention: q, k and v have one element type: f16, bf16 or float");
  static_assert(attn::is_element<typename Out::value_type> && !std::is_const_v<typename Out::element>,
                "attention: out has elements of f16, bf16 or float that are not const");
  static_assert(((attn::kind_of<Options> != attn::option::none) && ...),
                "attention: what follows the options are key_lengths(view), query_lengths(view) or log_sum_exp(view)");
  constexpr attn::given has{attn::times_given<attn::option::key_lengths, Options...>, attn::times_given<attn::option::query_lengths, Options...>,
                            attn::times_given<attn::option::log_sum_exp, Options...>};
  static_assert(has.key_lengths <= 1 && has.query_lengths <= 1 && has.lse <= 1, "attention: each option is given at most once");

  attn::arguments<T, typename Out::value_type, space> p{};
  p.q = q, p.k = k, p.v = v, p.out = out;
  (attn::attach(p, more), ...);
  p.mask = options.mask.value;
  const index_t dim = q.extents[3], dim_v = v.extents[3];
  p.scale = options.scale.value_or(dim > 0 ? 1.0f / std::sqrt(static_cast<float>(dim)) : 1.0f) * log2_e;
  KILN_TRY(attn::check(p, has));
  if (p.q.extents[0] == 0 || p.q.extents[1] == 0 || p.q.extents[2] == 0 || (dim_v == 0 && has.lse == 0)) return {};

  p.head_dim = static_cast<int>(dim), p.value_dim = static_cast<int>(dim_v);
  p.group = p.q.extents[2] / p.k.extents[2];
  p.q_vectors = attn::has_vector_lines(p.q), p.k_vectors = attn::has_vector_lines(p.k), p.v_vectors = attn::has_vector_lines(p.v);
  p.out_pairs = attn::has_pairs(p.out);
  if constexpr (is_attention_config_v<Config>) return attn::run_first(ex, p, attn::table<Config>{});
  else return attn::run_first(ex, p, attn::configurations<T, Executor::on_host>());
}

}  // namespace kiln
