#pragma once
/// Which tile comes when. Tiles are walked in bands of rows, column after column inside a band, so that the blocks that
/// run at one time share operands in the L2.
#include <cstdint>
#include <kiln/core/types.hpp>

namespace kiln {

struct tile_index {
  std::uint32_t batch, row, col;
  friend constexpr bool operator==(const tile_index&, const tile_index&) = default;
};

/// Each of the `count()` numbers is one tile of the grid `batches x rows x cols`, each tile once.
struct tile_order {
  std::uint32_t rows, cols, batches;
  std::uint32_t band;  ///< rows of a band, at least 1

  KILN_FN constexpr std::uint32_t count() const { return rows * cols * batches; }

  KILN_FN constexpr tile_index at(std::uint32_t number) const {
    const std::uint32_t batch = batches == 1 ? 0 : number / (rows * cols);
    const std::uint32_t in_batch = number - batch * rows * cols;
    const std::uint32_t first = in_batch / (band * cols) * band;
    const std::uint32_t height = rows - first < band ? rows - first : band;
    const std::uint32_t in_band = in_batch - first * cols;
    return {batch, first + in_band % height, in_band / height};
  }
};

/// The band that lets `resident` tiles running at one time read the fewest bytes: near a square of tile_m x tile_n
/// tiles. One that divides the rows may read an eighth more: at 16,384 cubed on an H200 bands of 6 of 64 rows took 6 to
/// 13 % longer than bands of 4.
constexpr std::uint32_t best_band(std::uint32_t rows, std::uint32_t cols, std::uint32_t resident, int tile_m,
                                  int tile_n) {
  std::uint32_t best = 1;
  double fewest = 0;
  for (std::uint32_t band = 1; band <= 16 && band <= rows; ++band) {
    const std::uint32_t wide = min_of(ceil_div(resident, band), cols);
    const double read = static_cast<double>(band) * tile_m + static_cast<double>(wide) * tile_n;
    const double bytes = rows % band == 0 ? read : read * 9 / 8;
    if (band == 1 || bytes < fewest) fewest = bytes, best = band;
  }
  return best;
}

}  // namespace kiln
