#pragma once
/// The instructions of sm_80 and later that a tile program uses, one thin function each, and their host twins:
/// cp.async, ldmatrix, mma.sync.
///
/// The scope's type chooses: PTX on the device, the twin on the host. A twin sees what the hardware sees, addresses and
/// the registers of each lane. Where an instruction has operands in registers, a callable gives those of a lane; on the
/// device it is called once, for this lane. Sources: PTX ISA, "cp.async", "ldmatrix", "mma".
#include <cstdint>
#include <kiln/arch/sm80_twin.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/layout/mma.hpp>
#include <type_traits>

namespace kiln::sm80 {

#if defined(__CUDACC__)
/// The 32-bit address in shared memory of a generic pointer into it.
KILN_DEVICE std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
#endif

/// Starts a copy of Bytes (4, 8 or 16; both addresses multiples of it) from global to shared memory by `thread` of the
/// scope. Of the source only the first `valid` bytes are read, the rest becomes zero; with valid = 0 the source is not
/// read.
KILN_HOST_CALLS template <int Bytes, class Scope>
KILN_FN void cp_async(Scope where, int thread, void* to, const void* from, int valid = Bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp_async copies 4, 8 or 16 bytes");
  if constexpr (Scope::host) {
    twin::require_aligned(to, Bytes, "cp.async, destination");
    if (valid > 0) twin::require_aligned(from, Bytes, "cp.async, source");
    twin::note_write(to, Bytes, where.first + thread);
    twin::copies_of(where.first + thread).issue(to, from, Bytes, valid);
  } else {
#if defined(__CUDA_ARCH__)
    const std::uint32_t at = shared_address(to);
    // Only 16 bytes may pass by the L1, which has no use for data that go to shared memory.
    if constexpr (Bytes == 16)
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(Bytes), "r"(valid)
                   : "memory");
#endif
  }
}

/// Ends a group: the copies that each thread of the scope has started since its last commit.
KILN_HOST_CALLS template <class Scope>
KILN_FN void cp_async_commit(Scope where) {
  if constexpr (Scope::host) {
    for (int t = 0; t < Scope::threads; ++t) twin::copies_of(where.first + t).commit();
  } else {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
}

/// Each thread of the scope waits until all its groups but the N latest have landed. Others see the bytes after a
/// barrier.
KILN_HOST_CALLS template <int N, class Scope>
KILN_FN void cp_async_wait(Scope where) {
  if constexpr (Scope::host) {
    for (int t = where.first; t < where.first + Scope::threads; ++t) twin::copies_of(t).wait(N, t);
  } else {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
  }
}

namespace detail {
KILN_HOST_CALLS template <int Count, bool Transposed, class Where, class Address, class Registers>
KILN_FN void load_matrices(warp_scope<Where> warp, Address address, Registers registers) {
  static_assert(Count == 1 || Count == 2 || Count == 4, "ldmatrix loads 1, 2 or 4 matrices");
  if constexpr (warp_scope<Where>::host) {
    const unsigned char* line[8 * Count];
    for (int lane = 0; lane < 8 * Count; ++lane) {
      const auto [matrix, row] = ldmatrix_row(lane);
      line[matrix * 8 + row] = reinterpret_cast<const unsigned char*>(address(lane));
      twin::require_aligned(line[matrix * 8 + row], 16, "ldmatrix");
    }
    for (int lane = 0; lane < 32; ++lane) {
      std::uint32_t* to = registers(lane);
      const auto low = ldmatrix_element<Transposed>(lane, 0), high = ldmatrix_element<Transposed>(lane, 1);
      for (int i = 0; i < Count; ++i) {
        const unsigned char* from[] = {line[i * 8 + low.row] + low.col * 2, line[i * 8 + high.row] + high.col * 2};
        for (const auto* p : from) twin::note_read(p, 2, warp.first + lane);
        to[i] = static_cast<std::uint32_t>(from[0][0]) | static_cast<std::uint32_t>(from[0][1]) << 8 |
                static_cast<std::uint32_t>(from[1][0]) << 16 | static_cast<std::uint32_t>(from[1][1]) << 24;
      }
    }
  } else {
#if defined(__CUDA_ARCH__)
    const int lane = kiln::detail::thread_rank() % 32;
    const std::uint32_t at = shared_address(address(lane));
    std::uint32_t* r = registers(lane);
    if constexpr (Count == 1 && !Transposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at) : "memory");
    else if constexpr (Count == 1)
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at) : "memory");
    else if constexpr (Count == 2 && !Transposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(r[0]), "=r"(r[1])
                   : "r"(at)
                   : "memory");
    else if constexpr (Count == 2)
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(r[0]), "=r"(r[1])
                   : "r"(at)
                   : "memory");
    else if constexpr (!Transposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(at)
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(at)
                   : "memory");
#endif
  }
}
}  // namespace detail

