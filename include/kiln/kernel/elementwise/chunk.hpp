#pragma once
/// V neighbouring elements between memory and a thread's registers, in the widest accesses that their bytes divide
/// into.
#include <cstdint>
#include <kiln/core/macros.hpp>
#include <kiln/core/types.hpp>

namespace kiln::elementwise {

/// Bytes of one access to a chunk: the largest power of two, 16 at most, that divides it. The chunk's address needs to
/// be a multiple of this.
KILN_FN constexpr int access_bytes(std::size_t chunk) {
  int width = 16;
  while (chunk % static_cast<std::size_t>(width) != 0) width /= 2;
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

#if defined(__CUDA_ARCH__)
/// Spelled out for the wide ones: where several arrays are written one after another, the compiler was seen to split
/// the stores into words of four bytes.
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

template <int V, class T>
KILN_FN void load_chunk(const T* from, T (&to)[V]) {
#if defined(__CUDA_ARCH__)
  constexpr int width = access_bytes(sizeof(T) * V), count = static_cast<int>(sizeof(T)) * V / width;
  word<width> words[count];
  KILN_UNROLL
  for (int i = 0; i < count; ++i) words[i] = reinterpret_cast<const word<width>*>(from)[i];
  __builtin_memcpy(to, words, sizeof(words));
#else
  for (int i = 0; i < V; ++i) to[i] = from[i];
#endif
}

template <int V, class T>
KILN_FN void store_chunk(T* to, const T (&from)[V]) {
#if defined(__CUDA_ARCH__)
  constexpr int width = access_bytes(sizeof(T) * V), count = static_cast<int>(sizeof(T)) * V / width;
  word<width> words[count];
  __builtin_memcpy(words, from, sizeof(words));
  KILN_UNROLL
  for (int i = 0; i < count; ++i) store_word(reinterpret_cast<word<width>*>(to) + i, words[i]);
#else
  for (int i = 0; i < V; ++i) to[i] = from[i];
#endif
}

/// How many elements one thread takes at once: 16 bytes of the smallest type, and no more than 64 of the largest.
constexpr int chunk_elements(std::size_t smallest, std::size_t largest) {
  std::size_t v = smallest >= 16 ? 1 : 16 / smallest;
  while (v > 1 && v * largest > 64) v /= 2;
  while ((v & (v - 1)) != 0) v &= v - 1;
  return static_cast<int>(v);
}

inline bool is_aligned(const void* p, int bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes) == 0;
}

}  // namespace kiln::elementwise
