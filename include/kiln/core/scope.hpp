#pragma once
/// A scope: the threads that take a step together. The executor is part of its type.
///
/// On the device `each` runs its body once, as this thread: the loop over threads is the hardware. On the host it is a
/// real loop over all threads of the scope, and `fragments` hold what the registers of all these threads hold.
#include <type_traits>

#include <kiln/core/macros.hpp>
#include <kiln/core/types.hpp>

namespace kiln {

struct on_host {};
struct on_device {};

namespace detail {
/// The hardware's thread number in a block of one dimension; the host has none and loops instead.
KILN_FN int thread_rank() {
#if defined(__CUDA_ARCH__)
  return static_cast<int>(threadIdx.x);
#else
  return 0;
#endif
}
/// The hardware's number of this block in its cluster; 0 without clusters and on the host.
KILN_FN int block_rank() {
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
#else
  return 0;
#endif
#else
  return 0;
#endif
}
}  // namespace detail

template <class Where, int Threads>
struct scope {
  using where = Where;
  static constexpr int threads = Threads;
  static constexpr bool host = std::is_same_v<Where, on_host>;

  /// Rank in the block of this scope's first thread. Only the host needs it; on the device threadIdx knows.
  int first = 0;

  /// Which scope of this size this is in its block: warp 3, warpgroup 1.
  KILN_FN int number() const { return (host ? first : detail::thread_rank()) / Threads; }

  /// Runs `body(thread)` for every thread of the scope, thread in [0, Threads). Implies no barrier.
  KILN_HOST_CALLS template <class F>
  KILN_FN void each(F&& body) const {
    if constexpr (host) {
      for (int t = 0; t < Threads; ++t) body(t);
    } else {
      body(detail::thread_rank() % Threads);
    }
  }

  /// Runs `body(part)` for every sub-scope of `Part` threads; on the device once, for the one this thread is in.
  KILN_HOST_CALLS template <int Part, class F>
  KILN_FN void split(F&& body) const {
    static_assert(Threads % Part == 0, "a scope splits into parts of equal size");
    if constexpr (host) {
      for (int f = 0; f < Threads; f += Part) body(scope<Where, Part>{first + f});
    } else {
      body(scope<Where, Part>{});
    }
  }
};

/// The threads of all blocks of a cluster, block after block: thread t is the thread t % (Threads / Blocks) of block
/// t / (Threads / Blocks). It takes part in steps as a whole, so it has no first thread and no parts.
template <class Where, int Threads, int Blocks>
struct cluster_scope {
  using where = Where;
  static constexpr int threads = Threads, blocks = Blocks, block = Threads / Blocks;
  static constexpr bool host = std::is_same_v<Where, on_host>;
  static_assert(Threads % Blocks == 0, "the blocks of a cluster have equal numbers of threads");

  /// Runs `body(thread)` for every thread of the cluster. Implies no barrier.
  KILN_HOST_CALLS template <class F>
  KILN_FN void each(F&& body) const {
    if constexpr (host) {
      for (int t = 0; t < Threads; ++t) body(t);
    } else {
      body(detail::block_rank() * block + detail::thread_rank());
    }
  }
};

template <class Where>
using warp_scope = scope<Where, 32>;
template <class Where>
using warpgroup_scope = scope<Where, 128>;
template <class Where, int Threads>
using block_scope = scope<Where, Threads>;

/// N registers of each thread of a scope.
template <class T, int N, class Scope>
struct fragments {
  static constexpr int size = N;
  T r[Scope::host ? Scope::threads : 1][N];
  KILN_FN T (&of(int thread))[N] { return r[Scope::host ? thread : 0]; }
  KILN_FN const T (&of(int thread) const)[N] { return r[Scope::host ? thread : 0]; }
};

}  // namespace kiln