/// Loads Count (1, 2 or 4) 8 x 8 matrices of 16-bit elements. `address(lane)` points at 16 bytes in shared memory, a
/// row of a matrix (see `ldmatrix_row`); `registers(lane)` at Count uint32. The twin asks lanes 0 to 8 Count - 1 for
/// addresses.
template <int Count, class Where, class Address, class Registers>
KILN_FN void ldmatrix(warp_scope<Where> warp, Address address, Registers registers) {
  detail::load_matrices<Count, false>(warp, address, registers);
}
/// The same, each matrix transposed on its way.
template <int Count, class Where, class Address, class Registers>
KILN_FN void ldmatrix_trans(warp_scope<Where> warp, Address address, Registers registers) {
  detail::load_matrices<Count, true>(warp, address, registers);
}

/// The mma.sync shape for element type T is m16n8k`mma_k<T>`: 16 for f16 and bf16, 32 for 8-bit types.
template <class T>
inline constexpr int mma_k = 32 / static_cast<int>(sizeof(T));
template <class T>
using mma_accumulator_t = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
template <class T>
inline constexpr bool has_mma =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2> ||
    std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>;
/// The oldest architecture that has it: 80, or 89 for the 8-bit floats. Code for older ones traps; check before the
/// launch.
template <class T>
inline constexpr int mma_needs = is_fp8_v<T> ? 89 : 80;

namespace detail {
/// Element `e` of a register, widened exactly.
template <class T>
mma_accumulator_t<T> widened(std::uint32_t reg, int e) {
  const std::uint32_t bits = reg >> (e * static_cast<int>(sizeof(T)) * 8);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(bits);
  else
    return T::from_bits(static_cast<decltype(T::bits)>(bits));
}

/// Sums in float32, or int32 modulo 2^32, over k upwards from c. The products are exact, so nothing depends on
/// contraction.
template <class T, class A, class B, class C>
void mma_on_host(A a, B b, C c) {
  using acc = mma_accumulator_t<T>;
  using sum = std::conditional_t<std::is_integral_v<T>, std::uint32_t, float>;
  constexpr int bits = static_cast<int>(sizeof(T)) * 8, per_register = 32 / bits, depth = mma_k<T>;
  sum left[16][depth], right[depth][8], result[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < per_register; ++e) {
      for (int i = 0; i < 4; ++i) {
        const auto [m, k] = mma_a<bits>(lane, i, e);
        left[m][k] = static_cast<sum>(widened<T>(a(lane)[i], e));
      }
      for (int i = 0; i < 2; ++i) {
        const auto [k, n] = mma_b<bits>(lane, i, e);
        right[k][n] = static_cast<sum>(widened<T>(b(lane)[i], e));
      }
    }
    for (int i = 0; i < 4; ++i) {
      const auto [m, n] = mma_c(lane, i);
      result[m][n] = static_cast<sum>(c(lane)[i]);
    }
  }
  for (int m = 0; m < 16; ++m)
    for (int k = 0; k < depth; ++k)
      for (int n = 0; n < 8; ++n) result[m][n] += left[m][k] * right[k][n];
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const auto [m, n] = mma_c(lane, i);
      c(lane)[i] = static_cast<acc>(result[m][n]);
    }
  }
}
}  // namespace detail

#define KILN_MMA(types, bound)                                                                              \
  asm volatile("mma.sync.aligned." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : bound(rc[0]), bound(rc[1]), bound(rc[2]), bound(rc[3])                                     \
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]))

/// c += a * b on one warp: 16 x 8 (x mma_k<T>), a row-major, b column-major. `a(lane)` points at 4 uint32, `b(lane)` at
/// 2, `c(lane)` at 4 accumulators (float, or int32 for integers, which wrap). Elements lie as `mma_a`, `mma_b`, `mma_c`
/// say.
KILN_HOST_CALLS template <class T, class Where, class A, class B, class C>
KILN_FN void mma(warp_scope<Where>, A a, B b, C c) {
  static_assert(has_mma<T>, "mma<T>: T has to be f16, bf16, e4m3, e5m2, int8 or uint8");
  if constexpr (warp_scope<Where>::host) {
    detail::mma_on_host<T>(a, b, c);
  } else {
#if defined(__CUDA_ARCH__)
    const int lane = kiln::detail::thread_rank() % 32;
    const std::uint32_t *ra = a(lane), *rb = b(lane);
    mma_accumulator_t<T>* rc = c(lane);
    if constexpr (std::is_same_v<T, f16>) {
      KILN_MMA("m16n8k16.row.col.f32.f16.f16.f32", "+f");
    } else if constexpr (std::is_same_v<T, bf16>) {
      KILN_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
    } else if constexpr (std::is_same_v<T, std::int8_t>) {
      KILN_MMA("m16n8k32.row.col.s32.s8.s8.s32", "+r");
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      KILN_MMA("m16n8k32.row.col.s32.u8.u8.s32", "+r");
    } else {
#if __CUDA_ARCH__ >= 890
      if constexpr (std::is_same_v<T, e4m3>)
        KILN_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
      else
        KILN_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", "+f");
#else
      (void)ra, (void)rb, (void)rc;
      __trap();
#endif
    }
#endif
  }
}
#undef KILN_MMA

}  // namespace kiln::sm80
