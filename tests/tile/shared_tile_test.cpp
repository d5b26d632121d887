#include <gtest/gtest.h>

#include <cstdint>
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/layout/banks.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/shared_tile.hpp>
#include <memory>
#include <set>

namespace {
using namespace kiln;

template <class Tile>
void every_element_has_bytes_of_its_own() {
  std::set<int> taken;
  for (int row = 0; row < Tile::rows; ++row) {
    for (int col = 0; col < Tile::cols; ++col) {
      const int at = Tile::offset(row, col);
      EXPECT_TRUE(at >= 0 && at + static_cast<int>(sizeof(typename Tile::value_type)) <= Tile::bytes);
      EXPECT_EQ(at % static_cast<int>(sizeof(typename Tile::value_type)), 0);
      EXPECT_TRUE(taken.insert(at).second) << row << ", " << col;
    }
  }
  EXPECT_EQ(sizeof(Tile), static_cast<std::size_t>(Tile::bytes));
  EXPECT_EQ(taken.size() * sizeof(typename Tile::value_type), sizeof(Tile)) << "no padding";
}

TEST(shared_tiles, every_element_has_bytes_of_its_own) {
  every_element_has_bytes_of_its_own<shared_tile<f16, 64, 64, swizzle::b128>>();
  every_element_has_bytes_of_its_own<shared_tile<f16, 16, 192, swizzle::b128>>();
  every_element_has_bytes_of_its_own<shared_tile<std::int8_t, 8, 64, swizzle::b64>>();
  every_element_has_bytes_of_its_own<shared_tile<float, 24, 32, swizzle::b32>>();
  every_element_has_bytes_of_its_own<shared_tile<float, 3, 12, swizzle::none>>();
}

TEST(shared_tiles, columns_beyond_the_swizzle_go_to_the_next_panel) {
  using tile = shared_tile<f16, 32, 128, swizzle::b128>;
  EXPECT_EQ(tile::panels, 2);
  EXPECT_EQ(tile::panel_cols, 64);
  EXPECT_EQ(tile::offset(0, 0), 0);
  EXPECT_EQ(tile::offset(0, 63), 126);
  EXPECT_EQ(tile::offset(0, 64), 32 * 128) << "panel 1 begins after all rows of panel 0";
  // Row 5, byte 40 of its panel: chunk 2 goes to 2 ^ 5.
  EXPECT_EQ(tile::offset(5, 20), 5 * 128 + 7 * 16 + 8);
  EXPECT_EQ(tile::offset(5, 84), 32 * 128 + 5 * 128 + 7 * 16 + 8);
}

TEST(shared_tiles, without_a_swizzle_rows_follow_each_other) {
  using tile = shared_tile<float, 3, 12, swizzle::none>;
  EXPECT_EQ(tile::panels, 1);
  EXPECT_EQ(tile::offset(2, 5), (2 * 12 + 5) * 4);
}

TEST(shared_tiles, stand_where_the_pattern_of_the_swizzle_begins) {
  EXPECT_EQ(alignof(shared_tile<f16, 8, 64, swizzle::b128>), 1024u);
  EXPECT_EQ(alignof(shared_tile<f16, 8, 32, swizzle::b64>), 512u);
  EXPECT_EQ(alignof(shared_tile<f16, 8, 16, swizzle::b32>), 256u);
  EXPECT_EQ(alignof(shared_tile<f16, 8, 16, swizzle::none>), 16u);
}

TEST(shared_tiles, load_what_was_stored_at_every_width) {
  using tile = shared_tile<std::uint16_t, 16, 128, swizzle::b128>;
  const scope<on_host, 1> thread{};
  const auto t = std::make_unique<tile>();
  for (int row = 0; row < tile::rows; ++row)
    for (int col = 0; col < tile::cols; ++col)
      t->store<1>(thread, 0, row, col, {{static_cast<std::uint16_t>(row * 128 + col)}});
  const auto expect = [&](auto got, int row, int col, int n) {
    for (int i = 0; i < n; ++i) EXPECT_EQ(got[i], row * 128 + col + i);
  };
  for (int row = 0; row < tile::rows; ++row) {
    for (int col = 0; col < tile::cols; col += 8) {
      expect(t->load<8>(thread, 0, row, col), row, col, 8);
      expect(t->load<4>(thread, 0, row, col + 4), row, col + 4, 4);
      expect(t->load<2>(thread, 0, row, col + 6), row, col + 6, 2);
      expect(t->load<1>(thread, 0, row, col + 3), row, col + 3, 1);
      vec<std::uint16_t, 8> v = t->load<8>(thread, 0, row, col);
      for (int i = 0; i < 8; ++i) v[i] = static_cast<std::uint16_t>(v[i] + 1);
      t->store<8>(thread, 0, row, col, v);
      EXPECT_EQ(*t->address(row, col + 5), row * 128 + col + 6);
    }
  }
}

// A warp stores rows and reads columns: what swizzles are for.
TEST(shared_tiles, sixteen_byte_columns_are_free_of_bank_conflicts) {
  using tile = shared_tile<float, 32, 32, swizzle::b128>;
  for (int col = 0; col < 32; col += 4) {
    int at[32];
    for (int lane = 0; lane < 32; ++lane) at[lane] = tile::offset(lane, col);
    EXPECT_EQ(bank_conflicts(at, 16), 0);
  }
}

// Each thread stores a row; each reads another's row.
template <class Between>
status transpose_rows(Between between) {
  using tile = shared_tile<float, 64, 4, swizzle::none>;
  using block = block_scope<on_host, 64>;
  twin::checked_block checked(sizeof(tile), 64);
  tile& t = *reinterpret_cast<tile*>(checked.shared());
  const block all{};
  all.each([&](int thread) { t.store<4>(all, thread, thread, 0, {{1, 2, 3, 4}}); });
  between(all);
  all.each([&](int thread) { (void)t.load<4>(all, thread, 63 - thread, 0); });
  return checked.result();
}

TEST(shared_tiles, a_missing_sync_is_reported) {
  const status s = transpose_rows([](auto) {});
  EXPECT_EQ(s.code(), errc::protocol);
  EXPECT_NE(s.message().find("no barrier between"), std::string::npos) << s.message();
}
TEST(shared_tiles, a_sync_of_the_warps_alone_is_not_enough) {
  const auto warps = [](auto all) { all.template split<32>([](auto warp) { sync(warp); }); };
  EXPECT_EQ(transpose_rows(warps).code(), errc::protocol);
}
TEST(shared_tiles, a_sync_of_the_block_is_enough) {
  EXPECT_TRUE(transpose_rows([](auto all) { sync(all); }).ok());
  EXPECT_TRUE(transpose_rows([](auto all) { sync(all, 3); }).ok());
}

}  // namespace
