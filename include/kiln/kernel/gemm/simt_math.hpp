#pragma once
/// A warp's product with scalar multiply-adds: every pair of types, float32 in IEEE arithmetic. Both tiles K-major.
#include <kiln/core/numeric.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln {

namespace detail {
KILN_FN float multiply_add(float x, float y, float sum) { return sum + x * y; }
/// Wraps past 2^31, as the matrix units do.
KILN_FN std::int32_t multiply_add(std::int32_t x, std::int32_t y, std::int32_t sum) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                   static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y));
}
}  // namespace detail

/// A warp tile of WM x WN: lane l holds rows l / 4 + 8 i and columns l % 4 + 4 j; register i * WN / 4 + j.
template <class Arguments, int WM, int WN, int K>
struct simt_math {
  static_assert(WM % 8 == 0 && WN % 8 == 0, "config: a simt warp tile is a multiple of 8 x 8");
  using accumulator = typename Arguments::accumulator;
  static constexpr int rows = WM / 8, cols = WN / 4, registers = rows * cols;
  static constexpr int chunks = rows, chunk_rows = 8, chunk_registers = cols;
  static constexpr bool a_k_major = true, b_k_major = true;
  static constexpr int step = 4;  // elements of K per shared memory access
  static constexpr int k_multiple = 32;

  KILN_FN static constexpr coord position(int lane, int r) {
    return {lane / 4 + r / cols * 8, lane % 4 + r % cols * 4};
  }

  /// sums += A[row0 .. row0 + WM, :] * B[col0 .. col0 + WN, :]^T. `sums(lane)` gives the lane's registers. The host
  /// stops at the extents that are inside the matrix; the zeros behind them would not change the sum.
  template <class Warp, class ATile, class BTile, class Acc>
  KILN_FN static void compute(Warp warp, const ATile& a, const BTile& b, int row0, int col0, coord inside,
                              index_t k_inside, Acc&& sums) {
    const int last = Warp::host && k_inside < K ? static_cast<int>(k_inside) : K;
    warp.each([&](int lane) {
      accumulator* c = sums(lane);
      KILN_NO_UNROLL
      for (int k = 0; k < last; k += step) {
        accumulator x[rows][step], y[cols][step];
        int height = 0, width = 0;
        KILN_UNROLL
        for (int i = 0; i < rows; ++i) {
          const int row = lane / 4 + 8 * i;
          if (Warp::host && row >= inside.row) break;
          const auto v = a.template load<step>(warp, lane, row0 + row, k);
          KILN_UNROLL
          for (int e = 0; e < step; ++e) x[i][e] = static_cast<accumulator>(v[e]);
          height = i + 1;
        }
        KILN_UNROLL
        for (int j = 0; j < cols; ++j) {
          const int col = lane % 4 + 4 * j;
          if (Warp::host && col >= inside.col) break;
          const auto v = b.template load<step>(warp, lane, col0 + col, k);
          KILN_UNROLL
          for (int e = 0; e < step; ++e) y[j][e] = static_cast<accumulator>(v[e]);
          width = j + 1;
        }
        KILN_UNROLL
        for (int i = 0; i < rows; ++i) {
          if (Warp::host && i >= height) break;
          KILN_UNROLL
          for (int j = 0; j < cols; ++j) {
            if (Warp::host && j >= width) break;
            KILN_UNROLL
            for (int e = 0; e < step; ++e) c[i * cols + j] = detail::multiply_add(x[i][e], y[j][e], c[i * cols + j]);
          }
        }
      }
    });
  }

  // A slot is read and multiplied in one go; nothing is held from one to the next, which is loaded in one go, too.
  static constexpr int parts = 1;
  static constexpr int products = Arguments::products;
  template <class Block>
  struct operands {};
  template <class Warp, class ATile, class BTile, class Operands>
  KILN_FN static void begin(Warp, const ATile&, const BTile (&)[products], int, int, coord, Operands&) {}
  template <class Warp, class ATile, class BTile, class Operands, class Acc, class Beside>
  KILN_FN static void most(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                           index_t k_inside, Operands&, Acc&& sums, Beside&&) {
    KILN_UNROLL
    for (int q = 0; q < products; ++q)
      compute(warp, a, b[q], row0, col0, inside, k_inside, [&](int lane) { return sums(lane, q); });
  }
  template <class Warp, class Operands, class Acc>
  KILN_FN static void last(Warp, const Operands&, coord, Acc&&) {}
};

}  // namespace kiln
