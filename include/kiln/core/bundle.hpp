#pragma once
/// A tuple that the device can use: std::tuple's accessors are host functions without a special compiler flag.
///
/// It crosses from host to device as a kernel parameter, so its layout is spelled with plain members: two compilers
/// read it.
#include <type_traits>

#include <kiln/core/macros.hpp>

namespace kiln {

template <int Index>
using number = std::integral_constant<int, Index>;

template <class... T>
struct bundle {
  static constexpr int size = 0;
  template <int Base = 0, class F>
  KILN_FN constexpr void each(F&&) const {}
};

template <class First, class... Rest>
struct bundle<First, Rest...> {
  static constexpr int size = 1 + sizeof...(Rest);
  First first;
  bundle<Rest...> rest;

  /// Calls `f(element, number<Index>{})` for each element in order.
  KILN_HOST_CALLS template <int Base = 0, class F>
  KILN_FN constexpr void each(F&& f) const {
    f(first, number<Base>{});
    rest.template each<Base + 1>(f);
  }
};

template <class First, class... Rest>
KILN_FN constexpr bundle<First, Rest...> bundle_of(const First& first, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return {first, {}};
  else
    return {first, bundle_of(rest...)};
}

}  // namespace kiln
