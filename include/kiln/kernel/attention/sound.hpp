#pragma once
/// What the types of a call of attention have against them, told in one sentence before anything else is instantiated.
#include <cstdint>
#include <kiln/core/executor.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/kernel/attention/config.hpp>
#include <kiln/view/tensor.hpp>
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

template <class V, class T, int Rank>
constexpr bool is_view_of() {
  if constexpr (is_tensor_v<V>) return std::is_same_v<typename V::element, T> && V::rank == Rank;
  return false;
}
template <class V>
inline constexpr bool is_lengths = is_view_of<V, std::int32_t, 1>() || is_view_of<V, const std::int32_t, 1>();

template <class T>
inline constexpr bool is_element = std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, float>;

enum class attention_mistake {
  none,
  reported,
  not_an_executor,
  config,
  views,
  rank,
  memory,
  elements,
  result,
  constant,
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
  static_assert(M != views,
                "attention: q, k, v and out are tensor views: host_view(...), device_view(...) or made from one");
  static_assert(M != rank, "attention: q, k, v and out have rank 4: [batch, length, heads, head_dim]");
  static_assert(M != memory,
                "attention: the views lie in another memory than the executor's: host_view goes with host, device_view "
                "with device");
  static_assert(M != elements, "attention: q, k and v have one element type: f16, bf16 or float");
  static_assert(M != result, "attention: out has elements of f16, bf16 or float");
  static_assert(M != constant, "attention: out is written to and needs elements that are not const");
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
  else if constexpr (!(is_tensor_v<Q> && is_tensor_v<K> && is_tensor_v<V> && is_tensor_v<Out>))
    return views;
  else if constexpr (Q::rank != 4 || K::rank != 4 || V::rank != 4 || Out::rank != 4)
    return rank;
  else {
    using T = typename Q::value_type;
    using Space = typename Executor::space;
    constexpr bool one_type = std::is_same_v<T, typename K::value_type> && std::is_same_v<T, typename V::value_type>;
    constexpr bool here = std::is_same_v<typename Q::space, Space> && std::is_same_v<typename K::space, Space> &&
                          std::is_same_v<typename V::space, Space> && std::is_same_v<typename Out::space, Space> &&
                          (lies_in<Space, Options>() && ...);
    if constexpr (!here)
      return memory;
    else if constexpr (!is_element<T> || !one_type)
      return elements;
    else if constexpr (!is_element<typename Out::value_type>)
      return result;
    else if constexpr (std::is_const_v<typename Out::element>)
      return constant;
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
