#include <gtest/gtest.h>

#include <kiln/layout/banks.hpp>
#include <kiln/layout/mma.hpp>
#include <kiln/layout/swizzle.hpp>

namespace {
using namespace kiln;

template <class F>
constexpr int conflicts(int width, F address) {
  int at[32] = {};
  for (int lane = 0; lane < 32; ++lane) at[lane] = address(lane);
  return bank_conflicts(at, width);
}

TEST(shared_memory_banks, consecutive_addresses_have_no_conflict_at_any_width) {
  for (int width : {1, 2, 4, 8, 16}) EXPECT_EQ(conflicts(width, [=](int lane) { return lane * width; }), 0) << width;
}

TEST(shared_memory_banks, lanes_that_read_one_word_share_it) {
  for (int width : {1, 2, 4, 8, 16}) EXPECT_EQ(conflicts(width, [](int) { return 48; }), 0) << width;
  EXPECT_EQ(conflicts(2, [](int lane) { return lane / 2 * 4 + lane % 2 * 2; }), 0);
}

TEST(shared_memory_banks, a_stride_of_two_to_the_n_words_conflicts_two_to_the_n_ways) {
  EXPECT_EQ(conflicts(4, [](int lane) { return lane * 8; }), 1);
  EXPECT_EQ(conflicts(4, [](int lane) { return lane * 16; }), 3);
  EXPECT_EQ(conflicts(4, [](int lane) { return lane * 128; }), 31);
  EXPECT_EQ(conflicts(4, [](int lane) { return lane * 132; }), 0) << "one word of padding";
  EXPECT_EQ(conflicts(4, [](int lane) { return lane * 12; }), 0) << "odd strides reach all banks";
}

TEST(shared_memory_banks, wide_accesses_conflict_within_their_half_or_quarter_of_the_warp_only) {
  // 8 bytes: lanes i and i + 16 share banks, and are served apart anyway.
  EXPECT_EQ(conflicts(8, [](int lane) { return lane % 16 * 8 + lane / 16 * 4096; }), 0);
  EXPECT_EQ(conflicts(8, [](int lane) { return lane % 8 * 8 + lane / 8 * 4096; }), 2);
  EXPECT_EQ(conflicts(16, [](int lane) { return lane % 8 * 16 + lane / 8 * 4096; }), 0);
  EXPECT_EQ(conflicts(16, [](int lane) { return lane * 128; }), 28) << "each quarter takes 8 passes for 1";
}

// Each 8 x 8 matrix of ldmatrix reads 16 bytes of 8 neighbouring rows, at any chunk of the row.
TEST(shared_memory_banks, ldmatrix_has_no_conflict_over_a_swizzled_panel_and_many_over_a_plain_one) {
  for (int k = 0; k < 128; k += 32) {
    for (int first : {0, 16, 48}) {
      const auto in = [=](swizzle s) {
        return [=](int lane) {
          const auto [row, col] = ldmatrix_a<8>(lane);
          return swizzled(s, first + row, (k + col) % panel_bytes(s));
        };
      };
      EXPECT_EQ(conflicts(16, in(swizzle::b128)), 0) << k;
      EXPECT_EQ(conflicts(16, in(swizzle::b64)), 0) << k;
      EXPECT_EQ(conflicts(16, in(swizzle::b32)), 0) << k;
      EXPECT_EQ(conflicts(16, in(swizzle::none)), 28) << k;
    }
  }
}

TEST(shared_memory_banks, every_ldmatrix_pattern_is_free_of_conflicts_over_128_byte_panels) {
  const auto over = [](auto map, int bits) {
    return conflicts(16, [=](int lane) {
      const auto [row, col] = map(lane);
      return swizzled(swizzle::b128, 8 + row, 32 + col * bits / 8);
    });
  };
  EXPECT_EQ(over(ldmatrix_a<16>, 16), 0);
  EXPECT_EQ(over(ldmatrix_b<16>, 16), 0);
  EXPECT_EQ(over(ldmatrix_a<8>, 8), 0);
  EXPECT_EQ(over(ldmatrix_b<8>, 8), 0);
  EXPECT_EQ(over(ldmatrix_a_trans, 16), 0);
  EXPECT_EQ(over(ldmatrix_b_trans, 16), 0);
}

constexpr int rows_of_128[32] = {0, 128, 256, 384, 512, 640, 768, 896};
static_assert(bank_passes(rows_of_128, 4) == 8, "usable in constant expressions");

}  // namespace
