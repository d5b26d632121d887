#pragma once
/// The device's conversion instructions (PTX ISA, section "cvt"), as functions on bits. Device passes only.
/// The statements are not volatile: the compiler may move, merge and drop them.
#include <cstdint>

#include <kiln/core/macros.hpp>

#if defined(__CUDA_ARCH__)

#define KILN_HARDWARE_BF16 (__CUDA_ARCH__ >= 800)
#define KILN_HARDWARE_FP8 (__CUDA_ARCH__ >= 890)

namespace kiln::hardware {

KILN_DEVICE std::uint16_t f16_from(float x) {
  std::uint16_t r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
KILN_DEVICE float f16_widen(std::uint16_t x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}

#if KILN_HARDWARE_BF16
KILN_DEVICE std::uint16_t bf16_from(float x) {
  std::uint16_t r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
// The first source operand lands in the upper half.
KILN_DEVICE std::uint32_t f16x2_from(float lo, float hi) {
  std::uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
KILN_DEVICE std::uint32_t bf16x2_from(float lo, float hi) {
  std::uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
#endif

#if KILN_HARDWARE_FP8
KILN_DEVICE std::uint16_t e4m3x2_from(float lo, float hi) {
  std::uint16_t r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(hi), "f"(lo));
  return r;
}
KILN_DEVICE std::uint16_t e5m2x2_from(float lo, float hi) {
  std::uint16_t r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(hi), "f"(lo));
  return r;
}
// Exact: every e4m3 and e5m2 value is an f16 value.
KILN_DEVICE std::uint32_t e4m3x2_to_f16x2(std::uint16_t x) {
  std::uint32_t r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(x));
  return r;
}
KILN_DEVICE std::uint32_t e5m2x2_to_f16x2(std::uint16_t x) {
  std::uint32_t r;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(x));
  return r;
}
#endif

// Float to integer: half to even, clamped to the destination's range, NaN to 0.
KILN_DEVICE std::int32_t round_s32(float x) {
  std::int32_t r;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
KILN_DEVICE std::int32_t round_s8(float x) {
  std::int32_t r;
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
KILN_DEVICE std::int32_t round_u8(float x) {
  std::int32_t r;
  asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

}  // namespace kiln::hardware

#endif  // __CUDA_ARCH__
