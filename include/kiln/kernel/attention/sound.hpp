#pragma once
/// What the types of a call of attention have against them, told in one sentence before anything else is instantiated.
#include <cstdint>
#include <kiln/core/executor.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/kernel/attention/config.hpp>
#include <kiln/view/sound.hpp>
#include <type_traits>

namespace kiln::attn {

/// The options behind the first, as `attention` gets them.
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
/// Stands for an option whose view is wrong; the compiler has said how.
struct no_option {};

enum class option { none, wrong, key_lengths, query_lengths, log_sum_exp };
template <class O>
inline constexpr option kind_of = std::is_same_v<O, no_option> ? option::wrong : option::none;
template <class V>
inline constexpr option kind_of<key_lengths_of<V>> = option::key_lengths;
template <class V>
inline constexpr option kind_of<query_lengths_of<V>> = option::query_lengths;
template <class V>
inline constexpr option kind_of<log_sum_exp_of<V>> = option::log_sum_exp;
/// How often an option of this kind is given.
template <option Kind, class... Options>
inline constexpr int times_given = ((kind_of<Options> == Kind ? 1 : 0) + ... + 0);

using kiln::detail::elements_like;
using kiln::detail::elements_of;
using kiln::detail::fault;
using kiln::detail::reads;
using kiln::detail::writes;
using elements = elements_of<f16, bf16, float>;

template <class V>
inline constexpr bool is_lengths = kiln::detail::is_view_of<V, elements_of<std::int32_t>>(1, 1);
template <class V, class T, int Rank>
constexpr bool is_view_of() {
  if constexpr (is_tensor_v<V>) return std::is_same_v<typename V::element, T> && V::rank == Rank;
  return false;
}

enum class attention_mistake {
  none,
  reported,
  not_an_executor,
  config,
  memory,
  q,
  k,
  v,
  out,
  views,
  no_mask,
  not_an_option,
  twice
};

/// One assertion for each mistake, on a plain value, so that the message is short.
template <attention_mistake M>
struct sound_attention {
  using enum attention_mistake;
  static constexpr bool value = true;  // first, for clang leaves the class at a failed assertion
  static_assert(M != not_an_executor, "attention: the first argument is an executor: host, or device(stream)");
  static_assert(M != config, "attention<...>: takes an attention_config<...> or nothing");
  static_assert(M != memory,
                "attention: the views lie in another memory than the executor's: host_view goes with host, device_view "
                "with device");
  static_assert(M != q, "attention: q needs to be a view [batch, queries, heads, dim] of f16, bf16 or float");
  static_assert(M != k, "attention: k needs to be a view [batch, keys, kv_heads, dim] of q's type");
  static_assert(M != v, "attention: v needs to be a view [batch, keys, kv_heads, dim] of q's type");
  static_assert(M != out,
                "attention: out needs to be a view [batch, queries, heads, dim] of f16, bf16 or float, not const");
  static_assert(M != views,
                "attention: q, k, v and out are tensor views: host_view(...), device_view(...) or made from one");
  static_assert(M != no_mask,
                "attention: behind out comes the mask, which has no default: {.mask = causal::none}, "
                "causal::bottom_right or causal::top_left");
  static_assert(M != not_an_option,
                "attention: what follows the options are key_lengths(view), query_lengths(view) or log_sum_exp(view)");
  static_assert(M != twice, "attention: each option is given at most once");
};

template <class Space, class Option>
constexpr bool lies_in() {
  if constexpr (kind_of<Option> == option::none || kind_of<Option> == option::wrong)
    return true;
  else
    return std::is_same_v<typename decltype(Option::view)::space, Space>;
}

template <class Config, class Executor, class Q, class K, class V, class Out, class... Options>
constexpr attention_mistake mistake_of_types() {
  using enum attention_mistake;
  if constexpr (!executor<Executor>)
    return not_an_executor;
  else if constexpr (!is_attention_config_v<Config> && !std::is_same_v<Config, automatic>)
    return config;
  else {
    using space = typename Executor::space;
    constexpr auto found =
        kiln::detail::first_fault<space>(reads<Q, elements>(4), reads<K, elements_like<Q>>(4),
                                         reads<V, elements_like<Q>>(4), writes<Out, elements>(4));
    constexpr attention_mistake of_operand[] = {q, k, v, out};
    if constexpr (found.operand >= 0)
      return of_operand[found.operand];
    else if constexpr (found.what == fault::memory || !(lies_in<space, Options>() && ...))
      return memory;
    else if constexpr (((kind_of<Options> == option::none) || ...))
      return not_an_option;
    else if constexpr (((kind_of<Options> == option::wrong) || ...))
      return reported;
    else if constexpr (times_given<option::key_lengths, Options...> > 1 ||
                       times_given<option::query_lengths, Options...> > 1 ||
                       times_given<option::log_sum_exp, Options...> > 1)
      return twice;
    else
      return none;
  }
}

}  // namespace kiln::attn
