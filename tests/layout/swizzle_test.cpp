#include <gtest/gtest.h>

#include <cstring>
#include <kiln/layout/swizzle.hpp>
#include <vector>

#include "tests/layout/ptx_tables.hpp"

namespace {
using namespace kiln;
using namespace kiln::test;

constexpr swizzle all[] = {swizzle::none, swizzle::b32, swizzle::b64, swizzle::b128};

// The chunk that the PTX ISA's pictures show at `place` of a 128-byte line.
int pictured(swizzle s, int line, int place) {
  switch (s) {
    case swizzle::b128:
      return ptx::swizzle_128b[line % 8][place];
    case swizzle::b64:
      return ptx::swizzle_64b[line % 4][place];
    case swizzle::b32:
      return ptx::swizzle_32b[line % 2][place];
    default:
      return place;
  }
}

TEST(swizzles, equals_the_pictures_of_the_ptx_isa) {
  for (swizzle s : all) {
    for (int line = 0; line < 32; ++line) {
      for (int place = 0; place < 8; ++place) {
        const int chunk = pictured(s, line, place);
        for (int byte = 0; byte < 16; ++byte) {
          EXPECT_EQ(swizzled(s, line * 128 + chunk * 16 + byte), line * 128 + place * 16 + byte)
              << "panel of " << panel_bytes(s) << " bytes, line " << line << ", chunk " << chunk;
        }
      }
    }
  }
}

TEST(swizzles, row_and_byte_count_in_rows_as_wide_as_the_panel) {
  // 128-byte panels: row 3 is line 3. 64: rows 2 and 3 share line 1. 32: rows 4 to 7 share line 1.
  EXPECT_EQ(swizzled(swizzle::b128, 3, 5 * 16 + 7), 3 * 128 + 6 * 16 + 7);
  EXPECT_EQ(swizzled(swizzle::b64, 3, 2 * 16 + 1), 128 + (4 + 3) * 16 + 1);
  EXPECT_EQ(swizzled(swizzle::b32, 6, 1 * 16 + 9), 128 + 4 * 16 + 9);
  EXPECT_EQ(swizzled(swizzle::none, 6, 1 * 16 + 9), 6 * 128 + 16 + 9);
}

TEST(swizzles, moves_every_byte_to_a_place_of_its_own_within_its_pattern) {
  for (swizzle s : all) {
    const int size = 4 * 1024, pattern = swizzle_alignment(s);
    std::vector<int> taken(size, 0);
    for (int i = 0; i < size; ++i) {
      const int to = swizzled(s, i);
      ASSERT_TRUE(to >= 0 && to < size);
      ++taken[static_cast<std::size_t>(to)];
      EXPECT_EQ(to / pattern, i / pattern);
      EXPECT_EQ(swizzled(s, to), i);
    }
    for (int t : taken) EXPECT_EQ(t, 1);
  }
}

static_assert(swizzled(swizzle::b128, 1, 0) == 128 + 16, "usable in constant expressions");

}  // namespace
