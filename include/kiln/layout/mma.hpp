#pragma once
/// Which element of a matrix lies in which register of which lane, for the warp's matrix instructions.
///
/// One formula per operand serves all shapes: a 32-bit register holds 32 / Bits neighbours along K, four lanes side by
/// side hold 16 bytes of a row, and the registers step through quadrants. So Bits = 16 gives m16n8k16 and (with half
/// the registers) m16n8k8, Bits = 8 gives m16n8k32, and Bits = 32 gives the tf32 form of m16n8k8. Source: PTX ISA,
/// "Matrix fragments for mma.m16n8k8 / m16n8k16 / m16n8k32", "ldmatrix", "stmatrix".
#include <kiln/core/macros.hpp>
#include <kiln/core/types.hpp>

namespace kiln {

/// Row and column inside one tile.
struct tile_coord {
  int row, col;
  KILN_FN constexpr operator coord() const { return {row, col}; }  // NOLINT: widens
  friend constexpr bool operator==(const tile_coord&, const tile_coord&) = default;
};

/// Element of A, 16 x K row-major: (m, k). Registers 0 to 3; element 0 is in the register's low bits.
template <int Bits>
KILN_FN constexpr tile_coord mma_a(int lane, int reg, int element) {
  return {lane / 4 + reg % 2 * 8, (lane % 4 + reg / 2 * 4) * (32 / Bits) + element};
}

/// Element of B, K x 8: (k, n). Registers 0 and 1.
template <int Bits>
KILN_FN constexpr tile_coord mma_b(int lane, int reg, int element) {
  return {(lane % 4 + reg * 4) * (32 / Bits) + element, lane / 4};
}

/// Element of C and D, 16 x 8, one float or int32 a register: (m, n). Registers 0 to 3.
KILN_FN constexpr tile_coord mma_c(int lane, int reg) { return {lane / 4 + reg / 2 * 8, lane % 4 * 2 + reg % 2}; }

/// ldmatrix and stmatrix move 8 x 8 matrices of 16-bit elements. Lane i gives the address of row i % 8 of matrix i / 8
/// (`matrix`), so x1 heeds lanes 0 to 7, x2 lanes 0 to 15, x4 all.
struct matrix_row {
  int matrix, row;
  friend constexpr bool operator==(const matrix_row&, const matrix_row&) = default;
};
KILN_FN constexpr matrix_row ldmatrix_row(int lane) { return {lane / 8, lane % 8}; }

/// Element `element` (0 low, 1 high) of register i is element (row, col) of matrix i, as it lies in memory.
template <bool Transposed>
KILN_FN constexpr tile_coord ldmatrix_element(int lane, int element) {
  if constexpr (Transposed)
    return {lane % 4 * 2 + element, lane / 4};
  else
    return {lane / 4, lane % 4 * 2 + element};
}

/// The address that a lane gives to ldmatrix.x4 to fetch a whole mma operand from a tile in shared memory: row and
/// column, in elements, of the 16 bytes, from the operand's first element.
///
/// A stored [m][k]: the four registers of A, 16 x K.
template <int Bits>
KILN_FN constexpr tile_coord ldmatrix_a(int lane) {
  return {lane % 16, lane / 16 * (128 / Bits)};
}
/// B stored [n][k]: registers 0, 1 are B of columns n = 0..7, registers 2, 3 of n = 8..15. x2 takes the first of the
/// two.
template <int Bits>
KILN_FN constexpr tile_coord ldmatrix_b(int lane) {
  return {lane / 16 * 8 + lane % 8, lane / 8 % 2 * (128 / Bits)};
}
/// A stored [k][m], 16-bit elements, with .trans: row is k, column is m.
KILN_FN constexpr tile_coord ldmatrix_a_trans(int lane) { return {lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8}; }
/// B stored [k][n], 16-bit elements, with .trans: row is k, column is n; registers as for `ldmatrix_b`.
KILN_FN constexpr tile_coord ldmatrix_b_trans(int lane) { return {lane % 16, lane / 16 * 8}; }

}  // namespace kiln
