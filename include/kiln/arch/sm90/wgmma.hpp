#pragma once
/// wgmma: D (64 x N) = A (64 x K) * B (K x N), plus D, by a warpgroup, asynchronously. K is 16 for 16-bit types, 32 for
/// 8-bit. Source: PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group".
///
/// | A, B       | accumulator | majors of A, B from shared memory | A from registers |
/// |------------|-------------|-----------------------------------|------------------|
/// | f16, bf16  | float       | any                               | yes              |
/// | e4m3, e5m2 | float       | K                                 | no               |
/// | int8       | int32       | K                                 | no               |
#include <cstdint>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/sm90/descriptor.hpp>
#include <kiln/arch/sm90/wgmma_ptx.hpp>
#include <kiln/arch/sm90/wgmma_twin.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/scope.hpp>
#include <type_traits>

namespace kiln::sm90 {

/// Elements along K of one instruction.
template <class T>
inline constexpr int wgmma_k = 32 / static_cast<int>(sizeof(T));
template <class T>
using wgmma_accumulator_t = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

namespace detail {
template <class T>
inline constexpr bool is_16_bit = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
inline constexpr bool is_fp8 = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

template <class A, class B, class Acc, int N>
KILN_FN constexpr void check_product() {
  static_assert((is_16_bit<A> && std::is_same_v<A, B>) || (is_fp8<A> && is_fp8<B>) ||
                    (std::is_same_v<A, std::int8_t> && std::is_same_v<A, B>),
                "wgmma: A and B are both f16, both bf16, both int8, or any of e4m3 and e5m2");
  static_assert(std::is_same_v<Acc, wgmma_accumulator_t<A>>, "wgmma: accumulators are float, of int8 operands int32");
  static_assert(N == 8 || (N % 16 == 0 && N <= 256), "wgmma: N is 8, or a multiple of 16 up to 256");
}

/// Tells the compiler that these registers change here.
template <class T, int N, class Scope>
KILN_FN void touch([[maybe_unused]] fragments<T, N, Scope>& f) {
#if defined(__CUDA_ARCH__)
  if constexpr (!Scope::host) {
    auto& r = f.of(0);
    KILN_UNROLL
    for (int i = 0; i < N; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        asm volatile("" : "+f"(r[i])::"memory");
      } else {
        asm volatile("" : "+r"(r[i])::"memory");
      }
    }
  }
#endif
}
}  // namespace detail

/// Before the first wgmma, and again after its registers (accumulators, or A) were written: orders those writes before
/// it. Name the registers that were written, and none that a product still in flight uses. Make descriptors before it:
/// a branch between fence and wgmma makes the assembler fence again (its remark C7519).
KILN_HOST_CALLS template <class Scope, class... Fragments>
KILN_FN void wgmma_fence([[maybe_unused]] Scope where, Fragments&... written) {
  static_assert(Scope::threads == 128, "wgmma_fence: a step of a warpgroup, 128 threads");
  (detail::touch(written), ...);
  if constexpr (Scope::host) {
    twin::sm().product_fence(where.first);
  } else {
#if KILN_SM90A
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
  }
}

/// Starts D = A * B, plus D if `accumulate`; N is twice the registers of D. Reads the operands until a `wgmma_wait`.
KILN_HOST_CALLS template <class A, class B = A, major MajorA = major::k, major MajorB = major::k, class Scope,
                          class Acc, int R>
KILN_FN void wgmma([[maybe_unused]] Scope where, fragments<Acc, R, Scope>& d, matrix_descriptor a, matrix_descriptor b,
                   bool accumulate) {
  static_assert(Scope::threads == 128, "wgmma: a step of a warpgroup, 128 threads");
  static_assert(detail::is_16_bit<A> || (MajorA == major::k && MajorB == major::k),
                "wgmma: 8-bit operands are K-major; transpose them on the way into shared memory");
  detail::check_product<A, B, Acc, 2 * R>();
  if constexpr (Scope::host) {
    using unit = wgmma_twin<A, B, 2 * R, MajorA == major::mn, MajorB == major::mn>;
    const twin::product_op op{where.first, d.r, sizeof(d.r), nullptr, a.bits, b.bits, accumulate, unit::perform};
    twin::sm().product(op);
  } else {
#if KILN_SM90A
    detail::product_shared<A, B, MajorA == major::mn, MajorB == major::mn>(d.of(0), a.bits, b.bits, accumulate);
#endif
  }
}

/// As above with A in registers (`wgmma_a<16>` tells which elements), which stay untouched until the `wgmma_wait`.
KILN_HOST_CALLS template <class A, major MajorB = major::k, class Scope, int R>
KILN_FN void wgmma([[maybe_unused]] Scope where, fragments<float, R, Scope>& d,
                   const fragments<std::uint32_t, 4, Scope>& a, matrix_descriptor b, bool accumulate) {
  static_assert(Scope::threads == 128, "wgmma: a step of a warpgroup, 128 threads");
  static_assert(detail::is_16_bit<A>, "wgmma: A from registers is f16 or bf16");
  detail::check_product<A, A, float, 2 * R>();
  if constexpr (Scope::host) {
    using unit = wgmma_twin<A, A, 2 * R, false, MajorB == major::mn>;
    const twin::product_op op{where.first, d.r, sizeof(d.r), a.r, 0, b.bits, accumulate, unit::perform};
    twin::sm().product(op);
  } else {
#if KILN_SM90A
    detail::product_registers<A, MajorB == major::mn>(d.of(0), a.of(0), b.bits, accumulate);
#endif
  }
}

/// Closes the group of products started since the last commit.
KILN_HOST_CALLS template <class Scope>
KILN_FN void wgmma_commit([[maybe_unused]] Scope where) {
  static_assert(Scope::threads == 128, "wgmma_commit: a step of a warpgroup, 128 threads");
  if constexpr (Scope::host) {
    twin::sm().product_commit(where.first);
  } else {
#if KILN_SM90A
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
  }
}

/// Waits until all groups but the last Pending are done: their operands may be overwritten, their accumulators read.
/// Name the accumulators that the code uses next, so that no compiler moves the use before the wait.
KILN_HOST_CALLS template <int Pending, class Scope, class... Fragments>
KILN_FN void wgmma_wait([[maybe_unused]] Scope where, Fragments&... finished) {
  static_assert(Scope::threads == 128, "wgmma_wait: a step of a warpgroup, 128 threads");
  static_assert(Pending >= 0 && Pending <= 7, "wgmma_wait: at most 7 groups stay pending");
  if constexpr (Scope::host) {
    twin::sm().product_wait(where.first, Pending);
  } else {
#if KILN_SM90A
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#endif
  }
  (detail::touch(finished), ...);
}

}  // namespace kiln::sm90
