#pragma once
/// One value of each thread of a scope combined into one that all of them get.
///
/// The order is fixed by the number of threads: within a warp neighbours first, then pairs of pairs; across warps in
/// turn. Both executors follow it, so the same values give the same bits. `op(x, y)` has to be commutative.
#include <cstdint>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>
#include <type_traits>

#if defined(__CUDACC__)
#include <cub/block/block_reduce.cuh>
#endif

namespace kiln {

/// Shared memory of `block_reduce`: declare it `__shared__` on the device. The same storage serves any number of
/// reductions, one after another, of values of up to 8 bytes. The host and scopes inside a warp need none.
template <class Where, int Threads>
struct reduce_storage {};

#if defined(__CUDACC__)
template <int Threads>
requires(Threads > 32) struct reduce_storage<on_device, Threads> {
  template <class T>
  using collective = cub::BlockReduce<T, Threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  union {
    typename collective<float>::TempStorage four_bytes;
    typename collective<std::uint64_t>::TempStorage eight_bytes;
    unsigned char bytes[1];
  } temporary;
  std::uint64_t result;
};
#endif

namespace detail {

/// The host's twin: the order of the device's shuffles, then of its walk over the warps.
template <int Threads, class T, class Op>
T reduce_in_order(T (&x)[Threads][1], Op op) {
  for (int warp = 0; warp < Threads; warp += 32) {
    const int lanes = Threads - warp < 32 ? Threads - warp : 32;
    for (int step = 1; step < 32; step *= 2)
      for (int lane = 0; lane + step < lanes; lane += 2 * step)
        x[warp + lane][0] = op(x[warp + lane][0], x[warp + lane + step][0]);
  }
  T r = x[0][0];
  for (int warp = 32; warp < Threads; warp += 32) r = op(r, x[warp][0]);
  return r;
}

#if defined(__CUDACC__)
/// Groups of one warp may run apart from each other, so each names its own lanes only.
template <int Threads, class T, class Op>
__device__ __forceinline__ T reduce_in_warp(T x, Op op) {
  static_assert((Threads & (Threads - 1)) == 0, "a scope inside a warp has a power of two threads");
  const unsigned lane = threadIdx.x % 32;
  const unsigned mine = Threads == 32 ? 0xffffffffu : ((1u << (Threads % 32)) - 1) << (lane & ~(Threads - 1u));
#pragma unroll
  for (int step = 1; step < Threads; step *= 2) x = op(x, __shfl_xor_sync(mine, x, step));
  return x;
}
#endif

}  // namespace detail

/// Combines `x` over the scope; `scope` is a whole block of any size above 32, or an aligned group of 1, 2, 4 ... 32
/// threads. All threads of the scope call it. A barrier stands between what they did before and the return.
KILN_HOST_CALLS template <class T, class Where, int Threads, class Op>
KILN_FN T block_reduce(scope<Where, Threads>, [[maybe_unused]] reduce_storage<Where, Threads>& shared,
                       fragments<T, 1, scope<Where, Threads>>& x, Op op) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_integral_v<T>,
                "block_reduce combines one number of 4 or 8 bytes");
  if constexpr (std::is_same_v<Where, on_host>) {
    return detail::reduce_in_order<Threads>(x.r, op);
  } else {
#if defined(__CUDA_ARCH__)
    const T mine = x.of(0)[0];
    if constexpr (Threads <= 32) {
      return detail::reduce_in_warp<Threads>(mine, op);
    } else {
      using collective = typename reduce_storage<Where, Threads>::template collective<T>;
      auto& temporary = reinterpret_cast<typename collective::TempStorage&>(shared.temporary);
      const T combined = collective(temporary).Reduce(mine, op);
      if (threadIdx.x == 0) reinterpret_cast<T&>(shared.result) = combined;
      // The next reduction overwrites `result` behind a barrier of its own, which nobody passes before having read it
      // here.
      __syncthreads();
      return reinterpret_cast<T&>(shared.result);
    }
#else
    return x.of(0)[0];
#endif
  }
}

}  // namespace kiln
