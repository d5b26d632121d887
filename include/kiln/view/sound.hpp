#pragma once
/// What the types of a call's operands have against them, found before anything else is instantiated and told in one
/// sentence that names the call and the operand and says what it needs to be.
///
///     constexpr auto found = first_fault<Space>(reads<X, numbers>(1, 4), writes<Y, elements_of<std::int32_t>>(1));
///     static_assert(found.what != fault::memory, "argmax: a view lies in another memory than the executor's: ...");
///     static_assert(found.operand != 0, "argmax: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
///     static_assert(found.operand != 1, "argmax: out needs to be a vector (a view of rank 1) of int32, not const");
///     if constexpr (found.none()) ...
///
/// A call that no overload takes, for the executor or another argument is missing, finds one with an ellipsis, than
/// which every other is better, and which says what the call takes. A list in braces does not fit an ellipsis, so calls
/// with options have one more, without the executor. Sentences have no backticks: nvcc prints question marks for them.
#include <kiln/core/executor.hpp>
#include <kiln/view/tensor.hpp>
#include <type_traits>

namespace kiln::detail {

enum class fault { none, view, rank, elements, constant, memory };

/// The first operand with a fault, counted from 0; -1 without one, and where all that is wrong is the memory.
struct found_fault {
  fault what = fault::none;
  int operand = -1;

  constexpr bool none() const { return what == fault::none; }
};

/// A list of element types.
template <class... T>
struct elements_of {
  template <class U>
  static constexpr bool has = (std::is_same_v<U, T> || ...);
};

/// Any type of elements.
struct any_element {
  template <class>
  static constexpr bool has = true;
};

/// The type of another operand's elements; of what is no view, which is told first, any.
template <class View>
struct elements_like : any_element {};
template <class T, int R, class S, int U>
struct elements_like<tensor<T, R, S, U>> : elements_of<std::remove_const_t<T>> {};

/// What a call asks of one operand.
template <class View, class Elements, bool Written>
struct operand_rule {
  int least_rank, most_rank;
};
template <class View, class Elements>
constexpr operand_rule<View, Elements, false> reads(int least_rank, int most_rank) {
  return {least_rank, most_rank};
}
template <class View, class Elements>
constexpr operand_rule<View, Elements, false> reads(int rank) {
  return {rank, rank};
}
template <class View, class Elements>
constexpr operand_rule<View, Elements, true> writes(int least_rank, int most_rank) {
  return {least_rank, most_rank};
}
template <class View, class Elements>
constexpr operand_rule<View, Elements, true> writes(int rank) {
  return {rank, rank};
}

/// The axes of a view; 0 of what is none.
template <class View>
inline constexpr int rank_of = 0;
template <class T, int R, class S, int U>
inline constexpr int rank_of<tensor<T, R, S, U>> = R;

/// The memory of a view, or of what is made of views; of what is neither, which is told first, the host's.
template <class T>
struct space_of {
  using type = host_space;
};
template <class T>
  requires requires { typename T::space; }
struct space_of<T> {
  using type = typename T::space;
};

template <class Space, class View, class Elements, bool Written>
constexpr fault fault_of(operand_rule<View, Elements, Written> rule) {
  if constexpr (!is_tensor_v<View>)
    return fault::view;
  else if (View::rank < rule.least_rank || View::rank > rule.most_rank)
    return fault::rank;
  else if (!Elements::template has<typename View::value_type>)
    return fault::elements;
  else if (Written && std::is_const_v<typename View::element>)
    return fault::constant;
  else
    return std::is_same_v<typename View::space, Space> ? fault::none : fault::memory;
}

/// Whether an argument by itself is sound, wherever it lies.
template <class View, class Elements>
constexpr bool is_view_of(int least_rank, int most_rank) {
  const auto f = fault_of<host_space>(reads<View, Elements>(least_rank, most_rank));
  return f == fault::none || f == fault::memory;
}

/// `Space` is the memory that the call works on.
template <class Space, class... Rules>
constexpr found_fault first_fault(Rules... rules) {
  found_fault found;
  int n = 0;
  const auto look = [&](fault f) {
    if (found.none() && f != fault::none) found = {f, f == fault::memory ? -1 : n};
    ++n;
  };
  (look(fault_of<Space>(rules)), ...);
  return found;
}

template <class...>
inline constexpr bool never = false;

}  // namespace kiln::detail
