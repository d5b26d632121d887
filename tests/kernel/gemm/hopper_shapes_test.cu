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
/// A long expression, whose columns share one copy of the code, on tiles that end in 48 columns.
template <class Config, class Fixture>
void expect_gelu(Fixture& test) {
  using E = std::decay_t<decltype(test.executor())>;
  constexpr index_t m = 70, n = 256, k = 72;
  const auto a = small_integers<bf16>(m * k, 90), b = small_integers<bf16>(n * k, 91);
  const auto bias = uniform<float>(n, 92);
  auto& d = test.template output<bf16>(m * n);
  const auto at_b = transposed(view_on<E>(test.input(b).data(), n, k));
  ASSERT_TRUE(gemm<Config>(watched(test.executor()), view_on<E>(test.input(a).data(), m, k), at_b,
                           store(view_on<E>(d.data(), m, n), gelu(acc * 0.05f + per_column(view_on<E>(
                                                                                    test.input(bias).data(), n)))))
                  .ok());
  const auto want = product_of({m, n, k}, a, by_k(b, n, k));
  const auto got = d.values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = want.value[i] * static_cast<double>(0.05f) + as_double(bias[i % static_cast<std::size_t>(n)]),
                 exact = 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    // The sum is exact, x has two roundings and gelu what activations.hpp says of it.
    const double error = 0x1p-8 * std::abs(exact) + 1e-5 * std::abs(exact) + 2e-7 * (1 + std::abs(x));
    ASSERT_TRUE(is_near(got[i], exact, error)) << "element " << i;
  }
}
TYPED_TEST(gemm_hopper_shapes, long_expressions_on_tiles_that_end_in_48_columns) {
  expect_gelu<config<tile<128, 48, 64>, stages<2>, warp_specialized>>(*this);
  expect_gelu<config<tile<128, 112, 64>, stages<2>, warp_specialized>>(*this);
  expect_gelu<config<tile<64, 176, 64>, stages<2>, ping_pong, warp_specialized>>(*this);
  expect_gelu<config<tile<128, 112, 64>, stages<2>, ping_pong, warp_specialized>>(*this);
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
