#pragma once
/// Steps between threads: barriers, and collectives over neighbouring lanes.
///
/// These are no loop over threads: on the host each acts on the registers of all threads of the scope at once, in the
/// device's order, so that both executors round alike. Lanes are threads modulo 32; all lanes of a warp take part.
#include <cstdint>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <type_traits>

namespace kiln {

/// Barrier of a warp, or of the whole block for a larger scope: no thread goes on before all have come, and what they
/// wrote to shared memory before it is seen after it.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void sync(scope<Where, Threads> all) {
  if constexpr (scope<Where, Threads>::host) {
    twin::note_barrier(all.first, Threads);
  } else {
#if defined(__CUDA_ARCH__)
    if constexpr (Threads <= 32)
      __syncwarp();
    else
      __syncthreads();
#endif
  }
}

/// Named barrier of a part of the block, a warpgroup for instance. `name` in [1, 15]; the parts of a block that are
/// between barriers at the same time need different names. Number 0 is the whole block's.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN void sync(scope<Where, Threads> part, [[maybe_unused]] int name) {
  static_assert(Threads % 32 == 0, "a named barrier joins whole warps");
  if constexpr (scope<Where, Threads>::host) {
    twin::note_barrier(part.first, Threads);
  } else {
#if defined(__CUDA_ARCH__)
    asm volatile("bar.sync %0, %1;" ::"r"(name), "n"(Threads) : "memory");
#endif
  }
}

namespace detail {
/// The value of lane `source`, for any type of 1, 2 or 4 n bytes.
template <class T>
KILN_FN T from_lane([[maybe_unused]] int source, const T& mine) {
#if defined(__CUDA_ARCH__)
  constexpr unsigned all = 0xffffffffu;
  if constexpr (sizeof(T) == 1) {
    return bit_cast<T>(
        static_cast<std::uint8_t>(__shfl_sync(all, static_cast<unsigned>(bit_cast<std::uint8_t>(mine)), source)));
  } else if constexpr (sizeof(T) == 2) {
    return bit_cast<T>(
        static_cast<std::uint16_t>(__shfl_sync(all, static_cast<unsigned>(bit_cast<std::uint16_t>(mine)), source)));
  } else {
    struct words {
      unsigned w[sizeof(T) / 4];
    } r = bit_cast<words>(mine);
    KILN_UNROLL
    for (unsigned i = 0; i < sizeof(T) / 4; ++i) r.w[i] = __shfl_sync(all, r.w[i], source);
    return bit_cast<T>(r);
  }
#else
  return mine;
#endif
}

/// x[i] of each thread = combine(lane, its x[i], x[i] of lane source(lane)), over all warps of the scope.
KILN_HOST_CALLS template <class T, int N, class Scope, class Source, class Combine>
KILN_FN void exchange_lanes(Scope, fragments<T, N, Scope>& x, Source source, Combine combine) {
  static_assert(Scope::threads % 32 == 0,
                "lanes exchange registers in whole warps: use a warp, a warpgroup or a block");
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) % 4 == 0),
                "lanes exchange trivially copyable values of 1, 2 or 4 n bytes");
  if constexpr (Scope::host) {
    for (int warp = 0; warp < Scope::threads; warp += 32) {
      for (int i = 0; i < N; ++i) {
        T before[32];
        for (int lane = 0; lane < 32; ++lane) before[lane] = x.of(warp + lane)[i];
        for (int lane = 0; lane < 32; ++lane) {
          x.of(warp + lane)[i] = combine(lane, before[lane], before[source(lane) % 32]);
        }
      }
    }
  } else {
    const int thread = thread_rank(), lane = thread % 32, from = source(lane);
    KILN_UNROLL
    for (int i = 0; i < N; ++i) {
      T& mine = x.of(thread)[i];
      mine = combine(lane, mine, from_lane(from, mine));
    }
  }
}
}  // namespace detail

/// Each lane gets the registers of lane `source_lane_of(lane)` of its warp; both in [0, 32).
template <class T, int N, class Scope, class SourceLaneOf>
KILN_FN void shuffle(Scope where, fragments<T, N, Scope>& x, SourceLaneOf source_lane_of) {
  detail::exchange_lanes(where, x, source_lane_of, [](int, const T&, const T& theirs) { return theirs; });
}

/// Combines each register over groups of `Width` neighbouring lanes (2, 4, ... 32); all lanes of a group get the
/// result. `op(x, y)` has to be commutative. Order: neighbours first, then pairs of pairs.
template <int Width, class T, int N, class Scope, class Op>
KILN_FN void group_reduce(Scope where, fragments<T, N, Scope>& x, Op op) {
  static_assert(Width >= 1 && Width <= 32 && (Width & (Width - 1)) == 0,
                "group_reduce: Width is a power of two up to 32");
  KILN_UNROLL
  for (int step = 1; step < Width; step *= 2) {
    detail::exchange_lanes(
        where, x, [step](int lane) { return lane ^ step; },
        [op](int, const T& mine, const T& theirs) { return op(mine, theirs); });
  }
}

/// Inclusive scan of each register over groups of `Width` neighbouring lanes: lane i gets op over lanes 0 to i of its
/// group, combined as op(earlier, later) at distances 1, 2, 4, ...
template <int Width, class T, int N, class Scope, class Op>
KILN_FN void group_scan(Scope where, fragments<T, N, Scope>& x, Op op) {
  static_assert(Width >= 1 && Width <= 32 && (Width & (Width - 1)) == 0,
                "group_scan: Width is a power of two up to 32");
  KILN_UNROLL
  for (int step = 1; step < Width; step *= 2) {
    detail::exchange_lanes(
        where, x, [step](int lane) { return lane % Width >= step ? lane - step : lane; },
        [op, step](int lane, const T& mine, const T& earlier) {
          return lane % Width >= step ? op(earlier, mine) : mine;
        });
  }
}

}  // namespace kiln
