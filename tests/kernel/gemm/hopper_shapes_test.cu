// Hopper tiles of any width, clusters along both axes, and 8-bit floats whose blocks of rows are promoted in turn.
#include <kiln/arch/host/driver.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

template <class E>
class gemm_hopper_shapes : public on_executor<E> {
 protected:
  void SetUp() override {
    on_executor<E>::SetUp();
    if (const auto why = no_hopper_here<E>(); !this->IsSkipped() && !why.empty()) GTEST_SKIP() << why;
  }
};
TYPED_TEST_SUITE(gemm_hopper_shapes, executors, executor_names);

/// Two tiles along each axis, the last ones cut off; the clusters' last blocks have nothing of D at all.
constexpr std::initializer_list<product_extents> few = {{1, 1, 1, 1}, {260, 300, 136, 1}, {130, 150, 72, 2}};

template <class Ta, class Tb, class Out, int UnitA, int UnitB, class Config, class Fixture>
void expect_under_watch(Fixture& test, std::uint64_t seed) {
  const auto ex = watched(test.executor());
  if constexpr (std::decay_t<decltype(ex)>::on_host)
    expect_pinned<Ta, Tb, Out, UnitA, UnitB, Config>(test, ex.with_order(order::random, seed), few, seed, true);
  else expect_pinned<Ta, Tb, Out, UnitA, UnitB, Config>(test, ex, few, seed, true);
}

TYPED_TEST(gemm_hopper_shapes, stores_of_144_columns) {
  expect_under_watch<bf16, bf16, bf16, by_rows, by_columns,
                     config<tile<128, 144, 64>, stages<2>, cluster<2>, warp_specialized>>(*this, 71);
}
// Of rows that are off lines.
TYPED_TEST(gemm_hopper_shapes, stores_of_256_columns) {
  expect_under_watch<bf16, bf16, bf16, by_rows, by_columns,
                     config<tile<128, 256, 64>, stages<2>, cluster<2>, warp_specialized>>(*this, 80);
}
TYPED_TEST(gemm_hopper_shapes, stores_of_144_columns_in_turn) {
  expect_under_watch<f16, f16, f16, by_rows, by_columns,
                     config<tile<128, 144, 64>, stages<3>, cluster<2>, ping_pong, warp_specialized>>(*this, 81);
}
TYPED_TEST(gemm_hopper_shapes, blocks_along_n_promoted) {
  expect_under_watch<e4m3, e4m3, bf16, by_rows, by_columns,
                     config<tile<128, 128, 128>, stages<2>, cluster<1, 2>, warp_specialized>>(*this, 82);
}
TYPED_TEST(gemm_hopper_shapes, stores_of_48_columns_of_float) {
  expect_under_watch<f16, f16, float, by_rows, by_columns, config<tile<128, 48, 64>, stages<2>, warp_specialized>>(
      *this, 72);
}
TYPED_TEST(gemm_hopper_shapes, stores_of_80_columns_of_8_bits) {
  expect_under_watch<bf16, bf16, std::int8_t, by_rows, by_columns,
                     config<tile<64, 80, 64>, stages<2>, ping_pong, warp_specialized>>(*this, 73);
}
TYPED_TEST(gemm_hopper_shapes, blocks_along_n_share_a) {
  expect_under_watch<f16, f16, f16, by_rows, by_columns,
                     config<tile<128, 64, 64>, stages<3>, cluster<1, 2>, warp_specialized>>(*this, 74);
}
TYPED_TEST(gemm_hopper_shapes, blocks_along_n_share_a_by_columns) {
  expect_under_watch<bf16, bf16, float, by_columns, by_rows,
                     config<tile<128, 64, 64>, stages<2>, cluster<1, 2>, ping_pong, warp_specialized>>(*this, 75);
}
TYPED_TEST(gemm_hopper_shapes, blocks_along_both_axes_share_both) {
  expect_under_watch<bf16, bf16, bf16, by_rows, by_columns,
                     config<tile<128, 80, 64>, stages<2>, cluster<2, 2>, warp_specialized>>(*this, 76);
}
TYPED_TEST(gemm_hopper_shapes, four_blocks_of_int8_along_n) {
  expect_under_watch<std::int8_t, std::int8_t, std::int32_t, by_rows, by_columns,
                     config<tile<128, 48, 128>, stages<2>, cluster<1, 4>, warp_specialized>>(*this, 78);
}
TYPED_TEST(gemm_hopper_shapes, four_blocks_along_m) {
  expect_under_watch<f16, f16, float, by_rows, by_columns,
                     config<tile<64, 64, 64>, stages<2>, cluster<4, 1>, ping_pong, warp_specialized>>(*this, 79);
}
TYPED_TEST(gemm_hopper_shapes, blocks_of_rows_promoted_in_turn) {
  expect_under_watch<e4m3, e4m3, bf16, by_rows, by_columns,
                     config<tile<256, 128, 128>, stages<2>, cluster<2>, warp_specialized>>(*this, 77);
}

}  // namespace
}  // namespace kiln::test
