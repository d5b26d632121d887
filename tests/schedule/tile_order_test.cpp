// Every tile once, in bands of rows.
#include <gtest/gtest.h>

#include <vector>

#include <kiln/schedule/tile_list.hpp>
#include <kiln/schedule/tile_order.hpp>

namespace kiln::test {
namespace {

/// Whether the numbers below count() are the tiles of the grid, each once.
::testing::AssertionResult covers(const tile_order& order) {
  std::vector<int> seen(order.count());
  for (std::uint32_t i = 0; i < order.count(); ++i) {
    const tile_index t = order.at(i);
    if (t.batch >= order.batches || t.row >= order.rows || t.col >= order.cols)
      return ::testing::AssertionFailure() << i << " lies outside the grid";
    if (++seen[(t.batch * order.rows + t.row) * order.cols + t.col] > 1)
      return ::testing::AssertionFailure() << i << " repeats a tile";
  }
  return ::testing::AssertionSuccess();
}

TEST(tile_order, each_tile_comes_once) {
  for (std::uint32_t rows = 1; rows <= 20; ++rows)
    for (std::uint32_t cols = 1; cols <= 9; ++cols)
      for (std::uint32_t batches = 1; batches <= 3; ++batches)
        for (std::uint32_t band = 1; band <= rows + 2; ++band)
          ASSERT_TRUE(covers({rows, cols, batches, band}))
              << rows << " x " << cols << " x " << batches << " in bands of " << band;
}

TEST(tile_order, neighbours_in_the_order_share_a_band) {
  const tile_order order{8, 5, 1, 4};
  EXPECT_EQ(order.at(0), (tile_index{0, 0, 0}));
  EXPECT_EQ(order.at(3), (tile_index{0, 3, 0}));
  EXPECT_EQ(order.at(4), (tile_index{0, 0, 1}));
  EXPECT_EQ(order.at(20), (tile_index{0, 4, 0}));
}

TEST(tile_order, a_short_last_band_is_walked_in_its_own_height) {
  const tile_order order{5, 3, 1, 4};
  EXPECT_EQ(order.at(12), (tile_index{0, 4, 0}));
  EXPECT_EQ(order.at(13), (tile_index{0, 4, 1}));
}

TEST(tile_order, numbers_are_exact_near_two_to_the_32) {
  const tile_order order{65535, 65536, 1, 7};
  std::uint64_t number = 0;
  for (const std::uint32_t i : {0u, 1u, 65536u * 7 - 1, 65536u * 7, 2147483647u, 2147483648u, 65535u * 65536u - 1}) {
    const tile_index t = order.at(i);
    const std::uint64_t first = t.row / 7 * 7, height = first + 7 <= 65535 ? 7 : 65535 - first;
    number = first * 65536 + std::uint64_t{t.col} * height + (t.row - first);
    EXPECT_EQ(number, i);
  }
}

constexpr index_t l2 = 60 << 20;

TEST(best_band, is_at_least_one_and_no_higher_than_the_grid) {
  for (std::uint32_t rows = 1; rows < 40; rows += 3)
    for (std::uint32_t cols = 1; cols < 40; cols += 5)
      for (const std::uint32_t resident : {1u, 2u, 66u, 132u, 264u}) {
        for (const index_t row_bytes : {2, 8192, 1 << 20}) {
          const std::uint32_t band = best_band({rows, cols, resident, 128, 256, row_bytes, l2});
          EXPECT_GE(band, 1u);
          EXPECT_LE(band, rows);
          EXPECT_LE(band, 16u);
        }
      }
}

// 132 tiles of 128 x 128 read least when they form a square of 11 or 12 rows, and little more with 8, which divide 64;
// tiles twice as wide as high want more rows.
TEST(best_band, is_near_a_square_where_no_band_stays_in_the_l2) {
  constexpr index_t long_k = 1 << 20;
  const auto band = [&](std::uint32_t rows, int tile_n) {
    return best_band({rows, 64, 132, 128, tile_n, long_k, l2});
  };
  EXPECT_EQ(band(64, 128), 8u);
  EXPECT_EQ(band(61, 128), 11u);
  EXPECT_GE(band(64, 256), 14u);
  EXPECT_EQ(band(1, 128), 1u);
}

// Pairs of tiles of 128 x 128, as on Hopper: the more rows stay in the L2, the fewer times B is read.
TEST(best_band, is_as_high_as_stays_in_the_l2) {
  const auto band = [&](index_t m, index_t n, index_t k) {
    const auto rows = static_cast<std::uint32_t>(m / 256), cols = static_cast<std::uint32_t>(n / 128);
    return best_band({rows, cols, 66, 256, 128, 2 * k, l2});
  };
  EXPECT_EQ(band(8192, 27392, 4096), 8u);
  EXPECT_EQ(band(8192, 8192, 8192), 4u);
  EXPECT_EQ(band(16384, 16384, 16384), 4u);
  EXPECT_EQ(band(8192, 4096, 13696), 4u);
  EXPECT_EQ(band(2048, 27392, 4096), 8u);
}

// Pairs of 128 x 128, bf16: shifts where many waves read more than the L2 holds.
TEST(best_stay, is_for_many_waves_of_more_than_the_l2_holds) {
  const auto stay = [&](index_t m, index_t n, index_t k, std::uint32_t batches = 1) {
    const band_problem p{static_cast<std::uint32_t>(m / 256), static_cast<std::uint32_t>(n / 128), 66, 256, 128, 2 * k,
                         l2};
    return best_stay(p, best_band(p), batches);
  };
  EXPECT_GT(stay(16384, 16384, 16384), 0u);
  EXPECT_EQ(stay(8192, 8192, 8192), 0u);
  EXPECT_EQ(stay(8192, 27392, 4096), 0u);
  EXPECT_EQ(stay(8192, 4096, 13696), 0u);
  EXPECT_EQ(stay(8192, 4096, 13696, 4), 0u);
  EXPECT_GT(stay(8192, 4096, 13696, 5), 0u);
  EXPECT_EQ(stay(16384, 16384, 16384, 1u << 20), 0u);
}

TEST(tile_list, each_tile_belongs_to_the_grid_that_counts_it) {
  const std::uint32_t counts[] = {3, 0, 0, 1, 70, 0, 2, 0};
  std::uint32_t first[9] = {};
  for (int g = 0; g < 8; ++g) first[g + 1] = first[g] + counts[g];
  const tile_list list{first, 8};
  std::uint32_t seen[8] = {};
  for (std::uint32_t t = 0; t < first[8]; ++t) {
    const std::uint32_t g = list.grid_of(t);
    ASSERT_LT(g, 8u);
    EXPECT_LE(first[g], t);
    EXPECT_LT(t, first[g + 1]);
    ++seen[g];
  }
  for (int g = 0; g < 8; ++g) EXPECT_EQ(seen[g], counts[g]) << g;
}

}  // namespace
}  // namespace kiln::test
