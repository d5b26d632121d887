#pragma once
/// The upper half of a float.
#include <concepts>
#include <cstdint>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/format.hpp>
#include <kiln/core/numeric/hardware.hpp>

namespace kiln {

namespace detail {

KILN_FN constexpr std::uint16_t bf16_from(float x) {
#if defined(__CUDA_ARCH__) && KILN_HARDWARE_BF16
  if (!__builtin_is_constant_evaluated()) return hardware::bf16_from(x);
#endif
  return encode<bf16_format, false>(x);
}

}  // namespace detail

/// Narrowing rounds once, to nearest, ties to even, and may round up to infinity. Any NaN becomes 7fff.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  KILN_FN explicit constexpr bf16(float x) : bits(detail::bf16_from(x)) {}
  KILN_FN explicit constexpr bf16(double x) : bits(detail::encode<detail::bf16_format, false>(x)) {}
  KILN_FN explicit constexpr bf16(std::integral auto x) : bits(detail::bf16_from(detail::float_to_odd(x))) {}

  KILN_FN static constexpr bf16 from_bits(std::uint16_t code) {
    bf16 r{};
    r.bits = code;
    return r;
  }

  KILN_FN constexpr operator float() const {  // NOLINT: exact
    return bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

static_assert(sizeof(bf16) == 2 && alignof(bf16) == 2);

}  // namespace kiln
