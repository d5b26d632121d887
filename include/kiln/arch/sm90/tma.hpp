#pragma once
/// TMA: boxes of a tensor between global and shared memory, copied by the engine while threads go on.
/// Source: PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.commit_group / wait_group".
///
/// One thread issues. Coordinates are in elements, innermost first, and may lie outside the tensor: loads give zero
/// there, stores leave it alone. The innermost one falls on a multiple of 16 bytes, and those of stores are not
/// negative: others end the kernel as an illegal instruction, as seen on an H200. Shared addresses are multiples of
/// 128, under a swizzle of its `swizzle_alignment`.
#include <cstdint>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/sm90/barrier.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>

namespace kiln::sm90 {

template <class Where>
struct tensor_map;

/// What the L2 is asked to do with the lines of a copy.
enum class l2_hint { none, evict_first, evict_last };

namespace detail {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <l2_hint Hint>
KILN_DEVICE std::uint64_t l2_policy() {
  std::uint64_t policy;
  if constexpr (Hint == l2_hint::evict_first) {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}

// Coordinates are operands 0 to 4 of each instruction, 0 behind the last; the others follow. `issue` makes the
// instruction of one rank.
#define KILN_TMA_OF_RANK(issue)        \
  if constexpr (Rank == 1) {           \
    issue("1d", "%0");                 \
  } else if constexpr (Rank == 2) {    \
    issue("2d", "%0, %1");             \
  } else if constexpr (Rank == 3) {    \
    issue("3d", "%0, %1, %2");         \
  } else if constexpr (Rank == 4) {    \
    issue("4d", "%0, %1, %2, %3");     \
  } else {                             \
    issue("5d", "%0, %1, %2, %3, %4"); \
  }
#define KILN_TMA_COORDINATES "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])

/// Operands 5 to 9: destination, map, barrier, mask, policy.
template <int Rank, bool Multicast, l2_hint Hint>
KILN_DEVICE void load_box(std::uint32_t to, const void* map, std::uint32_t bar, std::uint16_t mask, const int (&c)[5]) {
#define KILN_TMA_LOAD(rank, options, at, operands, policy)                                                      \
  asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" options \
               " [%5], [%6, {" at "}], [%7]" operands ";" ::KILN_TMA_COORDINATES,                               \
               "r"(to), "l"(map), "r"(bar), "h"(mask), "l"(policy)                                              \
               : "memory")
#define KILN_TMA_PLAIN(rank, at) KILN_TMA_LOAD(rank, "", at, "", std::uint64_t{0})
#define KILN_TMA_HINT(rank, at) KILN_TMA_LOAD(rank, ".L2::cache_hint", at, ", %9", l2_policy<Hint>())
#define KILN_TMA_MULTICAST(rank, at) KILN_TMA_LOAD(rank, ".multicast::cluster", at, ", %8", std::uint64_t{0})
#define KILN_TMA_BOTH(rank, at) \
  KILN_TMA_LOAD(rank, ".multicast::cluster.L2::cache_hint", at, ", %8, %9", l2_policy<Hint>())
  if constexpr (Multicast && Hint != l2_hint::none) {
    KILN_TMA_OF_RANK(KILN_TMA_BOTH)
  } else if constexpr (Multicast) {
    KILN_TMA_OF_RANK(KILN_TMA_MULTICAST)
  } else if constexpr (Hint != l2_hint::none) {
    KILN_TMA_OF_RANK(KILN_TMA_HINT)
  } else {
    KILN_TMA_OF_RANK(KILN_TMA_PLAIN)
  }
#undef KILN_TMA_LOAD
#undef KILN_TMA_PLAIN
#undef KILN_TMA_HINT
#undef KILN_TMA_MULTICAST
#undef KILN_TMA_BOTH
}

template <int Rank, bool Reduce>
KILN_DEVICE void store_box(std::uint32_t from, const void* map, const int (&c)[5]) {
#define KILN_TMA_ADD(rank, at)                                                                         \
  asm volatile("cp.reduce.async.bulk.tensor." rank ".global.shared::cta.add.tile.bulk_group [%6, {" at \
               "}], [%5];" ::KILN_TMA_COORDINATES,                                                     \
               "r"(from), "l"(map)                                                                     \
               : "memory")
#define KILN_TMA_STORE(rank, at)                                                            \
  asm volatile("cp.async.bulk.tensor." rank ".global.shared::cta.tile.bulk_group [%6, {" at \
               "}], [%5];" ::KILN_TMA_COORDINATES,                                          \
               "r"(from), "l"(map)                                                          \
               : "memory")
  if constexpr (Reduce) {
    KILN_TMA_OF_RANK(KILN_TMA_ADD)
  } else {
    KILN_TMA_OF_RANK(KILN_TMA_STORE)
  }
#undef KILN_TMA_ADD
#undef KILN_TMA_STORE
}

template <int Rank>
KILN_DEVICE void prefetch_box(const void* map, const int (&c)[5]) {
#define KILN_TMA_PREFETCH(rank, at) \
  asm volatile("cp.async.bulk.prefetch.tensor." rank ".L2.global.tile [%5, {" at "}];" ::KILN_TMA_COORDINATES, "l"(map))
  KILN_TMA_OF_RANK(KILN_TMA_PREFETCH)
#undef KILN_TMA_PREFETCH
}
#undef KILN_TMA_OF_RANK
#undef KILN_TMA_COORDINATES
#endif

template <class Map, class... Index>
twin::copy_op host_copy(const Map& map, const void* shared, std::uint64_t* bar, std::uint32_t mask, int thread,
                        bool reduce, Index... at) {
  twin::copy_op op{map.tiled, {}, const_cast<void*>(shared), bar, mask, thread, reduce};
  int d = 0;
  ((op.at[d++] = static_cast<int>(at)), ...);
  return op;
}
}  // namespace detail

/// Starts the copy of the box at these coordinates to `to`; its bytes (those outside the tensor too) complete on
/// `full`.
KILN_HOST_CALLS template <l2_hint Hint = l2_hint::none, class Where, class... Index>
KILN_FN void tma_load([[maybe_unused]] scope<Where, 1> thread, const tensor_map<Where>& map, void* to, barrier& full,
                      Index... at) {
  static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= 5,
                "tma_load: one coordinate for each dimension of the map");
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_in(detail::host_copy(map, to, &full.word, 0, thread.first, false, at...));
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const int c[5] = {static_cast<int>(at)...};
    detail::load_box<sizeof...(Index), false, Hint>(shared_address(to), &map, shared_address(&full), 0, c);
#endif
  }
}

