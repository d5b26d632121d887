#pragma once
/// Chunks of a row: `Width` neighbours moved together, in pieces of up to 16 bytes.
#include <cstring>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <kiln/core/words.hpp>
#include <kiln/kernel/rows/operand.hpp>
#include <type_traits>

namespace kiln::rows {

/// Registers of one chunk; aligned so that it can be read and written in pieces of up to 16 bytes.
template <class T, int Width>
struct alignas(sizeof(T) * Width >= 16 ? 16 : sizeof(T) * Width) chunk {
  static_assert((Width & (Width - 1)) == 0, "a chunk has a power of two elements");
  T v[Width];
  KILN_FN T& operator[](int i) { return v[i]; }
  KILN_FN const T& operator[](int i) const { return v[i]; }
};

namespace detail {
template <int Bytes>
KILN_FN void move_bytes(void* to, const void* from) {
#if defined(__CUDA_ARCH__)
  using piece = kiln::detail::word<kiln::detail::access_bytes(Bytes)>;
  KILN_UNROLL
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(piece)); ++i)
    static_cast<piece*>(to)[i] = static_cast<const piece*>(from)[i];
#else
  std::memcpy(to, from, Bytes);
#endif
}
}  // namespace detail

/// Reads elements [c, c + n) of a row, 1 <= n <= Width, and zeros behind them. A width above one needs the
/// operand's `vectors(Width)`.
template <int Width, class T>
KILN_FN void load(const line<T>& from, index_t c, int n, chunk<std::remove_const_t<T>, Width>& to) {
  if constexpr (Width == 1) {
    to[0] = from[c];
  } else if (n == Width) {
    detail::move_bytes<Width* static_cast<int>(sizeof(T))>(to.v, from.data + c);
  } else {
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) to[i] = i < n ? from.data[c + i] : std::remove_const_t<T>{};
  }
}

/// The same of a line that nobody writes meanwhile: a weight, a bias. Its loads may be moved before stores, so that
/// they are under way while others wait.
template <int Width, class T>
KILN_FN void load_constant(const line<const T>& from, index_t c, int n, chunk<T, Width>& to) {
#if defined(__CUDA_ARCH__)
  constexpr int bytes = Width * static_cast<int>(sizeof(T));
  if constexpr (Width > 1 && bytes % 16 == 0) {
    if (n == Width) {
      chunk<std::uint32_t, bytes / 4> w;
      KILN_UNROLL
      for (int i = 0; i < bytes / 4; i += 4)
        asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w[i]), "=r"(w[i + 1]), "=r"(w[i + 2]), "=r"(w[i + 3])
                     : "l"(reinterpret_cast<const std::uint32_t*>(from.data + c) + i));
      to = bit_cast<chunk<T, Width>>(w);
      return;
    }
  }
#endif
  load(from, c, n, to);
}

/// Writes elements [c, c + n) of a row.
template <int Width, class T>
KILN_FN void store(const line<T>& to, index_t c, int n, const chunk<T, Width>& from) {
  if constexpr (Width == 1) {
    to[c] = from[0];
  } else if (n == Width) {
    detail::move_bytes<Width* static_cast<int>(sizeof(T))>(to.data + c, from.v);
  } else {
    KILN_UNROLL
    for (int i = 0; i < Width; ++i)
      if (i < n) to.data[c + i] = from[i];
  }
}

/// A chunk as floats. Those of 16 bits are taken from registers of two: element by element the compiler moves the upper
/// one down before it converts it, and such moves were half of all instructions of a norm.
template <class X, int Width>
KILN_FN chunk<float, Width> widened(const chunk<X, Width>& x) {
  chunk<float, Width> y;
  if constexpr (Width > 1 && (std::is_same_v<X, f16> || std::is_same_v<X, bf16>)) {
    const auto pairs = bit_cast<chunk<std::uint32_t, Width / 2>>(x);
    KILN_UNROLL
    for (int i = 0; i < Width / 2; ++i) {
      const two_floats both = unpack2<X>(pairs[i]);
      y[2 * i] = both.lo, y[2 * i + 1] = both.hi;
    }
  } else {
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) y[i] = static_cast<float>(x[i]);
  }
  return y;
}

namespace detail {
/// Types that the device rounds to two at a time.
template <class To>
inline constexpr bool in_pairs = is_floating_v<To> && sizeof(To) <= 2;
}  // namespace detail

namespace detail {
/// Types that the device rounds to four at a time: to int32 first, and these saturated and packed in pairs (PTX ISA,
/// "cvt.pack").
template <class To>
inline constexpr bool in_fours = std::is_same_v<To, std::int8_t> || std::is_same_v<To, std::uint8_t>;
#if defined(__CUDA_ARCH__)
template <class To>
__device__ __forceinline__ std::uint32_t two_codes(float lo, float hi, std::uint32_t above) {
  std::uint32_t r;
  const int a = __float2int_rn(hi), b = __float2int_rn(lo);
  if constexpr (std::is_same_v<To, std::int8_t>)
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(above));
  else
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(above));
  return r;
}
#endif
}  // namespace detail

/// Rounds a chunk of floats.
template <class To, int Width>
KILN_FN chunk<To, Width> rounded(const chunk<float, Width>& x) {
#if defined(__CUDA_ARCH__)
  if constexpr (Width % 4 == 0 && detail::in_fours<To>) {
    chunk<std::uint32_t, Width / 4> r;
    KILN_UNROLL
    for (int i = 0; i < Width / 4; ++i)
      r[i] = detail::two_codes<To>(x[4 * i], x[4 * i + 1], detail::two_codes<To>(x[4 * i + 2], x[4 * i + 3], 0));
    return bit_cast<chunk<To, Width>>(r);
  }
#endif
  if constexpr (Width % 2 == 0 && detail::in_pairs<To>) {
    chunk<packed2_t<To>, Width / 2> r;
    KILN_UNROLL
    for (int i = 0; i < Width / 2; ++i) r[i] = pack2<To>(x[2 * i], x[2 * i + 1]);
    return bit_cast<chunk<To, Width>>(r);
  } else {
    chunk<To, Width> r;
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) r[i] = convert<To>(x[i]);
    return r;
  }
}

}  // namespace kiln::rows
