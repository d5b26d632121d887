#pragma once
/// IEEE 754 binary16.
#include <concepts>
#include <cstdint>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/format.hpp>
#include <kiln/core/numeric/hardware.hpp>

namespace kiln {

namespace detail {

KILN_FN constexpr std::uint16_t f16_from(float x) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) return hardware::f16_from(x);
#endif
  return encode<f16_format, false>(x);
}

KILN_FN constexpr float f16_widen(std::uint16_t code) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) return hardware::f16_widen(code);
#endif
  const std::uint32_t sign = (code & 0x8000u) << 16, magnitude = code & 0x7fffu;
  // As the device: one NaN, whatever the sign and payload were.
  if (magnitude > 0x7c00u) return bit_cast<float>(0x7fffffffu);
  if (magnitude == 0x7c00u) return bit_cast<float>(sign | 0x7f800000u);
  if (magnitude < 0x0400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
}

}  // namespace detail

/// Narrowing rounds once, to nearest, ties to even; magnitudes of 65520 and up become infinity. Any NaN becomes 7fff.
struct f16 {
  std::uint16_t bits;

  f16() = default;
  KILN_FN explicit constexpr f16(float x) : bits(detail::f16_from(x)) {}
  KILN_FN explicit constexpr f16(double x) : bits(detail::encode<detail::f16_format, false>(x)) {}
  KILN_FN explicit constexpr f16(std::integral auto x) : bits(detail::f16_from(detail::float_to_odd(x))) {}

  KILN_FN static constexpr f16 from_bits(std::uint16_t code) {
    f16 r{};
    r.bits = code;
    return r;
  }

  KILN_FN constexpr operator float() const { return detail::f16_widen(bits); }  // NOLINT: exact
};

static_assert(sizeof(f16) == 2 && alignof(f16) == 2);

}  // namespace kiln
