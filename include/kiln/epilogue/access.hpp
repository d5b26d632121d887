#pragma once
/// Reading and writing N neighbours of a row: in vector accesses where address and unit stride allow, else one by one,
/// and never beyond `count`.
#include <cstddef>
#include <cstdint>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <kiln/core/words.hpp>
#include <kiln/epilogue/place.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln::detail {

/// Bytes of the accesses that move a vec<T, N>.
template <class T, int N>
inline constexpr int piece_bytes = access_bytes(sizeof(T) * N);

template <class T, int N>
KILN_FN bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % piece_bytes<T, N> == 0;
}

/// Whether rows of this view allow vector accesses at each column that is a multiple of N. The columns are the last
/// axis; a view whose columns are not its unit axis is read one by one, so it does not mind.
template <int N, class T, int R, class S, int U>
bool rows_allow_vectors(const tensor<T, R, S, U>& v) {
  if constexpr (U == R - 1) {
    if (!is_aligned<const T, N>(v.data)) return false;
    for (int a = 0; a + 1 < R; ++a)
      if (v.extents[a] > 1 && !bytes_divide(v.stride(a), sizeof(T), piece_bytes<T, N>)) return false;
  }
  return true;
}

template <int N, class T>
KILN_FN vec<T, N> read_whole(const T* p) {
  return bit_cast<vec<T, N>>(load_words<static_cast<int>(sizeof(T)) * N>(p));
}
template <int N, class T>
KILN_FN void write_whole(T* p, const vec<T, N>& x) {
  store_words(p, bit_cast<words<static_cast<int>(sizeof(T)) * N>>(x));
}

template <class T>
KILN_FN T read_one(const T* p) {
  return *p;
}

/// p[0], p[step], ...: `at.count` of them, zeros behind. `Packed` says that step is one.
template <bool Packed, int N, class T>
KILN_FN vec<T, N> read_some(const T* p, index_t step, const place& at) {
  if constexpr (Packed && N > 1) {
    if (at.count == N && (at.vectors || is_aligned<T, N>(p))) return read_whole<N>(p);
  }
  vec<T, N> r{};
  KILN_UNROLL
  for (int i = 0; i < N; ++i)
    if (N == 1 || i < at.count) r[i] = read_one(p + (Packed ? i : i * step));
  return r;
}

template <bool Packed, int N, class T>
KILN_FN void write_some(T* p, index_t step, const place& at, const vec<T, N>& x) {
  if constexpr (Packed && N > 1) {
    if (at.count == N && (at.vectors || is_aligned<T, N>(p))) return write_whole<N>(p, x);
  }
  KILN_UNROLL
  for (int i = 0; i < N; ++i)
    if (N == 1 || i < at.count) p[Packed ? i : i * step] = x[i];
}

template <class T>
inline constexpr bool packs_in_twos =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

/// The value that arithmetic is done in: int32 for integers, float for the rest.
template <class T>
using wide_t = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

template <class T, int N>
KILN_FN vec<wide_t<T>, N> widen(const vec<T, N>& x) {
  vec<wide_t<T>, N> r;
  if constexpr (packs_in_twos<T> && N % 2 == 0) {
    struct twos {
      packed2_t<T> w[N / 2];
    };
    const auto packed = bit_cast<twos>(x);
    KILN_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      const two_floats f = unpack2<T>(packed.w[i]);
      r[2 * i] = f.lo, r[2 * i + 1] = f.hi;
    }
  } else {
    KILN_UNROLL
    for (int i = 0; i < N; ++i) r[i] = convert<wide_t<T>>(x[i]);
  }
  return r;
}

/// One rounding, saturating where `convert` does.
template <class To, class From, int N>
KILN_FN vec<To, N> narrow(const vec<From, N>& x) {
  if constexpr (packs_in_twos<To> && std::is_same_v<From, float> && N % 2 == 0) {
    struct twos {
      packed2_t<To> w[N / 2];
    } packed;
    KILN_UNROLL
    for (int i = 0; i < N / 2; ++i) packed.w[i] = pack2<To>(x[2 * i], x[2 * i + 1]);
    return bit_cast<vec<To, N>>(packed);
  } else {
    vec<To, N> r;
    KILN_UNROLL
    for (int i = 0; i < N; ++i) r[i] = convert<To>(x[i]);
    return r;
  }
}

}  // namespace kiln::detail
