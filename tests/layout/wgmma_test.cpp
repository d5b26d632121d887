// The fragments of wgmma against the PTX ISA's own words and against what a GPU did.
#include <gtest/gtest.h>

#include <fstream>
#include <kiln/layout/wgmma.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/layout/wgmma_tables.hpp"

namespace {
using namespace kiln;
using kiln::test::ptx::place;

TEST(wgmma_maps, d_equals_the_ptx_isa) {
  for (int tid = 0; tid < 128; ++tid) {
    for (int i = 0; i < 128; ++i) {
      const tile_coord at = wgmma_d(tid, i);
      EXPECT_EQ((place{at.row, at.col}), test::ptx::wgmma_d(tid, i)) << "thread " << tid << ", d" << i;
    }
  }
}

TEST(wgmma_maps, a_equals_the_ptx_isa) {
  for (int tid = 0; tid < 128; ++tid) {
    for (int i = 0; i < 8; ++i) {
      const tile_coord at = wgmma_a<16>(tid, i / 2, i % 2);
      EXPECT_EQ((place{at.row, at.col}), test::ptx::wgmma_a_k16(tid, i)) << "thread " << tid << ", a" << i;
    }
    for (int i = 0; i < 16; ++i) {
      const tile_coord at = wgmma_a<8>(tid, i / 4, i % 4);
      EXPECT_EQ((place{at.row, at.col}), test::ptx::wgmma_a_k32(tid, i)) << "thread " << tid << ", a" << i;
    }
  }
}

/// Lines "name thread x0 y0 x1 y1 ..." of the capture.
void agrees_with_hardware(const std::string& name, int places, tile_coord (*map)(int thread, int i)) {
  const std::string path = std::string(KILN_TEST_DATA "/captures/wgmma.txt");
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is missing: tests/arch/capture_sm90.cu prints it on a GPU";
  std::set<int> threads;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    int thread = -1;
    if (!(words >> first >> thread) || first != name) continue;
    threads.insert(thread);
    for (int i = 0; i < places; ++i) {
      tile_coord seen{-1, -1};
      ASSERT_TRUE(words >> seen.row >> seen.col) << line;
      EXPECT_EQ(map(thread, i), seen) << name << ", thread " << thread << ", " << i;
    }
  }
  EXPECT_EQ(threads.size(), 128u);
}

TEST(wgmma_maps, d_equals_what_a_gpu_did) {
  agrees_with_hardware("wgmma.d", 16, [](int thread, int i) { return wgmma_d(thread, i); });
}
TEST(wgmma_maps, a_equals_what_a_gpu_did) {
  agrees_with_hardware("wgmma.a", 8, [](int thread, int i) { return wgmma_a<16>(thread, i / 2, i % 2); });
}

}  // namespace
