#pragma once
/// A warp's product with mma.sync: f16, bf16 (any major), int8 and 8-bit floats (K-major tiles). Fragments come by
/// ldmatrix.
#include <kiln/arch/sm80.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln {

/// A warp tile of WM x WN: blocks of 16 x 8 accumulators, register ((i * WN / 8) + j) * 4 + r of block row i, block
/// column j.
template <class Arguments, int WM, int WN, int K>
struct sm80_math {
  using element = typename Arguments::a_type;
  using accumulator = typename Arguments::accumulator;
  static_assert(std::is_same_v<element, typename Arguments::b_type>,
                "gemm: the sm80 instructions multiply operands of one type; convert one of them, or use "
                "config<instructions::simt>");
  static_assert(sm80::has_mma<element>,
                "gemm: the sm80 instructions take f16, bf16, int8, e4m3 or e5m2; float32 takes instructions::simt");
  static_assert(WM % 16 == 0 && WN % 16 == 0, "config: an sm80 warp tile is a multiple of 16 x 16");

  static constexpr int products = Arguments::products;
  static constexpr int bits = 8 * static_cast<int>(sizeof(element));
  static constexpr int depth = sm80::mma_k<element>;
  static constexpr int rows = WM / 16, cols = WN / 8, registers = rows * cols * 4;
  static constexpr int chunks = rows, chunk_rows = 16, chunk_registers = cols * 4;
  static constexpr int k_multiple = depth;
  // ldmatrix transposes 16-bit elements only; an 8-bit operand is turned K-major on its way into the tile.
  static constexpr bool a_k_major = bits != 16 || Arguments::a_major != major::mn;
  static constexpr bool b_k_major = bits != 16 || Arguments::b_major != major::mn;

  KILN_FN static constexpr coord position(int lane, int r) {
    const tile_coord c = mma_c(lane, r % 4);
    return {r / 4 / cols * 16 + c.row, r / 4 % cols * 8 + c.col};
  }

  /// Registers that hold the operands of two steps of K: one is multiplied while the other is fetched. All products
  /// share A.
  template <class Block>
  struct operands {
    fragments<std::uint32_t, rows * 4, Block> a[2];
    fragments<std::uint32_t, cols * 2, Block> b[products][2];
  };
  static constexpr int steps = K / depth;
  static constexpr int parts = steps;  ///< in which the next slot is loaded
  static_assert(steps % 2 == 0, "config: K of the tile holds an even number of the instruction's steps");

  /// Fetches the operands of step `s` of the warp tile at (row0, col0). The host leaves out those outside the matrix.
  template <class Warp, class ATile, class BTile, class Operands>
  KILN_FN static void fetch(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                            int s, Operands& o) {
    const int k = s * depth;
    const auto a_at = [&](int lane) {
      const tile_coord c = a_k_major ? ldmatrix_a<bits>(lane) : ldmatrix_a_trans(lane);
      return a_k_major ? a.at(row0 + c.row, c.col) : a.at(c.row, row0 + c.col);
    };
    KILN_UNROLL
    for (int i = 0; i < rows; ++i) {
      if (Warp::host && 16 * i >= inside.row) break;
      const auto registers_of = [&](int lane) { return o.a[s % 2].of(warp.first + lane) + 4 * i; };
      if constexpr (a_k_major)
        sm80::ldmatrix<4>(warp, [&](int lane) { return a_at(lane).address(16 * i, k); }, registers_of);
      else
        sm80::ldmatrix_trans<4>(warp, [&](int lane) { return a_at(lane).address(k, 16 * i); }, registers_of);
    }
    KILN_UNROLL
    for (int q = 0; q < products; ++q) {
      const auto b_at = [&](int lane) {
        const tile_coord c = b_k_major ? ldmatrix_b<bits>(lane) : ldmatrix_b_trans(lane);
        return b_k_major ? b[q].at(col0 + c.row, c.col) : b[q].at(c.row, col0 + c.col);
      };
      KILN_UNROLL
      for (int j = 0; j < cols; j += 2) {
        if (Warp::host && 8 * j >= inside.col) break;
        const auto registers_of = [&](int lane) { return o.b[q][s % 2].of(warp.first + lane) + 2 * j; };
        if constexpr (b_k_major)
          sm80::ldmatrix<4>(warp, [&](int lane) { return b_at(lane).address(8 * j, k); }, registers_of);
        else
          sm80::ldmatrix_trans<4>(warp, [&](int lane) { return b_at(lane).address(k, 8 * j); }, registers_of);
      }
    }
  }

  /// sums += A * B of step `s`. `sums(lane, product)` gives the lane's registers.
  template <class Warp, class Operands, class Acc>
  KILN_FN static void multiply(Warp warp, const Operands& o, int s, coord inside, Acc&& sums) {
    KILN_UNROLL
    for (int q = 0; q < products; ++q) {
      KILN_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (Warp::host && 16 * i >= inside.row) break;
        KILN_UNROLL
        for (int j = 0; j < cols; ++j) {
          if (Warp::host && 8 * j >= inside.col) break;
          sm80::mma<element>(
              warp, [&](int lane) { return o.a[s % 2].of(warp.first + lane) + 4 * i; },
              [&](int lane) { return o.b[q][s % 2].of(warp.first + lane) + 2 * j; },
              [&](int lane) { return sums(lane, q) + (i * cols + j) * 4; });
        }
      }
    }
  }

  /// The first fetch of a slot.
  template <class Warp, class ATile, class BTile, class Operands>
  KILN_FN static void begin(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                            Operands& o) {
    fetch(warp, a, b, row0, col0, inside, 0, o);
  }
  /// All of a slot but its last products; afterwards the slot has been read. Calls `beside(part)` for parts 1 and on,
  /// each before the products of one step.
  template <class Warp, class ATile, class BTile, class Operands, class Acc, class Beside>
  KILN_FN static void most(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                           index_t, Operands& o, Acc&& sums, Beside&& beside) {
    KILN_UNROLL
    for (int s = 0; s + 1 < steps; ++s) {
      fetch(warp, a, b, row0, col0, inside, s + 1, o);
      beside(s + 1);
      multiply(warp, o, s, inside, sums);
    }
  }
  /// The last products.
  template <class Warp, class Operands, class Acc>
  KILN_FN static void last(Warp warp, const Operands& o, coord inside, Acc&& sums) {
    multiply(warp, o, steps - 1, inside, sums);
  }
};

}  // namespace kiln
