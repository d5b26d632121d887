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
using kiln::detail::store_word;
#endif

/// One element on its way. As bytes on the host, where sanitizers look: what a functor is about to write may hold no
/// value of its type yet, a bool of 85.
template <class T>
KILN_FN void carry(T& to, const T& from) {
#if defined(__CUDA_ARCH__)
  to = from;
#else
  __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(T));
#endif
}

template <int V, class T>
KILN_FN void load_chunk(const T* from, T (&to)[V]) {
#if defined(__CUDA_ARCH__)
  const auto x = load_words<static_cast<int>(sizeof(T)) * V>(from);
  __builtin_memcpy(to, &x, sizeof x);
#else
  for (int i = 0; i < V; ++i) carry(to[i], from[i]);
#endif
}

template <int V, class T>
KILN_FN void store_chunk(T* to, const T (&from)[V]) {
#if defined(__CUDA_ARCH__)
  words<static_cast<int>(sizeof(T)) * V> x;
  __builtin_memcpy(&x, from, sizeof x);
  kiln::detail::store_words(to, x);
#else
  for (int i = 0; i < V; ++i) carry(to[i], from[i]);
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
