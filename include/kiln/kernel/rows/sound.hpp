#pragma once
/// What the types of a row kernel's operands have against them, told in one sentence before anything else is
/// instantiated.
#include <cstdint>
#include <kiln/core/numeric.hpp>
#include <kiln/view/tensor.hpp>
#include <type_traits>

namespace kiln::rows {

enum class row_mistake { none, memory, numbers, rank, constant, axes, codes, losses, targets };

/// One assertion for each mistake, on a plain value, so that the message is short.
template <row_mistake M>
struct sound_rows {
  static constexpr bool value = M == row_mistake::none;  // first, for clang leaves the class at a failed assertion
  static_assert(
      M != row_mistake::memory,
      "the executor works on views of its own memory: kiln::host takes host_view, kiln::device takes device_view");
  static_assert(M != row_mistake::numbers, "row kernels read and write float, f16 and bf16");
  static_assert(M != row_mistake::rank, "row kernels take views of rank 1 to 4");
  static_assert(M != row_mistake::constant, "an output needs a view of elements that are not const");
  static_assert(M != row_mistake::axes, "the operands need the same number of axes");
  static_assert(M != row_mistake::codes, "argmax and sample_rows write int32");
  static_assert(M != row_mistake::losses, "cross_entropy writes float");
  static_assert(M != row_mistake::targets, "cross_entropy takes targets of int32 or int64");
};

template <class View>
inline constexpr bool of_row_numbers =
    std::is_same_v<typename View::value_type, float> || std::is_same_v<typename View::value_type, f16> ||
    std::is_same_v<typename View::value_type, bf16>;

/// Of a call that gives a number for each number of `X`; `Others` are read beside it.
template <class Space, class X, class Out, class... Others>
constexpr row_mistake mistake_of_rows() {
  using enum row_mistake;
  if (!std::is_same_v<typename X::space, Space> || !std::is_same_v<typename Out::space, Space> ||
      !(std::is_same_v<typename Others::space, Space> && ...))
    return memory;
  if (!of_row_numbers<X> || !of_row_numbers<Out>) return numbers;
  if (X::rank > 4) return rank;
  if (std::is_const_v<typename Out::element>) return constant;
  return X::rank == Out::rank && ((X::rank == Others::rank) && ...) ? none : axes;
}

/// Of a call that gives one T for each row of `X`; it is `wrong` to give it another.
template <class Space, class X, class Out, class T>
constexpr row_mistake mistake_of_results(row_mistake wrong) {
  using enum row_mistake;
  if (!std::is_same_v<typename X::space, Space> || !std::is_same_v<typename Out::space, Space>) return memory;
  if (!of_row_numbers<X>) return numbers;
  if (X::rank > 4) return rank;
  if (std::is_const_v<typename Out::element>) return constant;
  return std::is_same_v<typename Out::value_type, T> ? none : wrong;
}

/// Of a call that takes one target for each row of `X`, and gives the numbers of `Outs` for it.
template <class Space, class X, class Targets, class... Outs>
constexpr row_mistake mistake_of_losses() {
  using enum row_mistake;
  using id = typename Targets::value_type;
  row_mistake found = std::is_same_v<typename Targets::space, Space> ? none : memory;
  ((found = found == none ? mistake_of_results<Space, X, Outs, float>(losses) : found), ...);
  if (found != none) return found;
  return std::is_same_v<id, std::int32_t> || std::is_same_v<id, std::int64_t> ? none : targets;
}

}  // namespace kiln::rows
