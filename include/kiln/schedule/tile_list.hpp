#pragma once
/// Tiles of several grids, numbered one grid after another.
#include <cstdint>

#include <kiln/core/types.hpp>

namespace kiln {

/// `first[i]` is the number of grid i's first tile, `first[grids]` how many tiles there are. A grid may have none.
struct tile_list {
  const std::uint32_t* first;
  std::uint32_t grids;

  /// The grid that has tile `number`, by halving.
  KILN_FN constexpr std::uint32_t grid_of(std::uint32_t number) const {
    std::uint32_t low = 0, high = grids;  // first[low] <= number < first[high]
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (first[middle] <= number) low = middle;
      else high = middle;
    }
    return low;
  }
};

}  // namespace kiln
