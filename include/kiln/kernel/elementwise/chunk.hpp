#pragma once
/// V neighbouring elements between memory and a thread's registers, in the widest accesses that their bytes divide
/// into.
#include <cstdint>
#include <kiln/core/macros.hpp>
#include <kiln/core/types.hpp>
#include <kiln/core/words.hpp>

namespace kiln::elementwise {

using kiln::detail::access_bytes;
using kiln::detail::load_words;
using kiln::detail::word;
using kiln::detail::words;

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
  const auto x = load_words<static_cast<int>(sizeof(T)) * V>(from);
  __builtin_memcpy(to, &x, sizeof x);
#else
  for (int i = 0; i < V; ++i) to[i] = from[i];
#endif
}

template <int V, class T>
KILN_FN void store_chunk(T* to, const T (&from)[V]) {
#if defined(__CUDA_ARCH__)
  words<static_cast<int>(sizeof(T)) * V> x;
  __builtin_memcpy(&x, from, sizeof x);
  KILN_UNROLL
  for (int i = 0; i < x.count; ++i) store_word(reinterpret_cast<word<decltype(x)::size>*>(to) + i, x.w[i]);
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
