#pragma once
/// Reading one type's bits as another's, on both executors and in constant expressions.
#include <type_traits>

#include <kiln/core/macros.hpp>

namespace kiln {

/// As std::bit_cast, which device code cannot call without a special compiler flag.
template <class To, class From>
KILN_FN constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast: both types need the same size");
  static_assert(std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>,
                "bit_cast: both types need to be trivially copyable");
  return __builtin_bit_cast(To, from);
}

}  // namespace kiln
