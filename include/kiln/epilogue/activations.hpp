#pragma once
/// Activation functions of one float, for epilogues, row kernels and functors of one's own.
///
/// Both executors run the same formula without a branch; on the device 2^x and 1/x are the approximate instructions
/// (PTX ISA: ex2.approx.ftz, relative error 2^-22.5; rcp.approx.ftz, 1 ulp). NaN gives NaN.
///
/// | function   | instructions (sm_90) | of these ex2, rcp | relative error at most    |
/// |------------|----------------------|-------------------|---------------------------|
/// | relu       | 1                    | 0                 | exact                     |
/// | sigmoid    | 4                    | 2                 | 6e-7 + 8e-8 abs(x)        |
/// | silu       | 6                    | 2                 | 6e-7 + 8e-8 abs(x)        |
/// | gelu_tanh  | 8                    | 2                 | 6e-7 + 2.2e-7 abs(2u)     |
/// | gelu (erf) | 12                   | 1                 | 6e-6 + 1e-7 x^2           |
/// | tanh       | 13                   | 2                 | 7e-7                      |
///
/// The second term is the rounding of the exponential's argument, of the size of what rounding x itself does to the
/// result: at x = -6 gelu is right to 1e-5, gelu_tanh to 6e-6. Results below 1e-36 may become 0; those of gelu below
/// 1e-9, beyond x = -6, are right to 1e-14 more.
#include <cmath>
#include <cstdint>

#include <kiln/core/macros.hpp>

namespace kiln::activation {

inline constexpr float log2_e = 1.4426950408889634f;

/// 2^x; results below 2^-126 are 0 on the device.
KILN_FN float exp2(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return std::exp2(x);
#endif
}

/// 1/x; results below 2^-126 are 0 on the device.
KILN_FN float reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1.0f / x;
#endif
}

/// The smaller and the larger of two; NaN if one is NaN; +0 is larger than -0.
KILN_FN float smaller(float x, float y) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
#else
  if (x != x || y != y) return x + y;
  if (x == y) return std::signbit(x) ? x : y;
  return y < x ? y : x;
#endif
}
KILN_FN float larger(float x, float y) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
#else
  if (x != x || y != y) return x + y;
  if (x == y) return std::signbit(x) ? y : x;
  return x < y ? y : x;
#endif
}
KILN_FN constexpr std::int32_t smaller(std::int32_t x, std::int32_t y) { return y < x ? y : x; }
KILN_FN constexpr std::int32_t larger(std::int32_t x, std::int32_t y) { return x < y ? y : x; }

/// |x|.
KILN_FN float magnitude(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("abs.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return std::fabs(x);
#endif
}

/// max(x, 0).
KILN_FN float relu(float x) { return larger(x, 0.0f); }
KILN_FN constexpr std::int32_t relu(std::int32_t x) { return larger(x, 0); }

/// x for x > 0, else slope * x.
KILN_FN float leaky_relu(float x, float slope) { return x > 0.0f ? x : slope * x; }

/// 1 / (1 + e^-x).
KILN_FN float sigmoid(float x) { return reciprocal(1.0f + exp2(-log2_e * x)); }

/// x / (1 + e^-x). The clamp keeps -inf * 0 away; the value there is -0 already.
KILN_FN float silu(float x) {
  x = larger(x, -128.0f);
  return x * reciprocal(1.0f + exp2(-log2_e * x));
}

/// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), as x / (1 + e^-2u), which does not cancel in the tail.
KILN_FN float gelu_tanh(float x) {
  constexpr float c1 = -2.302208198144325f, c3 = -0.1029432395800257f;  // of -2 u log2(e)
  x = larger(x, -128.0f);
  return x * reciprocal(1.0f + exp2(x * (c1 + c3 * (x * x))));
}

/// x Phi(x), Phi the normal distribution function. log2(Phi(-|x|)) is a polynomial, fitted for the least relative error
/// of Phi (5.4e-6 to |x| = 6) with -1 at 0, so the negative tail does not cancel, and one approximate instruction does.
KILN_FN float gelu(float x) {
  const float size = smaller(magnitude(x), 16.0f);  // Phi is 0 there already; keeps inf * 0 away
  float p = 5.49199441e-08f;
  p = p * size - 3.10350447e-06f;
  p = p * size + 7.32651824e-05f;
  p = p * size - 0.00098473439f;
  p = p * size + 0.00864069443f;
  p = p * size - 0.0541204102f;
  p = p * size - 0.458392262f;
  p = p * size - 1.15124655f;
  p = p * size - 1.0f;
  return larger(x, 0.0f) - size * exp2(p);
}

/// 1 - 2 / (1 + e^2x), and near 0, where that cancels, an odd polynomial.
KILN_FN float tanh(float x) {
  const float outer = 1.0f - 2.0f * reciprocal(1.0f + exp2(2.0f * log2_e * x));
  const float s = x * x;
  const float inner = x + x * s * (-0.33331412771557406f + s * (0.13266378825384048f + s * -0.04721838586418883f));
  return magnitude(x) < 0.42f ? inner : outer;
}

}  // namespace kiln::activation
