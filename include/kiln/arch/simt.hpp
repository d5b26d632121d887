#pragma once
/// Multiply-add on the ordinary units: float32 with one IEEE rounding, integers exact, narrow floats widened first.
#include <cstdint>
#include <kiln/core/macros.hpp>
#include <type_traits>

namespace kiln::simt {

/// The type that sums products of T: double for double, int32 for 8-bit integers and int32, float otherwise.
template <class T>
using accumulator_t = std::conditional_t<std::is_same_v<T, double>, double,
                                         std::conditional_t<std::is_integral_v<T>, std::int32_t, float>>;

/// a * b + c, rounded once. Integers wrap modulo 2^32, as the hardware's do.
template <class T>
KILN_FN accumulator_t<T> fma(T a, T b, accumulator_t<T> c) {
  using acc = accumulator_t<T>;
  if constexpr (std::is_same_v<acc, float>) {
    return __builtin_fmaf(static_cast<float>(a), static_cast<float>(b), c);
  } else if constexpr (std::is_same_v<acc, double>) {
    return __builtin_fma(a, b, c);
  } else {
    static_assert(sizeof(T) <= sizeof(acc), "simt::fma: integers of at most 32 bits");
    return static_cast<acc>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                            static_cast<std::uint32_t>(c));
  }
}

/// One thread's tile, an outer product: acc[m * N + n] += a[m] * b[n]. All three lie in registers.
template <int M, int N, class T>
KILN_FN void fma_tile(const T (&a)[M], const T (&b)[N], accumulator_t<T> (&acc)[M * N]) {
  KILN_UNROLL
  for (int m = 0; m < M; ++m) {
    KILN_UNROLL
    for (int n = 0; n < N; ++n) acc[m * N + n] = fma(a[m], b[n], acc[m * N + n]);
  }
}

}  // namespace kiln::simt
