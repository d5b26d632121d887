#pragma once
/// Float32 functions and reduction operators of the row kernels, on both executors.
#include <cmath>
#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <type_traits>

namespace kiln::rows {

inline constexpr float infinity = limits<float>::infinity();

KILN_FN float exponential(float x) { return std::exp(x); }
/// To 2^-24 (1.5 |x| + 2) of itself, and 0 below 2^-126: two instructions of the device instead of ten, twice for each
/// element of a softmax, where arithmetic would take longer than the copy by the count of instructions.
KILN_FN float quick_exponential(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504088896341f));
  return r;
#else
  return std::exp(x);
#endif
}
KILN_FN float logarithm(float x) { return std::log(x); }
KILN_FN float magnitude(float x) { return std::fabs(x); }
KILN_FN float inverse_root(float x) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(x);
#else
  return 1.0f / std::sqrt(x);
#endif
}
KILN_FN bool is_nan(float x) { return (bit_cast<std::uint32_t>(x) & 0x7fffffffu) > 0x7f800000u; }
KILN_FN bool is_finite(float x) { return (bit_cast<std::uint32_t>(x) & 0x7fffffffu) < 0x7f800000u; }

struct sum_of {
  template <class T>
  KILN_FN T operator()(T a, T b) const {
    return a + b;
  }
};
/// Whether joining numbers A by `Merge` rounds, so that it matters how many one accumulator takes in turn.
template <class Merge, class A>
inline constexpr bool rounds = false;
template <class A>
inline constexpr bool rounds<sum_of, A> = std::is_floating_point_v<A>;

/// After so many additions an accumulator that rounds is closed: its sum is added to one of such sums. Otherwise a sum
/// of n equal numbers would stop growing at 2^24 of them.
inline constexpr int most_in_turn = 4096;

/// The larger; NaN if either is.
struct maximum_of {
  KILN_FN float operator()(float a, float b) const {
#if defined(__CUDA_ARCH__)
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return a > b || is_nan(a) ? a : b;
#endif
  }
};
struct minimum_of {
  KILN_FN float operator()(float a, float b) const {
#if defined(__CUDA_ARCH__)
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return a < b || is_nan(a) ? a : b;
#endif
  }
};
/// The larger key of `argmax`.
struct later_of {
  KILN_FN std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a < b ? b : a; }
};

}  // namespace kiln::rows
