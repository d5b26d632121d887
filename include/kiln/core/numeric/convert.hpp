#pragma once
/// One conversion for every pair of element types, with the same result on both executors.
#include <cstdint>
#include <type_traits>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/bf16.hpp>
#include <kiln/core/numeric/f16.hpp>
#include <kiln/core/numeric/format.hpp>
#include <kiln/core/numeric/fp8.hpp>
#include <kiln/core/numeric/hardware.hpp>
#include <kiln/core/numeric/limits.hpp>
#include <kiln/core/numeric/traits.hpp>

namespace kiln {

/// What an 8-bit float does with a value that rounds above its largest finite one. `to_nan`: e4m3 gives NaN (from just
/// above 464), e5m2 its infinity (from 61440).
enum class overflow { saturate, to_nan };

/// The range of an int8 result: -128..127, or -127..127 for symmetric quantisation.
enum class int8_range { full, symmetric };

namespace detail {

/// Half to even, clamped, NaN to 0.
template <class To>
KILN_FN constexpr To round_and_clamp(double x) {
  constexpr std::uint64_t infinity = 0x7ff0000000000000u, implicit = std::uint64_t{1} << 52;
  constexpr std::uint64_t high = static_cast<std::uint64_t>((limits<To>::max)());
  const std::uint64_t all = bit_cast<std::uint64_t>(x);
  const std::uint64_t magnitude = all & ~(std::uint64_t{1} << 63);
  const bool negative = all != magnitude;
  if (magnitude > infinity) return 0;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  const std::uint64_t significand = (magnitude & (implicit - 1)) | implicit;
  std::uint64_t whole = 0;
  if (exponent >= 64)
    whole = ~std::uint64_t{0};
  else if (exponent >= 52)
    whole = significand << (exponent - 52);
  else if (exponent >= -1)
    whole = static_cast<std::uint64_t>(shift_right_to_even(significand, 52 - exponent));
  if (negative && (!limits<To>::is_signed || whole > high)) return limits<To>::lowest();
  if (negative) return static_cast<To>(-static_cast<std::int64_t>(whole));
  return whole > high ? (limits<To>::max)() : static_cast<To>(whole);
}

template <class T>
inline constexpr bool within_int32 = limits<T>::digits <= 31;

/// Clamped, whatever the signs of both types.
template <class To, class From>
KILN_FN constexpr To clamp_integer(From x) {
  constexpr To low = limits<To>::lowest(), high = (limits<To>::max)();
  if constexpr (within_int32<To> && within_int32<From>) {
    const std::int32_t value = x;
    return value < low ? low : value > high ? high : static_cast<To>(value);
  } else {
    if constexpr (std::is_signed_v<From>) {
      if (x < 0)
        return std::is_signed_v<To> && static_cast<std::int64_t>(x) >= static_cast<std::int64_t>(low)
                   ? static_cast<To>(x)
                   : low;
    }
    return static_cast<std::uint64_t>(x) > static_cast<std::uint64_t>(high) ? high : static_cast<To>(x);
  }
}

template <class To>
KILN_FN constexpr To round_to_integer(float x) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    if constexpr (std::is_same_v<To, std::int8_t>)
      return static_cast<To>(hardware::round_s8(x));
    else if constexpr (std::is_same_v<To, std::uint8_t>)
      return static_cast<To>(hardware::round_u8(x));
    else if constexpr (within_int32<To>)
      return clamp_integer<To>(hardware::round_s32(x));
  }
#endif
  return round_and_clamp<To>(x);
}
template <class To>
KILN_FN constexpr To round_to_integer(double x) {
  return round_and_clamp<To>(x);
}

KILN_FN constexpr float to_float(double x) {
  // A double beyond float's range is no constant expression to the language; the value is defined here.
  if (__builtin_is_constant_evaluated()) return bit_cast<float>(encode<f32_format, false>(x));
  return static_cast<float>(x);
}

/// float and double as they are, the narrow floats as float.
template <class From>
KILN_FN constexpr auto widest(From x) {
  if constexpr (std::is_same_v<From, double>)
    return x;
  else
    return static_cast<float>(x);
}

}  // namespace detail

/// Rounds once, to nearest, ties to even.
/// - To f16, bf16, float: may become infinity. To e4m3, e5m2: saturates, infinities too. NaN stays NaN.
/// - A floating type to an integer: clamped to the range, NaN gives 0.
/// - An integer to an integer: clamped, so a negative one gives 0 where To has no sign.
/// - A type to itself: unchanged, so e5m2 keeps an infinity that it holds.
template <class To, class From>
KILN_FN constexpr To convert(From x) {
  static_assert(is_convertible_number_v<To> && is_convertible_number_v<From>,
                "convert<To>(from): both need to be one of f16, bf16, e4m3, e5m2, float, double, or an integer of at "
                "most 64 bits");
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_integral_v<To>) {
    if constexpr (std::is_integral_v<From>)
      return detail::clamp_integer<To>(x);
    else
      return detail::round_to_integer<To>(detail::widest(x));
  } else if constexpr (std::is_same_v<To, double>) {
    if constexpr (std::is_integral_v<From>)
      return static_cast<double>(x);
    else
      return static_cast<double>(detail::widest(x));
  } else if constexpr (std::is_same_v<To, float>) {
    if constexpr (std::is_same_v<From, double>)
      return detail::to_float(x);
    else
      return static_cast<float>(x);
  } else if constexpr (std::is_integral_v<From>) {
    return To(x);
  } else {
    return To(detail::widest(x));
  }
}

/// To e4m3 or e5m2 with the overflow rule spelled out. `to_nan` is in integer arithmetic on every device.
template <class To, overflow Rule, class From>
KILN_FN constexpr To convert(From x) {
  static_assert(std::is_same_v<To, e4m3> || std::is_same_v<To, e5m2>,
                "convert<To, overflow>(from): To needs to be e4m3 or e5m2");
  if constexpr (Rule == overflow::saturate) {
    return convert<To>(x);
  } else {
    using format = std::conditional_t<std::is_same_v<To, e4m3>, detail::e4m3_format, detail::e5m2_format>;
    if constexpr (std::is_integral_v<From>)
      return To::from_bits(detail::encode<format, false>(detail::float_to_odd(x)));
    else
      return To::from_bits(detail::encode<format, false>(detail::widest(x)));
  }
}

/// To int8 with its range spelled out.
template <class To, int8_range Range, class From>
KILN_FN constexpr To convert(From x) {
  static_assert(std::is_same_v<To, std::int8_t>, "convert<To, int8_range>(from): To needs to be int8");
  const std::int8_t full = convert<std::int8_t>(x);
  return Range == int8_range::symmetric && full == -128 ? std::int8_t{-127} : full;
}

}  // namespace kiln
