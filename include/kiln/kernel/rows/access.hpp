#pragma once
/// Chunks of a row: `Width` neighbours moved together, in pieces of up to 16 bytes.
#include <cstring>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
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
struct alignas(Bytes) piece {
  std::conditional_t<(Bytes >= 4), std::uint32_t, std::conditional_t<(Bytes == 2), std::uint16_t, std::uint8_t>>
      w[Bytes >= 4 ? Bytes / 4 : 1];
};
template <int Bytes>
KILN_FN void move_bytes(void* to, const void* from) {
#if defined(__CUDA_ARCH__)
  constexpr int size = Bytes >= 16 ? 16 : Bytes;
  KILN_UNROLL
  for (int i = 0; i < Bytes / size; ++i) static_cast<piece<size>*>(to)[i] = static_cast<const piece<size>*>(from)[i];
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

namespace detail {
/// Types that the device rounds to two at a time.
template <class To>
inline constexpr bool in_pairs = is_floating_v<To> && sizeof(To) <= 2;
}  // namespace detail

/// Rounds a chunk of floats.
template <class To, int Width>
KILN_FN chunk<To, Width> rounded(const chunk<float, Width>& x) {
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
