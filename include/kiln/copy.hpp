#pragma once
/// Copies between views of one shape, and fills. Values convert to the result's type; any strides; what lies between
/// the elements of a strided view stays as it was.
#include <kiln/kernel/elementwise/regroup.hpp>
#include <kiln/kernel/elementwise/transpose.hpp>
#include <kiln/transform.hpp>
#include <type_traits>

namespace kiln {

namespace elementwise {
struct identity {
  template <class T>
  KILN_FN constexpr T operator()(T x) const {
    return x;
  }
};
template <class T>
struct constant {
  T value;
  KILN_FN constexpr T operator()() const { return value; }
};
}  // namespace elementwise

/// to(i...) = from(i...). Rounded and saturated as `convert` does where the types differ, bit for bit where they do
/// not.
template <executor Executor, class From, class To>
requires(is_tensor_v<From>&& is_tensor_v<To>) status copy(const Executor& ex, const From& from, const To& to) {
  if constexpr (From::rank == To::rank && elementwise::in_memory_of<Executor, From, To> &&
                !std::is_const_v<typename To::element>) {
    bool done = false;
    status s = elementwise::copy_transposed(ex, from, to, done);
    if (done) return s;
  }
  return elementwise::transform_tensors(ex, "copy", elementwise::identity{}, to, from);
}

/// Records: from SoA to AoS, back, or between two of a kind. Both views need the same fields, in any order; values
/// convert.
template <executor Executor, record_view From, record_view To>
status copy(const Executor& ex, const From& from, const To& to) {
  return elementwise::copy_records(ex, from, to);
}

/// to(i...) = value.
template <executor Executor, class To, class T>
requires is_tensor_v<To> status fill(const Executor& ex, const To& to, const T& value) {
  static_assert(
      std::is_convertible_v<T, typename To::value_type> || (is_numeric_v<T> && is_numeric_v<typename To::value_type>),
      "fill: the value does not convert to the view's element type");
  using stored = typename To::value_type;
  return elementwise::transform_tensors(ex, "fill", elementwise::constant<stored>{detail::stored_as<stored>(value)},
                                        to);
}

}  // namespace kiln
