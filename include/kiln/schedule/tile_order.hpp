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

/// What decides about bands.
struct band_problem {
  std::uint32_t rows, cols;  ///< tiles
  std::uint32_t resident;    ///< tiles that run at one time
  int tile_m, tile_n;        ///< rows of A and of B that one tile reads
  index_t row_bytes;         ///< of such a row: K elements
  index_t cache_bytes;       ///< of the L2
};

/// Rows of A and B that the tiles of one wave read in such a band; a wave that is wider than the grid reaches into the
/// bands below.
constexpr double rows_of_wave(const band_problem& p, std::uint32_t band) {
  const std::uint32_t high = max_of(band, min_of(ceil_div(p.resident, p.cols), p.rows));
  const std::uint32_t wide = min_of(ceil_div(p.resident, band), p.cols);
  return static_cast<double>(high) * p.tile_m + static_cast<double>(wide) * p.tile_n;
}

/// The band with which the tiles read the fewest rows of A and B from beyond the L2. A band whose rows of A stay there
/// reads those once and B once; else each wave reads its own, least if it is near a square. A band that divides the
/// rows may read an eighth more.
///
/// On an H200 (60 MiB) rows of 17 MB stay and of 34 MB do not: 4096 x 27392 x 4096 read 1,034, 715 and 1,604 MB of the
/// memory in bands of 1,024, 2,048 and 4,096 rows. 16,384 cubed took 6 to 13 % longer in bands of 1,536 than of 1,024.
constexpr std::uint32_t best_band(const band_problem& p) {
  constexpr std::uint32_t most = 16;
  const std::uint64_t tiles = static_cast<std::uint64_t>(p.rows) * p.cols;
  const auto waves = static_cast<double>(ceil_div(tiles, std::uint64_t{p.resident}));
  std::uint32_t best = 1;
  double fewest = 0;
  for (std::uint32_t band = 1; band <= most && band <= p.rows; ++band) {
    const double high = static_cast<double>(band) * p.tile_m, wide = static_cast<double>(p.cols) * p.tile_n;
    const bool stays = high * static_cast<double>(p.row_bytes) <= static_cast<double>(p.cache_bytes) * 5 / 16;
    const double of_bands = static_cast<double>(p.rows) * p.tile_m + wide * ceil_div(p.rows, band);
    const double read = stays ? of_bands : waves * rows_of_wave(p, band);
    const double judged = p.rows % band == 0 ? read : read * 9 / 8;
    if (band == 1 || judged < fewest) fewest = judged, best = band;
  }
  return best;
}

/// How many tiles a worker takes before another begins in its place (work_order.hpp); 0: all. Blocks out of step cost
/// most where the rows of a wave do not fit into the L2, and the more the more waves there are; to begin anew costs a
/// worker about 3.5 us. On an H200 16,384 cubed (124 waves of 105 MB, 105 us each) took 13.5 to 15.8 ms where workers
/// stayed, and 12.65 to 13.0 ms in stays of 4 or 8 tiles; 8,192 cubed (31 waves of 52 MB) took the same or 1 % longer.
/// Shifts leave the last tiles whole, which of 64 waves costs less than that.
constexpr std::uint32_t best_stay(const band_problem& p, std::uint32_t band, std::uint32_t batches) {
  constexpr std::uint32_t stay = 8, least_stays = 8;
  const std::uint64_t tiles = static_cast<std::uint64_t>(p.rows) * p.cols * batches;
  const bool long_way = rows_of_wave(p, band) * static_cast<double>(p.row_bytes) > static_cast<double>(p.cache_bytes);
  const bool counts = tiles < (std::uint64_t{1} << 31);  // numbers of tiles behind the last have 32 bits, too
  return long_way && counts && tiles >= std::uint64_t{p.resident} * stay * least_stays ? stay : 0;
}

}  // namespace kiln
