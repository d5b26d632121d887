#pragma once
/// Scaled dot-product attention, softmax(scale * Q K^T) V, in one kernel that never stores the scores.
///
///     status s = attention(device(stream), q, k, v, out, {.mask = causal::bottom_right}, key_lengths(lengths),
///                          log_sum_exp(lse));
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
/// Strides are free. A view whose dim axis is contiguous, and whose address and other strides are multiples of 16
/// bytes, is read in vectors; others element by element, slower. `dim` and `dim_v` are 0 to 256. Head h reads key/value
/// head h / (heads / kv_heads). `k` and `v` may be a cache: `keys` is its capacity, and what lies behind a length is
/// never used. A key that a query does not see does not reach its result, not even as NaN.
///
/// Accumulation and statistics are float32; for f16 and bf16 on the device the weights (at most 1) are rounded to the
/// element type before they meet V. `out` is rounded once. A query that sees no key gives 0 and log-sum-exp -inf. The
/// bits of a sequence's result depend neither on the batch around it nor on how its queries are split over calls.
#include <cmath>
#include <optional>

#include <kiln/core/trace.hpp>
#include <kiln/kernel/attention/check.hpp>
#include <kiln/kernel/attention/run.hpp>
#include <kiln/kernel/attention/sound.hpp>

namespace kiln {

struct attention_options {
  std::optional<float> scale{};  ///< of the scores; without one 1 / sqrt(dim)
  one_of<causal> mask;           ///< causal::none, causal::bottom_right or causal::top_left: there is no default
};

/// Option of `attention`: how many keys of each sequence are valid, int32 [batch], 0 to `keys`. The host executor
/// refuses others; the device, whose memory the call cannot read, takes them as the nearest of the two.
template <class V>
constexpr auto key_lengths(const V& v) {
  static_assert(attn::is_lengths<V>, "key_lengths takes a view of int32 of rank 1: [batch]");
  if constexpr (attn::is_lengths<V>) return attn::key_lengths_of<V>{v};
  else return attn::no_option{};
}
/// Option of `attention`: how many queries of each sequence there are, int32 [batch], 0 to `queries`; rows of `out` and
/// of the log-sum-exp behind them are left as they are. Causal masks count from the lengths. Out of range: as for
/// `key_lengths`.
template <class V>
constexpr auto query_lengths(const V& v) {
  static_assert(attn::is_lengths<V>, "query_lengths takes a view of int32 of rank 1: [batch]");
  if constexpr (attn::is_lengths<V>) return attn::query_lengths_of<V>{v};
  else return attn::no_option{};
}
/// Option of `attention`: where the natural log-sum-exp of the scaled scores goes, float [batch, queries, heads].
template <class V>
constexpr auto log_sum_exp(const V& v) {
  constexpr bool good = attn::is_view_of<V, float, 3>();
  static_assert(good, "log_sum_exp takes a view of float, not const, of rank 3: [batch, queries, heads]");
  if constexpr (good) return attn::log_sum_exp_of<V>{v};
  else return attn::no_option{};
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
  const int which = (p.mask == causal::none ? 0 : 4) +
                    (p.key_lengths.data != nullptr || p.query_lengths.data != nullptr ? 2 : 0) +
                    (p.lse.data != nullptr ? 1 : 0);
  const auto bytes = [](const auto& view) {
    return static_cast<double>(view.size()) * static_cast<double>(sizeof(*view.data));
  };
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
    return fail(errc::unsupported, "attention: this configuration takes a head_dim of at most ", First::dim,
                ", `q` and `v` have ", p.head_dim, " and ", p.value_dim);
  } else {
    using chosen = kernel<Arguments, First>;
    p.row_tiles = ceil_div<index_t>(p.q.extents[1] * p.group, First::rows);
    trace::scope watch(
        ex, trace::on() ? record_of(p, First::is_sm80 ? "multistage, sm80" : "serial, simt") : trace::launch_record{});
    return watch.done(run<chosen>(ex, p, p.row_tiles * p.k.extents[2] * p.q.extents[0]));
  }
}

