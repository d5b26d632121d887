#pragma once
/// Fences, cluster and named barriers and register reallocation of Hopper.
/// Source: PTX ISA, "membar/fence", "barrier.cluster", "bar", "setmaxnreg".
#include <cstdint>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>

namespace kiln::sm90 {

#if defined(__CUDA_ARCH__)
/// 32-bit address in the block's window of shared memory.
KILN_DEVICE std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
namespace detail {
/// One lane of a whole warp, the same at each call. The compiler knows that it is one, where it cannot know that of a
/// test of the lane's number: it would wrap every instruction that takes uniform registers, as TMA's do, into a loop
/// over lanes.
KILN_DEVICE bool elect() {
  std::uint32_t is = 0;
  asm volatile(
      "{\n"
      ".reg .pred one;\n"
      "elect.sync _|one, 0xffffffff;\n"
      "@one mov.u32 %0, 1;\n"
      "}"
      : "+r"(is));
  return is != 0;
}
}  // namespace detail
#endif

/// Runs `body(thread)` in one thread of the scope, of a warp its elected one, else its first; `thread` is a scope of
/// one.
KILN_HOST_CALLS template <class Where, int Threads, class F>
KILN_FN void one_thread(scope<Where, Threads> all, F&& body) {
  if constexpr (scope<Where, Threads>::host) {
    body(scope<Where, 1>{all.first});
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (Threads == 32) {
      if (detail::elect()) body(scope<Where, 1>{});
      return;
    }
#endif
    if (kiln::detail::thread_rank() % Threads == 0) body(scope<Where, 1>{});
  }
}

/// Which warp of its block this is, as a number that the compiler knows to be the same in all lanes.
template <class Where, int Threads>
KILN_FN int uniform_warp(scope<Where, Threads> all) {
#if defined(__CUDA_ARCH__)
  if constexpr (!scope<Where, Threads>::host) return __shfl_sync(0xffffffffu, kiln::detail::thread_rank() / 32, 0);
#endif
  return all.first / 32;
}

/// fence.proxy.async: what these threads wrote to shared memory by ordinary stores may be read by TMA and wgmma. Goes
/// between the stores and the barrier after which the asynchronous read is issued.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void fence_async([[maybe_unused]] scope<Where, Threads> all) {
  if constexpr (scope<Where, Threads>::host) {
    for (int t = 0; t < Threads; ++t) twin::note_fence_async(all.first + t);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }
}

/// Makes freshly initialised mbarriers visible to the async proxy and to the cluster; a block or cluster barrier
/// follows.
template <class Where, int Threads>
KILN_FN void fence_barrier_init(scope<Where, Threads>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (!scope<Where, Threads>::host) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// This block's rank in its cluster; 0 without clusters.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN int cluster_rank(scope<Where, Threads>) {
  if constexpr (scope<Where, Threads>::host) {
    return twin::sm().cta();
  } else {
    std::uint32_t rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return static_cast<int>(rank);
  }
}

/// Barrier of all blocks of the cluster, in two halves. Every thread of every block that has not ended takes part;
/// scopes are whole warps. Release on arrive, acquire on wait.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void cluster_arrive([[maybe_unused]] scope<Where, Threads> all) {
  static_assert(Threads % 32 == 0, "cluster_arrive: whole warps arrive");
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().cluster_arrive(all.first, Threads);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
  }
}
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void cluster_wait([[maybe_unused]] scope<Where, Threads> all) {
  static_assert(Threads % 32 == 0, "cluster_wait: whole warps wait");
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().cluster_wait(all.first, Threads);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }
}
template <class Where, int Threads>
KILN_FN void cluster_sync(scope<Where, Threads> all) {
  cluster_arrive(all);
  cluster_wait(all);
}
/// As `cluster_sync`, but orders nothing beyond what fences have ordered: all blocks have begun, or none needs the
/// others' shared memory any more. A release would wait for all that a thread has written.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void cluster_meet(scope<Where, Threads> all) {
  static_assert(Threads % 32 == 0, "cluster_meet: whole warps meet");
  if constexpr (scope<Where, Threads>::host) {
    cluster_sync(all);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  }
}

/// Named barrier `name` in [1, 15] of `Count` threads of the block, of which these are some.
KILN_HOST_CALLS template <int Count, class Where, int Threads>
KILN_FN void named_sync([[maybe_unused]] scope<Where, Threads> part, [[maybe_unused]] int name) {
  static_assert(Count % 32 == 0 && Threads % 32 == 0 && Threads <= Count, "named_sync: whole warps meet");
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().named_sync(name, part.first, Threads, Count);
  } else {
#if defined(__CUDA_ARCH__)
    asm volatile("bar.sync %0, %1;" ::"r"(name), "n"(Count) : "memory");
#endif
  }
}
/// As `named_sync`, but goes on without waiting for the others.
KILN_HOST_CALLS template <int Count, class Where, int Threads>
KILN_FN void named_arrive([[maybe_unused]] scope<Where, Threads> part, [[maybe_unused]] int name) {
  static_assert(Count % 32 == 0 && Threads % 32 == 0 && Threads < Count, "named_arrive: whole warps, and others wait");
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().named_arrive(name, part.first, Threads, Count);
  } else {
#if defined(__CUDA_ARCH__)
    asm volatile("bar.arrive %0, %1;" ::"r"(name), "n"(Count) : "memory");
#endif
  }
}

/// Gives registers back, or takes them, down or up to `Registers` a thread (a multiple of 8 in [24, 256]). A whole
/// warpgroup does so, once, at the top of its role; the kernel needs a register cap at entry.
template <int Registers, class Where, int Threads>
KILN_FN void give_registers(scope<Where, Threads>) {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256,
                "give_registers: a multiple of 8 in [24, 256]");
#if KILN_SM90A
  if constexpr (!scope<Where, Threads>::host) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}
template <int Registers, class Where, int Threads>
KILN_FN void take_registers(scope<Where, Threads>) {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256,
                "take_registers: a multiple of 8 in [24, 256]");
#if KILN_SM90A
  if constexpr (!scope<Where, Threads>::host) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

}  // namespace kiln::sm90
