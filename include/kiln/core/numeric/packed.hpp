#pragma once
/// Two floats to two neighbouring narrow ones and back, one instruction where the device has it. The element with the
/// lower address is `lo`.
#include <cstdint>
#include <type_traits>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/bf16.hpp>
#include <kiln/core/numeric/f16.hpp>
#include <kiln/core/numeric/fp8.hpp>
#include <kiln/core/numeric/hardware.hpp>

namespace kiln {

/// Two f16 or bf16 make a uint32, two e4m3 or e5m2 a uint16.
template <class T>
using packed2_t = std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint16_t>;

struct two_floats {
  float lo, hi;
};

/// Rounds and saturates as T's constructor does.
template <class T>
KILN_FN constexpr packed2_t<T> pack2(float lo, float hi) {
  static_assert(std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>,
                "pack2<T>: T needs to be f16, bf16, e4m3 or e5m2");
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
#if KILN_HARDWARE_BF16
    if constexpr (std::is_same_v<T, f16>) return hardware::f16x2_from(lo, hi);
    if constexpr (std::is_same_v<T, bf16>) return hardware::bf16x2_from(lo, hi);
#endif
#if KILN_HARDWARE_FP8
    if constexpr (std::is_same_v<T, e4m3>) return hardware::e4m3x2_from(lo, hi);
    if constexpr (std::is_same_v<T, e5m2>) return hardware::e5m2x2_from(lo, hi);
#endif
  }
#endif
  constexpr int width = static_cast<int>(sizeof(T)) * 8;
  return static_cast<packed2_t<T>>(T(lo).bits | static_cast<std::uint32_t>(T(hi).bits) << width);
}

/// Exact.
template <class T>
KILN_FN constexpr two_floats unpack2(packed2_t<T> both) {
  static_assert(std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>,
                "unpack2<T>: T needs to be f16, bf16, e4m3 or e5m2");
  if constexpr (std::is_same_v<T, bf16>) {
    return {bit_cast<float>(both << 16), bit_cast<float>(both & 0xffff0000u)};
  } else {
#if defined(__CUDA_ARCH__) && KILN_HARDWARE_FP8
    if (!__builtin_is_constant_evaluated()) {
      if constexpr (std::is_same_v<T, e4m3>) return unpack2<f16>(hardware::e4m3x2_to_f16x2(both));
      if constexpr (std::is_same_v<T, e5m2>) return unpack2<f16>(hardware::e5m2x2_to_f16x2(both));
    }
#endif
    using code = decltype(T::bits);
    constexpr int width = static_cast<int>(sizeof(T)) * 8;
    return {T::from_bits(static_cast<code>(both)), T::from_bits(static_cast<code>(both >> width))};
  }
}

namespace detail {
/// The products of two pairs of f16.
KILN_FN std::uint32_t times_f16x2(std::uint32_t x, std::uint32_t y) {
#if defined(__CUDA_ARCH__)
  std::uint32_t r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
#else
  const two_floats a = unpack2<f16>(x), b = unpack2<f16>(y);
  return pack2<f16>(a.lo * b.lo, a.hi * b.hi);
#endif
}
/// Without the instruction for it: exponent and mantissa in their places, 2^8 for what the biases of the two differ by
/// (so that subnormals become normal), and e4m3's only NaN, which is no f16's, made one.
KILN_FN std::uint32_t f16x2_of_e4m3x2(std::uint16_t both) {
  const std::uint32_t apart = (both & 0xffu) | (both & 0xff00u) << 8, magnitude = apart & 0x007f007fu;
  const std::uint32_t nan = ((magnitude + 0x00010001u) & 0x00800080u) >> 7;
  return times_f16x2(magnitude << 7, 0x5c005c00u) | (apart & 0x00800080u) << 8 | nan * 0x7e00u;
}
}  // namespace detail

/// Two e4m3 or e5m2 as two f16. Exact: each of their values is one of f16's.
template <class T>
KILN_FN std::uint32_t widen2(packed2_t<T> both) {
  static_assert(std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>, "widen2<T>: T needs to be e4m3 or e5m2");
#if defined(__CUDA_ARCH__) && KILN_HARDWARE_FP8
  if constexpr (std::is_same_v<T, e4m3>) return hardware::e4m3x2_to_f16x2(both);
#endif
  if constexpr (std::is_same_v<T, e4m3>) return detail::f16x2_of_e4m3x2(both);
  else return (both & 0xffu) << 8 | (both & 0xff00u) << 16;  // f16 with a shorter mantissa
}

}  // namespace kiln
