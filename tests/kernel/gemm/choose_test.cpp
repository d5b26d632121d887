// Which configuration a problem gets: a pure function, tested without a GPU.
#include <gtest/gtest.h>

#include <vector>

#include <kiln/gemm.hpp>

namespace kiln::test {
namespace {

// Figures like those of the 16-bit table on Hopper (kernel/gemm/table.hpp), which may change: the model is tested here
// and not the table. A wide and a narrow persistent kernel, and a large and a small kernel of the older schedule.
constexpr configuration_facts list[] = {
    {256, 256, 64, 2, 1, 1, 1720, 2500, true, 128},
    {128, 128, 64, 1, 1, 1, 1600, 2500, true, 128},
    {128, 128, 64, 1, 1, 2, 950, 4000, false, 128},
    {64, 64, 64, 1, 1, 3, 650, 2500, false, 128},
};
enum { wide, narrow, large, small };
constexpr int units = 132;
constexpr bool all[] = {true, true, true, true}, older[] = {false, false, true, true};

constexpr configuration_choice chosen(index_t m, index_t n, index_t k, index_t batch = 1, const bool (&usable)[4] = all,
                                      int multiprocessors = units) {
  return choose_configuration({m, n, k, batch}, list, multiprocessors, usable);
}

static_assert(chosen(4096, 4096, 4096).number == wide);
static_assert(chosen(8192, 8192, 8192).number == wide);

TEST(gemm_choice, large_problems_get_the_widest_tile) {
  for (const index_t size : {4096, 6144, 8192, 16384}) EXPECT_EQ(chosen(size, size, size).number, wide) << size;
  EXPECT_EQ(chosen(4096, 4096, 4096, 1, older).number, large);
}

TEST(gemm_choice, few_rows_get_tiles_that_waste_fewer) {
  for (const index_t m : {1, 8, 16, 64}) {
    EXPECT_NE(chosen(m, 4096, 4096).number, wide) << m;
    EXPECT_EQ(chosen(m, 4096, 4096, 1, older).number, small) << m;
  }
}

TEST(gemm_choice, one_small_matrix_gets_the_small_tile) {
  EXPECT_EQ(chosen(64, 64, 64, 1, older).number, small);
  EXPECT_EQ(chosen(100, 100, 64, 1, older).number, small);
}

// 128 tiles of 128 x 128 would leave one wave half empty with tiles twice as wide.
TEST(gemm_choice, a_narrow_tile_where_wide_ones_leave_multiprocessors_idle) {
  EXPECT_EQ(chosen(1024, 2048, 1024).number, narrow);
}

TEST(gemm_choice, few_tiles_and_a_long_k_are_cut) {
  for (const index_t m : {128, 256, 512}) {
    const auto c = chosen(m, 512, 16384);
    EXPECT_TRUE(c.stream) << m;
    EXPECT_TRUE(list[c.number].streams);
  }
}

// Rows that are off lines of 128 bytes come at half the rate, so the tile that needs fewer bytes for a product wins;
// one operand off them is enough for tiles of 128 x 128 to be bound by it.
TEST(gemm_choice, rows_off_lines_get_the_tile_that_reads_less) {
  constexpr configuration_facts two[] = {{256, 128, 64, 2, 1, 1, 1670, 300, true, 128},
                                         {256, 256, 64, 2, 1, 1, 1670, 4500, true, 128}};
  constexpr bool both[] = {true, true};
  const auto chosen_of = [&](index_t size, int a_lines, int b_lines) {
    return choose_configuration({size, size, size, 1, a_lines, b_lines}, two, units, both).number;
  };
  for (const index_t size : {1024, 4096, 8192}) EXPECT_EQ(chosen_of(size, 1, 1), 0) << size;
  for (const index_t size : {4096, 8192}) EXPECT_EQ(chosen_of(size, 2, 2), 1) << size;
  EXPECT_EQ(chosen_of(8192, 2, 1), 1);
  EXPECT_GT(step_cycles({1, 1, 1, 1, 2, 1}, two[0]), step_cycles({1, 1, 1, 1, 1, 2}, two[0]));
}

TEST(gemm_choice, rows_are_off_lines_if_any_of_a_batch_begins_within_one) {
  alignas(128) static const f16 at[8]{};
  const auto lines = [](const f16* data, index_t batch, index_t rows, index_t row, index_t next_batch) {
    return detail::lines_of(tensor<const f16, 3, host_space, 2>{data, {batch, rows, 64}, {next_batch, row, 1}});
  };
  EXPECT_EQ(lines(at, 2, 5, 64, 320), 1);
  EXPECT_EQ(lines(at, 2, 5, 72, 384), 2);
  EXPECT_EQ(lines(at + 8, 2, 5, 64, 320), 2);
  EXPECT_EQ(lines(at, 2, 5, 64, 328), 2);
  EXPECT_EQ(lines(at, 1, 5, 64, 328), 1);
  EXPECT_EQ(lines(at, 1, 1, 72, 72), 1);
  EXPECT_EQ(lines(at, 2, 1, 72, 72), 2);
  EXPECT_EQ(lines(at, 9, 5, 64, 0), 1);
}

// A few blocks of a kernel whose blocks share multiprocessors leave most of these idle, and run at half their rate.
TEST(gemm_choice, few_blocks_do_not_reach_the_rate_of_many) {
  constexpr gemm_extents one_each{64 * 132, 64, 4096, 1}, two_each{2 * 64 * 132, 64, 4096, 1};
  EXPECT_EQ(plain_cycles(one_each, list[small], units), plain_cycles(two_each, list[small], units));
  for (const index_t m : {1, 16, 64, 128}) EXPECT_TRUE(list[chosen(m, 4096, 4096).number].streams) << m;
}

TEST(gemm_choice, extents_beyond_any_count_are_judged_without_overflow) {
  constexpr index_t huge = index_t{1} << 62;
  for (const gemm_extents e : {gemm_extents{1 << 30, huge, 0, 1}, {1, 1, huge, 1}, {huge, huge, huge, huge}}) {
    const auto c = choose_configuration(e, list, units, all);
    EXPECT_GE(c.number, 0);
    EXPECT_TRUE(c.cycles >= 0);
  }
}

// Of few tiles each goes to several blocks, up to six, none with fewer than four steps.
TEST(gemm_choice, blocks_have_few_tiles_together) {
  constexpr configuration_facts joins[] = {{64, 128, 64, 1, 1, 1, 1500, 500, true, 128, 8}};
  constexpr bool one[] = {true};
  const auto together = [&](index_t m, index_t n, index_t k, int multiprocessors = units) {
    const auto c = choose_configuration({m, n, k, 1}, joins, multiprocessors, one);
    EXPECT_FALSE(c.stream && c.together > 1);
    return c.together;
  };
  EXPECT_EQ(together(16, 4608, 4096), 3);  // 36 tiles: 39 clusters of three run at one time
  EXPECT_GT(together(384, 384, 4096), 2);
  EXPECT_EQ(together(256, 256, 65536), 6);
  EXPECT_EQ(together(4096, 4096, 4096), 1);
  EXPECT_EQ(together(64, 128, 7 * 64), 1);
  EXPECT_EQ(together(64, 128, 65536, 1), 1);
  for (const int n : {2, 3, 4, 5, 6}) {
    EXPECT_LE(clusters_at_once(units, n) * n, units) << n;
    EXPECT_GE(clusters_at_once(units, n) * (n + 1), units - 20) << n;
    EXPECT_GE(clusters_at_once(1, n), 1);
  }
}

TEST(gemm_choice, k_of_zero_is_not_cut) { EXPECT_FALSE(chosen(512, 512, 0).stream); }

/// Whatever the extents, something usable is chosen, and nothing else would take fewer modelled cycles.
TEST(gemm_choice, every_problem_gets_a_usable_kernel) {
  for (int mask = 1; mask < 16; ++mask) {
    const bool usable[4] = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0};
    for (const index_t m : {1, 7, 64, 100, 1000, 5000})
      for (const index_t n : {1, 33, 256, 4097})
        for (const index_t k : {0, 1, 65, 4096})
          for (const index_t batch : {1, 3, 1000})
            for (const int multiprocessors : {1, 8, 108, 132}) {
              const auto c = chosen(m, n, k, batch, usable, multiprocessors);
              ASSERT_GE(c.number, 0);
              ASSERT_TRUE(usable[c.number]);
              ASSERT_TRUE(!c.stream || list[c.number].streams);
              ASSERT_GE(c.cycles, 0);
              for (int i = 0; i < 4; ++i) {
                if (usable[i]) {
                  ASSERT_LE(c.cycles, plain_cycles({m, n, k, batch}, list[i], multiprocessors));
                }
              }
            }
  }
}

TEST(gemm_choice, none_is_chosen_where_none_is_usable) {
  constexpr bool none[4] = {};
  EXPECT_EQ(chosen(100, 100, 100, 1, none).number, -1);
}

TEST(gemm_choice, the_first_of_equals) {
  const configuration_facts twice[] = {list[small], list[small]};
  const bool both[] = {true, true};
  EXPECT_EQ(choose_configuration({100, 100, 100, 1}, twice, units, both).number, 0);
}

TEST(gemm_choice, more_work_is_never_cheaper) {
  for (const auto& c : list) {
    double before = 0;
    for (index_t m = 1; m < 3000; m += 37) {
      const double cycles = plain_cycles({m, 1000, 500, 1}, c, units);
      ASSERT_GE(cycles, before) << m;
      before = cycles;
    }
  }
}

// A list of problems: many small ones fill the GPU with small tiles, large ones keep the large tile, and a list of one
// is judged as a problem of its own where its tiles fill no wave.
TEST(gemm_choice, lists_of_problems) {
  constexpr configuration_facts rings[] = {list[large], list[small]};
  const auto chosen_for = [&](const std::vector<gemm_extents>& all) {
    return choose_for_all(all.data(), static_cast<index_t>(all.size()), rings, units);
  };
  EXPECT_EQ(chosen_for(std::vector<gemm_extents>(64, {16, 2048, 2048, 1})).number, 1);
  EXPECT_EQ(chosen_for(std::vector<gemm_extents>(64, {1024, 2048, 2048, 1})).number, 0);
  EXPECT_EQ(chosen_for({{0, 5, 4, 1}, {100, 100, 64, 1}}).number, 1);
  const gemm_extents one{1024, 1024, 512, 1};
  for (const auto& c : rings) EXPECT_DOUBLE_EQ(grouped_cycles(&one, 1, c, 1000), plain_cycles(one, c, 1000));
}

}  // namespace
}  // namespace kiln::test