/// Has the L2 fetch the box at these coordinates; what lies outside the tensor is left out. Nothing waits for it and
/// nothing is read, so it may come before the data are written.
template <class Where, class... Index>
KILN_FN void tma_prefetch_box(scope<Where, 1>, [[maybe_unused]] const tensor_map<Where>& map,
                              [[maybe_unused]] Index... at) {
  static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= 5,
                "tma_prefetch_box: one coordinate for each dimension of the map");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (!scope<Where, 1>::host) {
    const int c[5] = {static_cast<int>(at)...};
    detail::prefetch_box<sizeof...(Index)>(&map, c);
  }
#endif
}

/// As `tma_load`, to the same offset in every block whose bit is set in `ctas`, completing on the barrier at the same
/// offset there. Each of those blocks expects the bytes itself.
KILN_HOST_CALLS template <l2_hint Hint = l2_hint::none, class Where, class... Index>
KILN_FN void tma_load_multicast([[maybe_unused]] scope<Where, 1> thread, const tensor_map<Where>& map, void* to,
                                barrier& full, std::uint16_t ctas, Index... at) {
  static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= 5,
                "tma_load_multicast: one coordinate for each dimension of the map");
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_in(detail::host_copy(map, to, &full.word, ctas, thread.first, false, at...));
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const int c[5] = {static_cast<int>(at)...};
    detail::load_box<sizeof...(Index), true, Hint>(shared_address(to), &map, shared_address(&full), ctas, c);
#endif
  }
}

/// Starts the copy from shared memory to the box at these coordinates, in this thread's open group. The stores that
/// filled `from` need `fence_async` in each writing thread and a barrier before.
KILN_HOST_CALLS template <class Where, class... Index>
KILN_FN void tma_store([[maybe_unused]] scope<Where, 1> thread, const tensor_map<Where>& map, const void* from,
                       Index... at) {
  static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= 5,
                "tma_store: one coordinate for each dimension of the map");
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_out(detail::host_copy(map, from, nullptr, 0, thread.first, false, at...));
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const int c[5] = {static_cast<int>(at)...};
    detail::store_box<sizeof...(Index), false>(shared_address(from), &map, c);
#endif
  }
}

/// As `tma_store`, adding to what is there (float32 maps; each element atomically, in no fixed order).
KILN_HOST_CALLS template <class Where, class... Index>
KILN_FN void tma_reduce_add([[maybe_unused]] scope<Where, 1> thread, const tensor_map<Where>& map, const void* from,
                            Index... at) {
  static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= 5,
                "tma_reduce_add: one coordinate for each dimension of the map");
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_out(detail::host_copy(map, from, nullptr, 0, thread.first, true, at...));
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const int c[5] = {static_cast<int>(at)...};
    detail::store_box<sizeof...(Index), true>(shared_address(from), &map, c);
#endif
  }
}

/// Closes this thread's group of stores.
KILN_HOST_CALLS template <class Where>
KILN_FN void tma_commit([[maybe_unused]] scope<Where, 1> thread) {
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_commit(thread.first);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
  }
}

/// All but the last Pending groups of this thread have read their shared memory: it may be written again, after a
/// barrier by other threads too.
KILN_HOST_CALLS template <int Pending, class Where>
KILN_FN void tma_wait_read([[maybe_unused]] scope<Where, 1> thread) {
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_wait(thread.first, Pending, false);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
#endif
  }
}

/// All but the last Pending groups of this thread have reached global memory.
KILN_HOST_CALLS template <int Pending, class Where>
KILN_FN void tma_wait([[maybe_unused]] scope<Where, 1> thread) {
  if constexpr (scope<Where, 1>::host) {
    twin::sm().copy_wait(thread.first, Pending, true);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
#endif
  }
}

/// Fetches the map itself into the descriptor cache, ahead of its first use.
template <class Where>
KILN_FN void tma_prefetch(scope<Where, 1>, [[maybe_unused]] const tensor_map<Where>& map) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (!scope<Where, 1>::host) asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

}  // namespace kiln::sm90
