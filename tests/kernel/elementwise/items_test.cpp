// How elementwise kernels number their work, and the division that they do it with.
#include <gtest/gtest.h>

#include <kiln/kernel/elementwise/items.hpp>
#include <kiln/kernel/elementwise/nest.hpp>

#include <cstdint>
#include <set>
#include <utility>

#include "tests/support/fill.hpp"

namespace {

using namespace kiln::elementwise;
using kiln::index_t;

TEST(divisor, equals_the_machines_division) {
  const index_t top = (index_t{1} << 62) + ((index_t{1} << 62) - 1);
  std::uint64_t seed = 0;
  for (int bits = 1; bits <= 63; ++bits)
    for (int round = 0; round < 40; ++round) {
      const auto random = static_cast<index_t>(kiln::test::hash(++seed) >> (64 - bits));
      for (const index_t d : {random, random + 1, index_t{1} << (bits - 1), (index_t{1} << (bits - 1)) + 1}) {
        if (d < 1) continue;
        const divisor by(d);
        const auto n = static_cast<index_t>(kiln::test::hash(++seed) >> 1);
        for (const index_t x :
             {n, n % d, n - n % d, n - n % d - 1, d - 1, d, top, top - top % d, top - top % d - 1, index_t{0}})
          if (x >= 0) {
            ASSERT_EQ(by.of(x), x / d) << x << " / " << d;
          }
      }
    }
}

TEST(item_plan, every_element_comes_once) {
  for (const index_t rows : {1, 3})
    for (const index_t inner : {0, 1, 3, 4, 5, 11, 12, 13})
      for (const index_t head : {0, 1, 3}) {
        const index_t full = inner >= head + 4 ? (inner - head) / 4 : 0;
        const item_plan plan(rows, inner, 4, full > 0 ? head : 0, full);
        std::set<std::pair<index_t, index_t>> seen;
        for (index_t i = 0; i < plan.items(); ++i)
          plan.visit<4>(i, [&](auto count, index_t row, index_t at) {
            if (count > 1) {
              EXPECT_EQ((at - head) % 4, 0) << "chunks are aligned";
            }
            for (int k = 0; k < count; ++k) EXPECT_TRUE(seen.insert({row, at + k}).second);
          });
        EXPECT_EQ(static_cast<index_t>(seen.size()), rows * inner);
        for (const auto& [row, at] : seen) EXPECT_TRUE(row < rows && at < inner);
      }
}

// VEW-08: numbers beyond 2^31, without the elements.
TEST(item_plan, counts_in_64_bits) {
  const index_t rows = (index_t{1} << 31) + 5, inner = (index_t{1} << 20) + 3;
  const item_plan plan(rows, inner, 4, 1, inner / 4 - 1);
  EXPECT_GT(plan.items(), index_t{1} << 48);
  const auto where = [&](index_t item) {
    std::pair<index_t, index_t> r{-1, -1};
    plan.visit<4>(item, [&](auto, index_t row, index_t at) { r = {row, at}; });
    return r;
  };
  const index_t full = inner / 4 - 1;
  EXPECT_EQ(where(0), (std::pair<index_t, index_t>{0, 1}));
  EXPECT_EQ(where(rows * full - 1), (std::pair<index_t, index_t>{rows - 1, 1 + (full - 1) * 4}));
  EXPECT_EQ(where(plan.items() - 1), (std::pair<index_t, index_t>{rows - 1, inner - 1}));
}

// VEW-08: a grid that strides past 2^31 reaches its last tile and ends.
TEST(stride_over, counters_pass_2_to_the_31_and_stop) {
  const index_t step = index_t{1} << 20;
  for (const index_t end :
       {(index_t{1} << 31) - 1, index_t{1} << 31, (index_t{1} << 31) + 1, (index_t{1} << 32) + step + 3}) {
    index_t calls = 0, last = -1;
    stride_over(step - 1, step, end, [&](index_t i) { ++calls, last = i; });
    EXPECT_EQ(calls, (end - (step - 1) + step - 1) / step);
    EXPECT_EQ(last, step - 1 + (calls - 1) * step);
    EXPECT_TRUE(last < end && last + step >= end);
  }
}

TEST(loop_nest, packed_views_become_one_loop_and_broadcasts_stay_two) {
  const index_t shape[3] = {4, 5, 6};
  const index_t both[2][3] = {{30, 6, 1}, {30, 6, 1}};
  const auto packed = make_nest<3, 2>(shape, both);
  EXPECT_EQ(packed.rank, 1);
  EXPECT_EQ(packed.extents[2], 120);
  const index_t per_row[2][3] = {{30, 6, 1}, {5, 1, 0}};
  const auto rows = make_nest<3, 2>(shape, per_row);
  EXPECT_EQ(rows.rank, 2);
  EXPECT_EQ(rows.extents[1], 20);
  EXPECT_EQ(rows.extents[2], 6);
  EXPECT_EQ(rows.strides[1][1], 1);
  const index_t column_major[1][3] = {{1, 4, 20}};
  EXPECT_EQ((make_nest<3, 1>(shape, column_major).rank), 1);
}

// VEW-06: the stride of an axis of one element does not count.
TEST(loop_nest, axes_of_one_element_vanish) {
  const index_t shape[2] = {1, 2048};
  const index_t strides[1][2] = {{16384, 1}};
  const auto nest = make_nest<2, 1>(shape, strides);
  EXPECT_EQ(nest.rank, 1);
  EXPECT_EQ(nest.strides[0][1], 1);
}

TEST(loop_nest, offsets_are_64_bit) {
  const index_t shape[3] = {31, 12180, 12184};
  const index_t strides[1][3] = {{148401120, 12200, 1}};
  const auto nest = make_nest<3, 1>(shape, strides);
  EXPECT_EQ(nest.offset(0, index_t{30} * 12180 + 12179), 30 * index_t{148401120} + 12179 * index_t{12200});
}

TEST(loop_nest, bytes_of_strides_beyond_any_memory_do_not_overflow) {
  const index_t shape[2] = {3, 8};
  const float x[8] = {};
  for (const index_t far : {index_t{1} << 61, INT64_MAX, INT64_MIN}) {
    const index_t strides[1][2] = {{far, 1}};
    const auto nest = make_nest<2, 1>(shape, strides);
    EXPECT_EQ(aligned_head(nest, {x}, {4}, 4) >= 0, far % 4 == 0) << far;
  }
}

}  // namespace
