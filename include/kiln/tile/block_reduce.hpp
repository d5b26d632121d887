#pragma once
/// One value of each thread of a scope combined into one that all of them get.
///
/// The order is fixed by the number of threads: within a warp neighbours first, then pairs of pairs; across the warps
/// of a block in turn, then across the blocks of a cluster in turn. Both executors follow it, so the same values give
/// the same bits. `op(x, y)` has to be commutative.
#include <cstdint>
#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>
#include <type_traits>

namespace kiln {

/// Shared memory of reductions over `Threads` threads, of `Blocks` blocks together: declare it `__shared__` on the
/// device. It serves any number of reductions, one after another, of values of up to 16 bytes. The host and scopes
/// inside a warp need none.
template <class Where, int Threads, int Blocks = 1>
struct reduce_storage {};

namespace detail {
#if defined(__CUDACC__)
__device__ __forceinline__ unsigned in_shared(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
#endif
}  // namespace detail

#if defined(__CUDACC__)
template <int Threads, int Blocks>
requires(Threads / Blocks > 32) struct reduce_storage<on_device, Threads, Blocks> {
  static constexpr int warps = (Threads / Blocks + 31) / 32;
  struct alignas(16) half {
    unsigned char of_warps[warps * 16], of_blocks[Blocks * 16];
    std::uint64_t arrived;  // an mbarrier that the other blocks' results complete
  } halves[2];
};
#endif

/// Before the first exchange of a cluster: `begin` early, `wait` when there is nothing else to do. Nobody writes to the
/// memory of a block that has not begun.
template <class Storage>
KILN_FN void begin_exchanges([[maybe_unused]] Storage& shared) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (threadIdx.x == 0) {
    for (auto& half : shared.halves)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(detail::in_shared(&half.arrived)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
KILN_FN void wait_for_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

namespace detail {

/// Joins results in turn.
template <int Count, class T, class Op>
KILN_FN T in_turn(const T* of, Op op) {
  T r = of[0];
  KILN_UNROLL
  for (int i = 1; i < Count; ++i) r = op(r, of[i]);
  return r;
}

template <class Scope>
inline constexpr int blocks_of = 1;
template <class Where, int Threads, int Blocks>
inline constexpr int blocks_of<cluster_scope<Where, Threads, Blocks>> = Blocks;

#if defined(__CUDACC__)
template <class T, class Move>
__device__ __forceinline__ T moved(const T& x, Move move) {
  if constexpr (sizeof(T) == 4) {
    return bit_cast<T>(move(bit_cast<unsigned>(x)));
  } else {
    struct words {
      unsigned w[sizeof(T) / 4];
    } r = bit_cast<words>(x);
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / 4; ++i) r.w[i] = move(r.w[i]);
    return bit_cast<T>(r);
  }
}
/// Thread t stores x to where `to` lies in block t; all come back when all blocks' have arrived here. The stores are
/// asynchronous and tell the barrier of the block that they go to, which makes them seen by who waits there; to acquire
/// at the scope of the cluster would also empty the first-level cache of what lies beside the rows. A barrier of the
/// cluster instead would have to release what was written to global memory before, and so wait for the row before this
/// one.
template <int Blocks, class T>
__device__ __forceinline__ void send_to_blocks([[maybe_unused]] T* to, [[maybe_unused]] std::uint64_t* arrived,
                                               [[maybe_unused]] const T& x, [[maybe_unused]] int parity) {
#if __CUDA_ARCH__ >= 900
  const unsigned here = in_shared(arrived);
  if (threadIdx.x < Blocks) {
    struct words {
      unsigned w[sizeof(T) / 4];
    };
    const words v = bit_cast<words>(x);
    unsigned there, barrier;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(in_shared(to)), "r"(threadIdx.x));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"(here), "r"(threadIdx.x));
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / 4; ++i)
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(there + 4 * i),
          "r"(v.w[i]), "r"(barrier)
          : "memory");
  }
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(here),
                 "r"(static_cast<unsigned>(Blocks * sizeof(T)))
                 : "memory");
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}" ::"r"(here),
      "r"(parity)
      : "memory");
#endif
}
/// Groups of one warp may run apart from each other, so each names its own lanes only.
template <int Threads, class T, class Op>
__device__ __forceinline__ T reduce_in_warp(T x, Op op) {
  constexpr int group = Threads < 32 ? Threads : 32, rest = Threads < 32 ? 0 : Threads % 32;
  static_assert((group & (group - 1)) == 0, "a scope inside a warp has a power of two threads");
  const unsigned lane = threadIdx.x % 32;
  if constexpr (rest > 0) {  // the last warp of a block is not full
    if (threadIdx.x >= Threads - rest) {
      constexpr unsigned all = (1u << rest) - 1;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const T other = moved(x, [=](unsigned w) { return __shfl_down_sync(all, w, step); });
        if (static_cast<int>(lane) + step < rest) x = op(x, other);
      }
      return moved(x, [=](unsigned w) { return __shfl_sync(all, w, 0); });
    }
  }
  const unsigned mine = group == 32 ? 0xffffffffu : ((1u << (group % 32)) - 1) << (lane & ~(group - 1u));
