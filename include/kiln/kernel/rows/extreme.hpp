#pragma once
/// The largest or smallest of many values, two 16-bit ones at a time.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// Two f16 or bf16 of one register at a time: the larger of each, or the smaller, NaN if either is; magnitudes.
template <class X>
inline constexpr bool comes_in_pairs = std::is_same_v<X, f16> || std::is_same_v<X, bf16>;
template <class X, bool Smaller = false>
KILN_FN std::uint32_t larger_pair(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  constexpr bool half = std::is_same_v<X, f16>;
  std::uint32_t r;
  if constexpr (half && Smaller)
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  else if constexpr (half)
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  else if constexpr (Smaller)
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  else
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
#else
  using of = std::conditional_t<Smaller, minimum_of, maximum_of>;
  const two_floats x = unpack2<X>(a), y = unpack2<X>(b);
  return pack2<X>(of{}(x.lo, y.lo), of{}(x.hi, y.hi));
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
      return larger_pair<X, true>(a, b);
    else
      return larger_pair<X>(a, What == extreme::largest_magnitude ? magnitude_pair(b) : b);
  }
};

/// The extreme of each half of each register of a chunk, over chunks.
template <class X, int Width, extreme What>
struct extreme_pairs {
  static constexpr int pairs = Width / 2;
  using op = extreme_of<What>;
  std::uint32_t a[pairs];

  KILN_FN extreme_pairs() {
    KILN_UNROLL
    for (int v = 0; v < pairs; ++v) a[v] = start();
  }
  KILN_FN static std::uint32_t start() { return pack2<X>(op::identity, op::identity); }
  KILN_FN void add(const chunk<X, Width>& x, int n) {
    auto with = bit_cast<chunk<std::uint32_t, pairs>>(x);
    if (n < Width) {
      KILN_UNROLL
      for (int v = 0; v < pairs; ++v)
        if (2 * v + 1 >= n) with[v] = 2 * v >= n ? start() : (with[v] & 0xffffu) | (start() & 0xffff0000u);
    }
    KILN_UNROLL
    for (int v = 0; v < pairs; ++v) a[v] = op::template pair<X>(a[v], with[v]);
  }
  KILN_FN float all() const {
    std::uint32_t last = a[0];
    KILN_UNROLL
    for (int v = 1; v < pairs; ++v) last = op::template pair<X>(last, a[v]);
    const two_floats both = unpack2<X>(last);
    return op::of(both.lo, both.hi);
  }
};

}  // namespace kiln::rows
