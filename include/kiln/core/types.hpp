#pragma once
/// Index arithmetic is 64-bit everywhere; a coordinate inside one tile is an int.
#include <cstdint>

#include <kiln/core/macros.hpp>

namespace kiln {

using index_t = std::int64_t;

/// An option that is one name of an enumeration, and says so where something else is given.
template <class Enum>
struct one_of {
  constexpr one_of(Enum e) : value(e) {}  // NOLINT: a name is the notation
  template <class Other>
  constexpr one_of(const Other&) : value{} {  // NOLINT
    static_assert(sizeof(Other) == 0,
                  "this option is one of an enumeration's names: causal::none, pairing::half_split, "
                  "int8_range::symmetric, overflow::to_nan or another of the same");
  }
  constexpr operator Enum() const { return value; }  // NOLINT: it is read as the name
  Enum value;
};

/// Row and column of an element, in a matrix or in a tile.
struct coord {
  index_t row, col;
  friend constexpr bool operator==(const coord&, const coord&) = default;
};

template <class T>
KILN_FN constexpr T ceil_div(T a, T b) {
  return static_cast<T>(a / b + (a % b > 0 ? 1 : 0));
}
template <class T>
KILN_FN constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}
template <class T>
KILN_FN constexpr T min_of(T a, T b) {
  return b < a ? b : a;
}
template <class T>
KILN_FN constexpr T max_of(T a, T b) {
  return a < b ? b : a;
}

/// a * n for a count n, the nearest index where it is larger than any, and 0 for a negative count.
KILN_FN constexpr index_t saturated_product(index_t a, index_t n) {
  if (a == 0 || n <= 0) return 0;
  const index_t most = INT64_MAX / n;
  return a > most ? INT64_MAX : a < -most ? -INT64_MAX : a * n;
}
/// |a|, of the least index, too.
KILN_FN constexpr std::uint64_t unsigned_magnitude(index_t a) {
  return a < 0 ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
}
/// Whether a stride of elements of `size` bytes is a multiple of `bytes`, a power of two; for any stride, as products
/// of unsigned numbers wrap at another.
KILN_FN constexpr bool bytes_divide(index_t stride, std::uint64_t size, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(stride) * size % bytes == 0;
}
/// For sums of what is not negative.
KILN_FN constexpr index_t saturated_sum(index_t a, index_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

KILN_FN constexpr bool any_is_zero(const index_t* extents, int rank) {
  for (int a = 0; a < rank; ++a)
    if (extents[a] == 0) return true;
  return false;
}
/// Elements of a box: 0 where an extent is 0, else -1 where one is negative; at most the largest index.
KILN_FN constexpr index_t box_size(const index_t* extents, int rank) {
  if (any_is_zero(extents, rank)) return 0;
  index_t n = 1;
  for (int a = 0; a < rank; ++a) {
    if (extents[a] < 0) return -1;
    n = saturated_product(n, extents[a]);
  }
  return n;
}

/// The same number, of which the device compiler knows nothing: what is computed from it stays where it is written, and
/// does not wait in registers from before the loop around it.
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
