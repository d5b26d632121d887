#pragma once
/// Ranges of element types. std::numeric_limits is 0 throughout for CUDA's types, and its functions are not callable on
/// the device, so Kiln has its own.
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/bf16.hpp>
#include <kiln/core/numeric/f16.hpp>
#include <kiln/core/numeric/fp8.hpp>

namespace kiln {

namespace detail {

template <class T>
KILN_FN constexpr T of_code(std::uint64_t code) {
  if constexpr (std::is_same_v<T, double>)
    return bit_cast<double>(code);
  else if constexpr (std::is_same_v<T, float>)
    return bit_cast<float>(static_cast<std::uint32_t>(code));
  else
    return T::from_bits(static_cast<decltype(T::bits)>(code));
}

/// The four numbers after the fraction's width are codes; an infinity of 0 means that there is none.
template <class T, int Fraction, std::uint64_t Infinity, std::uint64_t Largest, std::uint64_t Nan,
          std::uint64_t Epsilon>
struct floating_limits {
  static constexpr bool is_integer = false, is_signed = true;
  static constexpr bool has_infinity = Infinity != 0, has_quiet_nan = true;
  static constexpr int digits = Fraction + 1;  ///< of the significand, the implicit bit counted

  KILN_FN static constexpr T(max)() { return of_code<T>(Largest); }
  KILN_FN static constexpr T lowest() { return of_code<T>(Largest | std::uint64_t{1} << (8 * sizeof(T) - 1)); }
  /// Smallest normal and smallest nonzero magnitude.
  KILN_FN static constexpr T smallest_normal() { return of_code<T>(std::uint64_t{1} << Fraction); }
  KILN_FN static constexpr T smallest() { return of_code<T>(1); }
  /// The step from 1 to the next value.
  KILN_FN static constexpr T epsilon() { return of_code<T>(Epsilon); }
  KILN_FN static constexpr T quiet_nan() { return of_code<T>(Nan); }
  KILN_FN static constexpr T infinity() requires has_infinity { return of_code<T>(Infinity); }
};

}  // namespace detail

/// For every floating element type and every integer type; usable on both executors and in constant expressions.
/// `infinity()` exists only where the type has one (not for e4m3), so a reduction's identity needs `has_infinity`.
/// Write `(limits<T>::max)()`, as for the standard's, where a macro `max` may be about.
template <class T>
struct limits;

template <>
struct limits<f16> : detail::floating_limits<f16, 10, 0x7c00, 0x7bff, 0x7fff, 0x1400> {};
template <>
struct limits<bf16> : detail::floating_limits<bf16, 7, 0x7f80, 0x7f7f, 0x7fff, 0x3c00> {};
template <>
struct limits<e4m3> : detail::floating_limits<e4m3, 3, 0, 0x7e, 0x7f, 0x20> {};
template <>
struct limits<e5m2> : detail::floating_limits<e5m2, 2, 0x7c, 0x7b, 0x7f, 0x34> {};
template <>
struct limits<float> : detail::floating_limits<float, 23, 0x7f800000, 0x7f7fffff, 0x7fffffff, 0x34000000> {};
template <>
struct limits<double> : detail::floating_limits<double, 52, 0x7ff0000000000000, 0x7fefffffffffffff, 0x7fffffffffffffff,
                                                0x3cb0000000000000> {};

template <std::integral T>
struct limits<T> {
  static constexpr bool is_integer = true, is_signed = std::is_signed_v<T>;
  static constexpr bool has_infinity = false, has_quiet_nan = false;
  static constexpr int digits = static_cast<int>(sizeof(T)) * 8 - (is_signed ? 1 : 0);

  KILN_FN static constexpr T(max)() { return static_cast<T>(~std::uint64_t{0} >> (64 - digits)); }
  KILN_FN static constexpr T lowest() { return is_signed ? static_cast<T>(-(max)() - 1) : T{0}; }
};

}  // namespace kiln
