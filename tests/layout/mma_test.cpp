#include <gtest/gtest.h>

#include <kiln/layout/mma.hpp>
#include <set>
#include <string>

#include "tests/layout/captures.hpp"
#include "tests/layout/ptx_tables.hpp"

namespace {
using namespace kiln;
using namespace kiln::test;

// Our map by (lane, register, element) against the PTX ISA's by (lane, i), i counting elements through the registers.
template <int PerRegister, class Ours, class Theirs>
void same(int registers, Ours ours, Theirs theirs) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < registers * PerRegister; ++i) {
      const tile_coord at = ours(lane, i / PerRegister, i % PerRegister);
      EXPECT_EQ((ptx::place{at.row, at.col}), theirs(lane, i)) << "lane " << lane << ", element " << i;
    }
  }
}

TEST(fragment_maps, m16n8k16_equals_the_ptx_isa) {
  same<2>(4, mma_a<16>, ptx::m16n8k16_a);
  same<2>(2, mma_b<16>, ptx::m16n8k16_b);
  same<1>(
      4, [](int lane, int reg, int) { return mma_c(lane, reg); }, ptx::m16n8k16_c);
}
TEST(fragment_maps, m16n8k32_equals_the_ptx_isa) {
  same<4>(4, mma_a<8>, ptx::m16n8k32_a);
  same<4>(2, mma_b<8>, ptx::m16n8k32_b);
}
TEST(fragment_maps, m16n8k8_equals_the_ptx_isa) {
  same<2>(2, mma_a<16>, ptx::m16n8k8_f16_a);
  same<2>(1, mma_b<16>, ptx::m16n8k8_f16_b);
  same<1>(4, mma_a<32>, ptx::m16n8k8_tf32_a);
  same<1>(2, mma_b<32>, ptx::m16n8k8_tf32_b);
}

TEST(fragment_maps, ldmatrix_equals_the_ptx_isa) {
  for (int row = 0; row < 8; ++row) {
    for (int col = 0; col < 8; ++col) {
      const int thread = ptx::ldmatrix_thread_of_pair[row][col / 2];
      EXPECT_EQ(ldmatrix_element<false>(thread, col % 2), (tile_coord{row, col}));
      // .trans: the fragment layout of the transposed matrix.
      EXPECT_EQ(ldmatrix_element<true>(thread, col % 2), (tile_coord{col, row}));
    }
  }
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int row = 0; row < 8; ++row) {
      EXPECT_EQ(ldmatrix_row(ptx::ldmatrix_first_thread[matrix] + row), (matrix_row{matrix, row}));
    }
  }
}

// What arrives in (lane, register, element) of an mma operand when ldmatrix.x4 is given the addresses of `map`.
template <bool Trans, int Bits, class Map>
tile_coord arriving(Map map, int lane, int reg, int element) {
  const int half = element * Bits / 16;  // which 16-bit element of the register
  const tile_coord at = ldmatrix_element<Trans>(lane, half);
  const tile_coord start = map(ptx::ldmatrix_first_thread[reg] + at.row);
  return {start.row, start.col + at.col * (16 / Bits) + element % (16 / Bits)};
}

TEST(fragment_maps, ldmatrix_addresses_bring_operands_into_place) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int reg = 0; reg < 4; ++reg) {
      for (int e = 0; e < 2; ++e) {
        const auto [m, k] = ptx::m16n8k16_a(lane, reg * 2 + e);
        EXPECT_EQ((arriving<false, 16>(ldmatrix_a<16>, lane, reg, e)), (tile_coord{m, k}));
        EXPECT_EQ((arriving<true, 16>(ldmatrix_a_trans, lane, reg, e)), (tile_coord{k, m}));
        const auto [bk, bn] = ptx::m16n8k16_b(lane, reg % 2 * 2 + e);
        EXPECT_EQ((arriving<false, 16>(ldmatrix_b<16>, lane, reg, e)), (tile_coord{bn + reg / 2 * 8, bk}));
        EXPECT_EQ((arriving<true, 16>(ldmatrix_b_trans, lane, reg, e)), (tile_coord{bk, bn + reg / 2 * 8}));
      }
      for (int e = 0; e < 4; ++e) {
        const auto [m, k] = ptx::m16n8k32_a(lane, reg * 4 + e);
        EXPECT_EQ((arriving<false, 8>(ldmatrix_a<8>, lane, reg, e)), (tile_coord{m, k}));
        const auto [bk, bn] = ptx::m16n8k32_b(lane, reg % 2 * 4 + e);
        EXPECT_EQ((arriving<false, 8>(ldmatrix_b<8>, lane, reg, e)), (tile_coord{bn + reg / 2 * 8, bk}));
      }
    }
  }
}

