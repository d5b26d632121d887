#pragma once
/// Index arithmetic is 64-bit everywhere; a coordinate inside one tile is an int.
#include <cstdint>

#include <kiln/core/macros.hpp>

namespace kiln {

using index_t = std::int64_t;

/// Row and column of an element, in a matrix or in a tile.
struct coord {
  index_t row, col;
  friend constexpr bool operator==(const coord&, const coord&) = default;
};

template <class I>
KILN_FN constexpr I ceil_div(I a, I b) {
  return (a + b - 1) / b;
}
template <class I>
KILN_FN constexpr I round_up(I a, I b) {
  return ceil_div(a, b) * b;
}
template <class I>
KILN_FN constexpr I min_of(I a, I b) {
  return b < a ? b : a;
}
template <class I>
KILN_FN constexpr I max_of(I a, I b) {
  return a < b ? b : a;
}

/// The same number, of which the device compiler knows nothing: what is computed from it stays where it is written, and does
/// not wait in registers from before the loop around it.
KILN_FN int here(int x) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/// N values side by side, aligned for one vector access where the size allows it.
template <class T, int N>
struct alignas((sizeof(T) * N & (sizeof(T) * N - 1)) == 0 && sizeof(T) * N <= 16 ? sizeof(T) * N : alignof(T)) vec {
  T v[N];
  KILN_FN constexpr T& operator[](int i) { return v[i]; }
  KILN_FN constexpr const T& operator[](int i) const { return v[i]; }
};

}  // namespace kiln
