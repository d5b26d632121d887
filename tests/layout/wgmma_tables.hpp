#pragma once
/// Register fragments of wgmma as the PTX ISA prints them: threads by %laneid and by warp of the warpgroup, elements in
/// register order, low bits first.
#include "tests/layout/ptx_tables.hpp"

namespace kiln::test::ptx {

// D of m64nN: warp i of the warpgroup holds rows 16 i to 16 i + 15. Row by row of the figure: T0 holds d0 d1 of row 0
// at columns 0 1, d2 d3 of row 8 at the same columns, d4 d5 of row 0 at columns 8 9, d6 d7 of row 8 at columns 8 9, and
// so on.
inline place wgmma_d(int tid, int i) {
  static constexpr int row_of[4] = {0, 0, 8, 8}, col_of[4] = {0, 1, 0, 1};
  const int laneid = tid & 31, warp = tid >> 5;
  return {16 * warp + group_id(laneid) + row_of[i & 3], 8 * (i >> 2) + 2 * thread_id_in_group(laneid) + col_of[i & 3]};
}

// A of m64nNk16 from registers: a0 a1 row 0 columns 0 1 (of T0), a2 a3 row 8, a4 a5 row 0 columns 8 9, a6 a7 row 8
// columns 8 9.
inline place wgmma_a_k16(int tid, int i) {
  static constexpr int row_of[8] = {0, 0, 8, 8, 0, 0, 8, 8}, col_of[8] = {0, 1, 0, 1, 8, 9, 8, 9};
  const int laneid = tid & 31, warp = tid >> 5;
  return {16 * warp + group_id(laneid) + row_of[i], 2 * thread_id_in_group(laneid) + col_of[i]};
}

// A of m64nNk32 from registers: four neighbours a register, a0 to a3 row 0, a4 to a7 row 8, the rest 16 columns on.
inline place wgmma_a_k32(int tid, int i) {
  static constexpr int row_of[16] = {0, 0, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0, 8, 8, 8, 8};
  static constexpr int col_of[16] = {0, 1, 2, 3, 0, 1, 2, 3, 16, 17, 18, 19, 16, 17, 18, 19};
  const int laneid = tid & 31, warp = tid >> 5;
  return {16 * warp + group_id(laneid) + row_of[i], 4 * thread_id_in_group(laneid) + col_of[i]};
}

}  // namespace kiln::test::ptx