template <class Config, class Executor, class Q, class K, class V, class Out, class... Options>
status check_and_run(const Executor& ex, const Q& q, const K& k, const V& v, const Out& out,
                     const attention_options& options, const Options&... more) {
  arguments<typename Q::value_type, typename Out::value_type, typename Executor::space> p{};
  p.q = q, p.k = k, p.v = v, p.out = out;
  (attach(p, more), ...);
  p.mask = options.mask;
  const index_t dim = q.extents[3], dim_v = v.extents[3];
  const given has{times_given<option::key_lengths, Options...>, times_given<option::query_lengths, Options...>,
                  times_given<option::log_sum_exp, Options...>,
                  options.scale.value_or(dim > 0 ? 1.0f / std::sqrt(static_cast<float>(dim)) : 1.0f)};
  p.scale = has.scale * log2_e;
  KILN_TRY(check(p, has));
  if (p.q.extents[0] == 0 || p.q.extents[1] == 0 || p.q.extents[2] == 0 || (dim_v == 0 && has.lse == 0)) return {};

  const auto settle = [](auto& view) {  // without elements: nothing may be added to null
    for (index_t& stride : view.strides)
      if (view.data == nullptr) stride = 0;
  };
  settle(p.q), settle(p.k), settle(p.v), settle(p.out);
  // A null row counts as none; those of values of no width are there, for their log-sum-exp.
  if (p.out.data == nullptr) p.out.data = reinterpret_cast<typename Out::value_type*>(p.lse.data);
  p.head_dim = static_cast<int>(dim), p.value_dim = static_cast<int>(dim_v);
  p.group = p.q.extents[2] / p.k.extents[2];
  p.q_vectors = has_vector_lines(p.q), p.k_vectors = has_vector_lines(p.k), p.v_vectors = has_vector_lines(p.v);
  p.out_pairs = has_pairs(p.out);
  if constexpr (is_attention_config_v<Config>) return run_first(ex, p, table<Config>{});
  else return run_first(ex, p, configurations<typename Q::value_type, Executor::on_host>());
}

}  // namespace attn

/// out = softmax(scale * q k^T) v for each sequence and head; see the top of this file. The options behind the first
/// are `key_lengths`, `query_lengths` and `log_sum_exp`, each at most once, in any order. `Config` pins an
/// `attention_config`.
///
/// No elements in `out`: success, nothing written. No keys: zeros, and log-sum-exp -inf.
/// Errors: bad_shape, null_pointer, bad_alignment (of an element), bad_stride (`out` or the log-sum-exp visits an
/// address twice), overlap (`out` with k, v or a part of q), bad_option (scale, mask, lengths on the host), unsupported
/// (head_dim; a GPU for which no code was built), protocol (a checked host run), cuda_error. Each is returned before
/// anything is launched.
template <class Config = automatic, class Executor, class Q, class K, class V, class Out, class... Options>
  requires(executor<Executor> || is_tensor_v<Executor> || is_tensor_v<Q>)  // without an executor it says so
status attention(const Executor& ex, const Q& q, const K& k, const V& v, const Out& out,
                 const attention_options& options, const Options&... more) {
  constexpr attn::attention_mistake mistake = attn::mistake_of_types<Config, Executor, Q, K, V, Out, Options...>();
  static_assert(attn::sound_attention<mistake>::value);
  if constexpr (mistake == attn::attention_mistake::none)
    return attn::check_and_run<Config>(ex, q, k, v, out, options, more...);
  else return {};
}

namespace attn {
/// What options in braces are without a mask.
struct options_without_mask {
  std::optional<float> scale{};
};
}  // namespace attn

/// A call without a mask says what is missing.
template <class Config = automatic, executor Executor, class Q, class K, class V, class Out>
status attention(const Executor&, const Q&, const K&, const V&, const Out&, attn::options_without_mask = {}) {
  using enum attn::attention_mistake;
  static_assert(attn::sound_attention<(is_tensor_v<Out> ? no_mask : views)>::value);
  return {};
}
/// Without an executor, or without the options.
template <class Q, class K, class V, class Out>
status attention(const Q&, const K&, const V&, const Out&, const attention_options&) {
  static_assert(attn::sound_attention<executor<Q> ? attn::attention_mistake::out
                                                  : attn::attention_mistake::not_an_executor>::value);
  return {};
}
template <class Any = void>
status attention(...) {
  static_assert(detail::never<Any>,
                "attention takes (executor, q, k, v, out, {.mask = causal::none}, options...); the executor is host or "
                "device(stream), the options are key_lengths(view), query_lengths(view) and log_sum_exp(view)");
  return {};
}

}  // namespace kiln