// The capture says, for each element of A, in which accumulators it shows and with which element of B it met there.
template <int Bits>
void agrees_with_hardware(const char* type) {
  constexpr int per_register = 32 / Bits;
  const auto records = captured(std::string("mma.") + type);
  ASSERT_EQ(records.size(), static_cast<std::size_t>(32 * 4 * per_register));
  std::set<int> seen;
  for (const auto& r : records) {
    const int number = r.at(0);
    EXPECT_TRUE(seen.insert(number).second) << "A element captured twice";
    ASSERT_EQ(r.size(), 17u) << "an element of A meets 8 of B";
    const auto a = mma_a<Bits>(number / per_register / 4, number / per_register % 4, number % per_register);
    std::set<int> columns;
    for (std::size_t i = 1; i < r.size(); i += 2) {
      const auto c = mma_c(r[i] / 4, r[i] % 4);
      const auto b = mma_b<Bits>(r[i + 1] / per_register / 2, r[i + 1] / per_register % 2, r[i + 1] % per_register);
      EXPECT_EQ(c.row, a.row) << type << ", A element " << number;
      EXPECT_EQ(b.row, a.col) << type << ", A element " << number;
      EXPECT_EQ(b.col, c.col) << type << ", A element " << number;
      columns.insert(c.col);
    }
    EXPECT_EQ(columns.size(), 8u);
  }
}

TEST(fragment_maps, m16n8k16_equals_what_a_gpu_did) {
  agrees_with_hardware<16>("f16");
  agrees_with_hardware<16>("bf16");
}
TEST(fragment_maps, m16n8k32_equals_what_a_gpu_did) {
  agrees_with_hardware<8>("s8");
}

template <bool Trans>
void ldmatrix_agrees(int count) {
  const std::string name = "x" + std::to_string(count) + (Trans ? ".trans" : "");
  // Loads: lane, then per register and half the element that came, numbered line * 8 + column; line i is lane i's
  // address.
  const auto loads = captured("ldmatrix." + name);
  ASSERT_EQ(loads.size(), 32u);
  for (const auto& r : loads) {
    ASSERT_EQ(r.size(), static_cast<std::size_t>(1 + 2 * count));
    for (int i = 0; i < 2 * count; ++i) {
      const auto at = ldmatrix_element<Trans>(r[0], i % 2);
      const int came = r[static_cast<std::size_t>(i) + 1];
      EXPECT_EQ(ldmatrix_row(came / 8), (matrix_row{i / 2, at.row})) << name << ", lane " << r[0];
      EXPECT_EQ(came % 8, at.col) << name << ", lane " << r[0];
    }
  }
  // Stores: line, then per column the register half that went there, numbered (lane * 4 + register) * 2 + half.
  const auto stores = captured("stmatrix." + name);
  ASSERT_EQ(stores.size(), static_cast<std::size_t>(8 * count));
  for (const auto& r : stores) {
    ASSERT_EQ(r.size(), 9u);
    const auto line = ldmatrix_row(r[0]);
    for (int col = 0; col < 8; ++col) {
      const int from = r[static_cast<std::size_t>(col) + 1];
      EXPECT_EQ(ldmatrix_element<Trans>(from / 8, from % 2), (tile_coord{line.row, col})) << name << ", line " << r[0];
      EXPECT_EQ(from / 2 % 4, line.matrix) << name << ", line " << r[0];
    }
  }
}

TEST(fragment_maps, ldmatrix_and_stmatrix_equal_what_a_gpu_did) {
  for (int count : {1, 2, 4}) {
    ldmatrix_agrees<false>(count);
    ldmatrix_agrees<true>(count);
  }
}

static_assert(mma_a<16>(5, 3, 1) == tile_coord{9, 11}, "usable in constant expressions");

}  // namespace
