#pragma once
/// Bytes between memory and a thread's registers, in the widest accesses that they divide into.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <kiln/core/macros.hpp>

namespace kiln::detail {

/// Bytes of one access to so many: the largest power of two, 16 at most, that divides them. Their address needs to be a
/// multiple of this.
KILN_FN constexpr int access_bytes(std::size_t bytes) {
  int width = 16;
  while (bytes % static_cast<std::size_t>(width) != 0) width /= 2;
  return width;
}

/// What one access moves. CUDA's own vector types keep it one instruction.
template <int Bytes>
struct word_type;
template <>
struct word_type<1> {
  using type = std::uint8_t;
};
template <>
struct word_type<2> {
  using type = std::uint16_t;
};
template <>
struct word_type<4> {
  using type = std::uint32_t;
};
#if defined(__CUDACC__)
template <>
struct word_type<8> {
  using type = uint2;
};
template <>
struct word_type<16> {
  using type = uint4;
};
#else
template <>
struct word_type<8> {
  struct alignas(8) type {
    std::uint32_t w[2];
  };
};
template <>
struct word_type<16> {
  struct alignas(16) type {
    std::uint32_t w[4];
  };
};
#endif
template <int Bytes>
using word = typename word_type<Bytes>::type;

/// So many bytes in registers.
template <int Bytes>
struct words {
  static constexpr int size = access_bytes(Bytes), count = Bytes / size;
  word<size> w[count];
};

template <int Bytes>
KILN_FN words<Bytes> load_words(const void* from) {
  words<Bytes> x;
#if defined(__CUDA_ARCH__)
  KILN_UNROLL
  for (int i = 0; i < x.count; ++i) x.w[i] = static_cast<const word<words<Bytes>::size>*>(from)[i];
#else
  std::memcpy(&x, from, sizeof x);
#endif
  return x;
}

#if defined(__CUDA_ARCH__)
/// To global memory. Spelled out for the wide ones: where several arrays are written one after another, and in the
/// epilogue of a block-wide GEMM, nvcc 13.0 was seen to split the stores into words of four bytes.
template <class W>
KILN_DEVICE void store_word(W* to, const W& w) {
  if constexpr (sizeof(W) == 16) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x), "r"(w.y),
                 "r"(w.z), "r"(w.w)
                 : "memory");
  } else if constexpr (sizeof(W) == 8) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x), "r"(w.y) : "memory");
  } else {
    *to = w;
  }
}
#endif

/// `to` is global memory.
template <int Bytes>
KILN_FN void store_words(void* to, const words<Bytes>& x) {
#if defined(__CUDA_ARCH__)
  KILN_UNROLL
  for (int i = 0; i < x.count; ++i) store_word(static_cast<word<words<Bytes>::size>*>(to) + i, x.w[i]);
#else
  std::memcpy(to, &x, sizeof x);
#endif
}

}  // namespace kiln::detail