#pragma unroll
  for (int step = 1; step < group; step *= 2)
    x = op(x, moved(x, [=](unsigned w) { return __shfl_xor_sync(mine, w, step); }));
  return x;
}
#endif

}  // namespace detail

/// x of each thread = the values of its warp (or of a scope inside one) combined.
KILN_HOST_CALLS template <class T, class Scope, class Op>
KILN_FN void warp_reduce(Scope, fragments<T, 1, Scope>& x, Op op) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0 && sizeof(T) <= 16);
  constexpr int threads = Scope::threads / detail::blocks_of<Scope>;
  if constexpr (Scope::host) {
    for (int first = 0; first < Scope::threads; first += threads)
      for (int warp = first; warp < first + threads; warp += 32) {
        const int lanes = first + threads - warp < 32 ? first + threads - warp : 32;
        for (int step = 1; step < 32; step *= 2)
          for (int lane = 0; lane + step < lanes; lane += 2 * step)
            x.r[warp + lane][0] = op(x.r[warp + lane][0], x.r[warp + lane + step][0]);
        for (int lane = 1; lane < lanes; ++lane) x.r[warp + lane][0] = x.r[warp][0];
      }
  } else {
#if defined(__CUDA_ARCH__)
    x.of(0)[0] = detail::reduce_in_warp<threads>(x.of(0)[0], op);
#endif
  }
}

/// One x of each warp combined, those of all its threads being equal; all threads call it. `turn` is the caller's and 0
/// at first; exchanges count it, so that two in a row use different halves of the storage. One barrier is then enough
/// for each: whoever writes a half again has passed the other's barrier, which nobody reaches before having read this
/// one.
KILN_HOST_CALLS template <class T, class Scope, class Storage, class Op>
KILN_FN T exchange(Scope, [[maybe_unused]] Storage& shared, [[maybe_unused]] int& turn, fragments<T, 1, Scope>& x,
                   Op op) {
  constexpr int blocks = detail::blocks_of<Scope>, threads = Scope::threads / blocks, warps = (threads + 31) / 32;
  if constexpr (threads <= 32) {
    return x.of(0)[0];
  } else if constexpr (Scope::host) {
    T of_block[blocks];
    for (int b = 0; b < blocks; ++b) {
      T of_warp[warps];
      for (int w = 0; w < warps; ++w) of_warp[w] = x.r[b * threads + w * 32][0];
      of_block[b] = detail::in_turn<warps>(of_warp, op);
    }
    return detail::in_turn<blocks>(of_block, op);
  } else {
#if defined(__CUDA_ARCH__)
    auto& half = shared.halves[turn & 1];
    T* of_warps = reinterpret_cast<T*>(half.of_warps);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x.of(0)[0];
    __syncthreads();
    T all = detail::in_turn<warps>(of_warps, op);
    if constexpr (blocks > 1) {
      T* of_blocks = reinterpret_cast<T*>(half.of_blocks);
      detail::send_to_blocks<blocks>(of_blocks + detail::block_rank(), &half.arrived, all, turn >> 1);
      all = detail::in_turn<blocks>(of_blocks, op);
    }
    turn = (turn + 1) & (blocks > 1 ? 3 : 1);
    return all;
#else
    return x.of(0)[0];
#endif
  }
}

/// Combines `x` over a scope: a cluster, a block of any size above 32, or an aligned group of 1, 2, 4 ... 32 threads.
/// All threads of the scope call it. `turn` is as in `exchange`.
KILN_HOST_CALLS template <class T, class Scope, class Storage, class Op>
KILN_FN T block_reduce(Scope threads, Storage& shared, int& turn, fragments<T, 1, Scope>& x, Op op) {
  warp_reduce(threads, x, op);
  return exchange(threads, shared, turn, x, op);
}
/// The same for once in a while: a second barrier lets the storage be used again at once.
KILN_HOST_CALLS template <class T, class Where, int Threads, class Op>
KILN_FN T block_reduce(scope<Where, Threads> threads, reduce_storage<Where, Threads>& shared,
                       fragments<T, 1, scope<Where, Threads>>& x, Op op) {
  int turn = 0;
  const T all = block_reduce(threads, shared, turn, x, op);
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<Where, on_device> && Threads > 32) __syncthreads();
#endif
  return all;
}

}  // namespace kiln
