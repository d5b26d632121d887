#pragma once
/// stmatrix: a warp stores 8 x 8 matrices of 16-bit elements from registers to rows of 16 bytes in shared memory.
/// Source: PTX ISA, "stmatrix". The counterpart of ldmatrix, with the same maps (layout/mma.hpp).
#include <cstdint>
#include <cstring>
#include <kiln/arch/host/watch.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/layout/mma.hpp>

namespace kiln::sm90 {

namespace detail {
KILN_HOST_CALLS template <int Count, bool Transposed, class Where, class Address, class Registers>
KILN_FN void store_matrices([[maybe_unused]] warp_scope<Where> warp, Address address, Registers registers) {
  static_assert(Count == 1 || Count == 2 || Count == 4, "stmatrix stores 1, 2 or 4 matrices");
  if constexpr (warp_scope<Where>::host) {
    unsigned char* line[8 * Count];
    for (int lane = 0; lane < 8 * Count; ++lane) {
      const auto [matrix, row] = ldmatrix_row(lane);
      line[matrix * 8 + row] = static_cast<unsigned char*>(static_cast<void*>(address(lane)));
    }
    for (int lane = 0; lane < 32; ++lane) {
      const auto* from = registers(lane);
      for (int i = 0; i < Count; ++i) {
        const auto pair = bit_cast<std::uint32_t>(from[i]);
        for (int e = 0; e < 2; ++e) {
          const auto [row, col] = ldmatrix_element<Transposed>(lane, e);
          unsigned char* to = line[i * 8 + row] + col * 2;
          const auto value = static_cast<std::uint16_t>(pair >> 16 * e);
          twin::note_write(to, 2, warp.first + lane);
          std::memcpy(to, &value, 2);
        }
      }
    }
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const int lane = kiln::detail::thread_rank() % 32;
    const std::uint32_t at = shared_address(address(lane));
    const auto* from = registers(lane);
    std::uint32_t r[Count];
    KILN_UNROLL
    for (int i = 0; i < Count; ++i) r[i] = bit_cast<std::uint32_t>(from[i]);
    if constexpr (Count == 1 && !Transposed)
      asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(r[0]) : "memory");
    else if constexpr (Count == 1)
      asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(at), "r"(r[0]) : "memory");
    else if constexpr (Count == 2 && !Transposed)
      asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(r[0]), "r"(r[1])
                   : "memory");
    else if constexpr (Count == 2)
      asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(r[0]), "r"(r[1])
                   : "memory");
    else if constexpr (!Transposed)
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(r[0]), "r"(r[1]),
                   "r"(r[2]), "r"(r[3])
                   : "memory");
    else
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(r[0]),
                   "r"(r[1]), "r"(r[2]), "r"(r[3])
                   : "memory");
#endif
  }
}
}  // namespace detail

/// `address(lane)` points at the 16-byte row that the lane stores to (see `ldmatrix_row`; the twin asks lanes 0 to
/// 8 Count - 1), `registers(lane)` at Count values of 4 bytes, two elements each.
template <int Count, class Where, class Address, class Registers>
KILN_FN void stmatrix(warp_scope<Where> warp, Address address, Registers registers) {
  detail::store_matrices<Count, false>(warp, address, registers);
}
/// The same, each matrix transposed on its way.
template <int Count, class Where, class Address, class Registers>
KILN_FN void stmatrix_trans(warp_scope<Where> warp, Address address, Registers registers) {
  detail::store_matrices<Count, true>(warp, address, registers);
}

}  // namespace kiln::sm90
