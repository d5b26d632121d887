#pragma once
/// The two 8-bit floats. e4m3 is the "fn" variant: no infinities, NaN is 7f and ff, and the largest finite value is
/// 448.
#include <concepts>
#include <cstdint>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/f16.hpp>
#include <kiln/core/numeric/format.hpp>
#include <kiln/core/numeric/hardware.hpp>

namespace kiln {

namespace detail {

KILN_FN constexpr std::uint8_t e4m3_from(float x) {
#if defined(__CUDA_ARCH__) && KILN_HARDWARE_FP8
  if (!__builtin_is_constant_evaluated()) return static_cast<std::uint8_t>(hardware::e4m3x2_from(x, 0.0f));
#endif
  return encode<e4m3_format, true>(x);
}
KILN_FN constexpr std::uint8_t e5m2_from(float x) {
#if defined(__CUDA_ARCH__) && KILN_HARDWARE_FP8
  if (!__builtin_is_constant_evaluated()) return static_cast<std::uint8_t>(hardware::e5m2x2_from(x, 0.0f));
#endif
  return encode<e5m2_format, true>(x);
}

KILN_FN constexpr float e4m3_widen(std::uint8_t code) {
#if defined(__CUDA_ARCH__) && KILN_HARDWARE_FP8
  if (!__builtin_is_constant_evaluated()) {
    return f16_widen(static_cast<std::uint16_t>(hardware::e4m3x2_to_f16x2(code)));
  }
#endif
  const std::uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7fu) return bit_cast<float>(0x7fffffffu);
  // Under f16's exponent bias, 15 for 7, the same fields mean 2^-8 times the value, subnormals included.
  return f16_widen(static_cast<std::uint16_t>((code & 0x80u) << 8 | magnitude << 7)) * 256.0f;
}
KILN_FN constexpr float e5m2_widen(std::uint8_t code) { return f16_widen(static_cast<std::uint16_t>(code << 8)); }

}  // namespace detail

/// Narrowing rounds once, to nearest, ties to even, and saturates: what would exceed 448 becomes 448, infinities too.
/// NaN stays NaN. `convert<e4m3, overflow::to_nan>` does not saturate.
struct e4m3 {
  std::uint8_t bits;

  e4m3() = default;
  KILN_FN explicit constexpr e4m3(float x) : bits(detail::e4m3_from(x)) {}
  KILN_FN explicit constexpr e4m3(double x) : bits(detail::encode<detail::e4m3_format, true>(x)) {}
  KILN_FN explicit constexpr e4m3(std::integral auto x) : bits(detail::e4m3_from(detail::float_to_odd(x))) {}

  KILN_FN static constexpr e4m3 from_bits(std::uint8_t code) {
    e4m3 r{};
    r.bits = code;
    return r;
  }

  KILN_FN constexpr operator float() const { return detail::e4m3_widen(bits); }  // NOLINT: exact
};

/// Narrowing rounds once, to nearest, ties to even, and saturates: what would exceed 57344 becomes 57344, infinities
/// too. NaN stays NaN. `convert<e5m2, overflow::to_nan>` does not saturate.
struct e5m2 {
  std::uint8_t bits;

  e5m2() = default;
  KILN_FN explicit constexpr e5m2(float x) : bits(detail::e5m2_from(x)) {}
  KILN_FN explicit constexpr e5m2(double x) : bits(detail::encode<detail::e5m2_format, true>(x)) {}
  KILN_FN explicit constexpr e5m2(std::integral auto x) : bits(detail::e5m2_from(detail::float_to_odd(x))) {}

  KILN_FN static constexpr e5m2 from_bits(std::uint8_t code) {
    e5m2 r{};
    r.bits = code;
    return r;
  }

  KILN_FN constexpr operator float() const { return detail::e5m2_widen(bits); }  // NOLINT: exact
};

static_assert(sizeof(e4m3) == 1 && alignof(e4m3) == 1 && sizeof(e5m2) == 1 && alignof(e5m2) == 1);

}  // namespace kiln
