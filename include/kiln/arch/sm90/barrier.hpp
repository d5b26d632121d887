#pragma once
/// mbarrier: a barrier in shared memory that counts arrivals and the bytes of asynchronous copies.
/// Source: PTX ISA, "mbarrier". Phases alternate between parity 0 and 1; a phase completes when the arrivals that the
/// barrier was initialised with have come and all expected bytes have landed.
#include <cstdint>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>

namespace kiln::sm90 {

/// Lies in shared memory. The host keeps its state in the same 64 bits (arch/host/mbarrier.hpp).
struct alignas(8) barrier {
  std::uint64_t word;
};

/// One thread initialises; `fence_barrier_init` and a block (or cluster) barrier come before the first use.
KILN_HOST_CALLS template <class Where>
KILN_FN void init(scope<Where, 1>, barrier& b, int arrivals) {
  if constexpr (scope<Where, 1>::host) {
    twin::sm().barrier_init(&b.word, arrivals);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&b)), "r"(arrivals) : "memory");
#endif
  }
}

/// Each thread of the scope arrives once. Release: what it did before is seen by those who wait.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void arrive([[maybe_unused]] scope<Where, Threads> all, barrier& b) {
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().barrier_arrive(&b.word, twin::sm().cta(), all.first, Threads);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&b)) : "memory");
#endif
  }
}

/// Each thread arrives once at the barrier at the same offset in block `cta` of the cluster.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void arrive_at([[maybe_unused]] scope<Where, Threads> all, barrier& b, int cta) {
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().barrier_arrive(&b.word, cta, all.first, Threads);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(&b)),
        "r"(cta)
        : "memory");
#endif
  }
}

/// As `arrive_at`, where what a thread stored in the shared memory of block `cta` (remote.hpp) is to be seen by those
/// who wait there with `wait_for_blocks`, and what it had read in its own may be overwritten by them.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void hand_over_at([[maybe_unused]] scope<Where, Threads> all, barrier& b, int cta) {
  if constexpr (scope<Where, Threads>::host) {
    arrive_at(all, b, cta);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(&b)),
        "r"(cta)
        : "memory");
#endif
  }
}

/// Adds to the bytes that the current phase waits for, then arrives once. Before the copies are issued, or the phase
/// may end without them.
KILN_HOST_CALLS template <class Where>
KILN_FN void arrive_expect_bytes([[maybe_unused]] scope<Where, 1> thread, barrier& b, int bytes) {
  if constexpr (scope<Where, 1>::host) {
    twin::sm().barrier_expect(&b.word, bytes);
    twin::sm().barrier_arrive(&b.word, twin::sm().cta(), thread.first, 1);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&b)), "r"(bytes)
                 : "memory");
#endif
  }
}

namespace detail {
KILN_HOST_CALLS template <bool OfCluster, class Where, int Threads>
KILN_FN void wait_for_phase([[maybe_unused]] scope<Where, Threads> all, barrier& b, int parity) {
  if constexpr (scope<Where, Threads>::host) {
    twin::sm().barrier_wait(&b.word, parity, all.first, Threads);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (OfCluster)
      asm volatile(
          "{\n"
          ".reg .pred done;\n"
          "again:\n"
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
          "@done bra over;\n"
          "bra again;\n"
          "over:\n"
          "}" ::"r"(shared_address(&b)),
          "r"(parity)
          : "memory");
    else
      asm volatile(
          "{\n"
          ".reg .pred done;\n"
          "again:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
          "@done bra over;\n"
          "bra again;\n"
          "over:\n"
          "}" ::"r"(shared_address(&b)),
          "r"(parity)
          : "memory");
#endif
  }
}
}  // namespace detail

/// All threads of the scope wait until the phase of this parity has completed. On a fresh barrier parity 1 has: a
/// producer waits with the opposite parity first. Acquire, from threads of this block and asynchronous copies.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void wait(scope<Where, Threads> all, barrier& b, int parity) {
  detail::wait_for_phase<false>(all, b, parity);
}
/// The same, where threads of other blocks arrive with `hand_over_at`.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void wait_for_blocks(scope<Where, Threads> all, barrier& b, int parity) {
  detail::wait_for_phase<true>(all, b, parity);
}

/// Position in a ring of Slots barriers: which slot, and the parity of its phase.
template <int Slots>
struct ring_position {
  int slot = 0, parity = 0;
  KILN_FN void next() {
    if (++slot == Slots) slot = 0, parity ^= 1;
  }
  KILN_FN void skip(int steps) {
    const int sum = slot + steps;
    slot = sum % Slots, parity ^= sum / Slots & 1;
  }
};

}  // namespace kiln::sm90
