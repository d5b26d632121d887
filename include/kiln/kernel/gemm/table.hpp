#pragma once
/// The configurations that a default call compiles, by element type and executor, each with its reason.
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/choose.hpp>
#include <kiln/kernel/gemm/config.hpp>

namespace kiln::detail {

template <class Config, int Resident, int Rate, int Overhead>
struct entry {
  using config = Config;
  static constexpr int resident = Resident, rate = Rate, overhead = Overhead;
};
template <class... Entries>
struct table {};

/// Elements of K whose bytes fill the 128 of a swizzled row.
template <class Arguments>
inline constexpr int row_of_k = 128 / static_cast<int>(min_of(sizeof(typename Arguments::a_type),
                                                              sizeof(typename Arguments::b_type)));

template <class Arguments>
inline constexpr bool sm80_multiplies = std::is_same_v<typename Arguments::a_type, typename Arguments::b_type> &&
                                        sizeof(typename Arguments::a_type) <= 2 &&
                                        !std::is_same_v<typename Arguments::a_type, e4m3> &&
                                        !std::is_same_v<typename Arguments::a_type, e5m2>;

template <class Arguments, bool OnHost>
constexpr auto configurations() {
  constexpr int k = row_of_k<Arguments>;
  // With two products a warp holds two accumulators for each column, so the tile is half as wide.
  constexpr int half = Arguments::products;
  if constexpr (OnHost) {
    // One warp and one slot: the host pays for every lane it loops over, and gains nothing from depth.
    return table<entry<config<tile<32, 32, k>, warp_tile<32, 32>, serial, instructions::simt>, 1, 1, 0>>{};
  } else if constexpr (sm80_multiplies<Arguments>) {
    return table<
        // Eight warps of 64 x 64: the most products a byte of shared memory serves; one block fills a multiprocessor.
        entry<config<tile<128, 256 / half, k>, warp_tile<64, 64 / half>, stages<4>, multistage, instructions::sm80>, 1,
              2300, 6000>,
        // Small tiles, so that a few rows or few tiles still reach all multiprocessors.
        entry<config<tile<64, 64, k>, warp_tile<32, 32>, stages<3>, multistage, instructions::sm80>, 4, 1500, 2500>>{};
  } else {
    return table<
        entry<config<tile<128, 128 / half, k>, warp_tile<64, 32 / half>, stages<(k == 32 ? 3 : 2)>, multistage,
                     instructions::simt>,
              1, 100, 3000>,
        entry<config<tile<32, 64, k>, warp_tile<16, 32>, stages<2>, multistage, instructions::simt>, 3, 70, 1500>>{};
  }
}

}  // namespace kiln::detail
