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
/// Two f16 or bf16 of one register at a time: the larger or the smaller of each, NaN if either is; magnitudes.
template <class X>
inline constexpr bool comes_in_pairs = std::is_same_v<X, f16> || std::is_same_v<X, bf16>;
template <class X>
KILN_FN std::uint32_t larger_pair(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  std::uint32_t r;
  if constexpr (std::is_same_v<X, f16>)
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  else
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
#else
  const two_floats x = unpack2<X>(a), y = unpack2<X>(b);
  return pack2<X>(maximum_of{}(x.lo, y.lo), maximum_of{}(x.hi, y.hi));
#endif
}
template <class X>
KILN_FN std::uint32_t smaller_pair(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  std::uint32_t r;
  if constexpr (std::is_same_v<X, f16>)
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  else
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
#else
  const two_floats x = unpack2<X>(a), y = unpack2<X>(b);
  return pack2<X>(minimum_of{}(x.lo, y.lo), minimum_of{}(x.hi, y.hi));
#endif
}
KILN_FN std::uint32_t magnitude_pair(std::uint32_t x) { return x & 0x7fff7fffu; }

/// One of these of a row.
enum class extreme { largest, smallest, largest_magnitude };
template <extreme What>
struct extreme_of {
  static constexpr float identity = What == extreme::largest ? -infinity : What == extreme::smallest ? infinity : 0.0f;
  KILN_FN static float of(float a, float b) {
    if constexpr (What == extreme::smallest)
      return minimum_of{}(a, b);
    else
      return maximum_of{}(a, b);
  }
  KILN_FN float operator()(float a, float b) const { return of(a, b); }
  KILN_FN float operator()(float a, float v, std::int64_t) const {
    return of(a, What == extreme::largest_magnitude ? magnitude(v) : v);
  }
  template <class X>
  KILN_FN static std::uint32_t pair(std::uint32_t a, std::uint32_t b) {
    if constexpr (What == extreme::smallest)
      return smaller_pair<X>(a, b);
    else
      return larger_pair<X>(a, What == extreme::largest_magnitude ? magnitude_pair(b) : b);
  }
};

/// x / scale as division rounds it, for quotients that are going to be codes: to 16-bit x (`Short`) and any scale the
/// same number in four instructions instead of a dozen and a branch. A product with the reciprocal is at most 1.5 units
/// in the last place off; one step of Markstein's (IBM Journal 34-1, 1990) makes it right for all 2^23 fractions of a scale
/// and all those of f16 and bf16, which have been tried; a second one for those of float. Scales far from one, and values
/// with them, are moved by a power of two; quotients below 2^-20 may be off by more, but no code can tell.
class quotient {
 public:
  KILN_FN explicit quotient(float scale) : scale_(scale) {
#if defined(__CUDA_ARCH__)
    move_ = scale < 0x1p-60f ? 0x1p100f : scale > 0x1p60f ? 0x1p-100f : 1.0f;
    divisor_ = scale * move_;
    inverse_ = 1.0f / divisor_;
    if (scale == infinity) divisor_ = 0;
#endif
  }
  /// `Bounded`: no quotient is above 2^20.
  template <bool Short, bool Bounded>
  KILN_FN float of(float x) const {
#if defined(__CUDA_ARCH__)
    x *= move_;
    const float near = x * inverse_;
    float q = fmaf(-fmaf(near, divisor_, -x), inverse_, near);
    if constexpr (!Short) q = fmaf(-fmaf(q, divisor_, -x), inverse_, q);
    return Bounded || magnitude(near) < 0x1p20f ? q : near;
#else
    return x / scale_;
#endif
  }

 private:
  float scale_, move_ = 1, divisor_ = 1, inverse_ = 1;
};

/// The larger key of `argmax`.
struct later_of {
  KILN_FN std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a < b ? b : a; }
};

}  // namespace kiln::rows
