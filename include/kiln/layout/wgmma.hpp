#pragma once
/// Which element of a matrix lies in which register of which thread of a warpgroup, for wgmma.
/// Source: PTX ISA, "Register fragments and shared memory matrix layouts" of wgmma. Threads are ranks in the warpgroup.
#include <kiln/core/macros.hpp>
#include <kiln/layout/mma.hpp>

namespace kiln {

/// Element of D, 64 x N, one float or int32 a register: (m, n). Registers 0 to N / 2 - 1. Each warp holds 16 rows.
KILN_FN constexpr tile_coord wgmma_d(int thread, int reg) {
  return {thread / 32 * 16 + thread % 32 / 4 + reg / 2 % 2 * 8, reg / 4 * 8 + thread % 4 * 2 + reg % 2};
}

/// Element of A from registers, 64 x (256 / Bits): (m, k). Registers 0 to 3; element 0 is in the register's low bits.
template <int Bits>
KILN_FN constexpr tile_coord wgmma_a(int thread, int reg, int element) {
  const tile_coord in_warp = mma_a<Bits>(thread % 32, reg, element);
  return {thread / 32 * 16 + in_warp.row, in_warp.col};
}

}  // namespace kiln
