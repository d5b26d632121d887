// Pinned configurations for Hopper: on the host under watch, with roles and copies in kind and unkind orders; on a GPU
// of compute capability 9.0 as they are.
#include <kiln/arch/host/driver.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

template <class E>
class gemm_warp_specialized : public on_executor<E> {
 protected:
  void SetUp() override {
    on_executor<E>::SetUp();
    if (const auto why = no_hopper_here<E>(); !this->IsSkipped() && !why.empty()) GTEST_SKIP() << why;
  }
};
TYPED_TEST_SUITE(gemm_warp_specialized, executors, executor_names);

constexpr std::initializer_list<product_extents> few = {{1, 1, 1, 1}, {200, 200, 136, 1}, {130, 65, 33, 2}};

template <class Ta, class Tb, class Out, int UnitA, int UnitB, class Config, class Fixture>
void expect_all_orders(Fixture& test, std::uint64_t seed) {
  const auto ex = watched(test.executor());
  const auto run = [&](const auto& with, std::uint64_t s) {
    expect_pinned<Ta, Tb, Out, UnitA, UnitB, Config>(test, with, few, seed + s, true);
  };
  run(ex, 0);
  if constexpr (std::decay_t<decltype(ex)>::on_host) {
    run(ex.with_order(order::late), 100);
    run(ex.with_order(order::random, seed), 200);
    run(ex.with_order(order::random, seed + 1), 300);
  }
}

TYPED_TEST(gemm_warp_specialized, f16_rows_times_columns) {
  expect_all_orders<f16, f16, f16, by_rows, by_columns, config<tile<128, 64, 64>, stages<3>, warp_specialized>>(*this,
                                                                                                                51);
}
TYPED_TEST(gemm_warp_specialized, bf16_columns_times_rows_in_clusters) {
  expect_all_orders<bf16, bf16, float, by_columns, by_rows,
                    config<tile<128, 128, 64>, stages<2>, cluster<2>, warp_specialized>>(*this, 52);
}
TYPED_TEST(gemm_warp_specialized, bf16_rows_times_columns_in_clusters) {
  expect_all_orders<bf16, bf16, bf16, by_rows, by_columns,
                    config<tile<128, 32, 64>, stages<4>, cluster<2>, warp_specialized>>(*this, 53);
}
TYPED_TEST(gemm_warp_specialized, tiles_of_256_rows) {
  expect_all_orders<f16, f16, float, by_rows, by_rows, config<tile<256, 64, 64>, stages<2>, warp_specialized>>(*this,
                                                                                                               54);
}
TYPED_TEST(gemm_warp_specialized, tiles_in_turns) {
  expect_all_orders<f16, f16, f16, by_rows, by_columns,
                    config<tile<64, 64, 64>, stages<3>, ping_pong, warp_specialized>>(*this, 57);
}
TYPED_TEST(gemm_warp_specialized, tiles_in_turns_in_clusters) {
  expect_all_orders<bf16, bf16, float, by_rows, by_columns,
                    config<tile<64, 32, 64>, stages<2>, cluster<2>, ping_pong, warp_specialized>>(*this, 58);
}
TYPED_TEST(gemm_warp_specialized, int8) {
  expect_all_orders<std::int8_t, std::int8_t, std::int32_t, by_rows, by_columns,
                    config<tile<128, 64, 128>, stages<2>, warp_specialized>>(*this, 55);
}
/// Widths that are no multiple of 64, over two tiles: what one tile stores must end where the next begins.
TYPED_TEST(gemm_warp_specialized, widths_between_the_powers_of_two) {
  expect_all_orders<bf16, bf16, bf16, by_rows, by_columns, config<tile<128, 96, 64>, stages<2>, warp_specialized>>(
      *this, 59);
  expect_all_orders<bf16, bf16, std::int8_t, by_rows, by_columns,
                    config<tile<128, 96, 64>, stages<2>, warp_specialized>>(*this, 60);
  expect_all_orders<f16, f16, float, by_rows, by_columns,
                    config<tile<128, 160, 64>, stages<2>, cluster<2>, warp_specialized>>(*this, 61);
}
TYPED_TEST(gemm_warp_specialized, floats_of_8_bits_promoted) {
  expect_all_orders<e4m3, e5m2, bf16, by_rows, by_columns, config<tile<128, 64, 128>, stages<2>, warp_specialized>>(
      *this, 56);
}

// A store whose rows run down the columns, which TMA cannot take.
TYPED_TEST(gemm_warp_specialized, results_by_columns) {
  using pinned = config<tile<128, 64, 64>, stages<3>, warp_specialized>;
  expect_product<f16, f16, f16, by_rows, by_rows, by_columns, pinned>(
      *this, watched(this->executor()),
      TypeParam::on_host ? product_extents{138, 40, 64} : product_extents{1638, 768, 256}, 7, {});
}

/// Small integers are exact however few bits the units keep.
template <class Config, class Fixture>
void expect_exact_small_integers(Fixture& test) {
  using E = std::decay_t<decltype(test.executor())>;
  constexpr index_t m = 130, n = 70, k = 272;
  const auto a = small_integers<e4m3>(m * k, 1, -2, 2), b = small_integers<e4m3>(n * k, 2, -2, 2);
  auto &da = test.template input<e4m3>(a), &db = test.template input<e4m3>(b);
  auto& d = test.template output<float>(m * n);
  const status s = gemm<Config>(test.executor(), view_on<E>(da.data(), m, k), transposed(view_on<E>(db.data(), n, k)),
                                store(view_on<E>(d.data(), m, n), acc));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto result = d.values();
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += as_double(a[i * k + l]) * as_double(b[j * k + l]);
      ASSERT_EQ(as_double(result[i * n + j]), sum) << i << ", " << j;
    }
}

TYPED_TEST(gemm_warp_specialized, fast_accumulation_is_exact_for_small_integers) {
  expect_exact_small_integers<config<tile<128, 64, 128>, stages<2>, fast_accumulation, warp_specialized>>(*this);
}
TYPED_TEST(gemm_warp_specialized, a_choice_with_fast_accumulation) {
  expect_exact_small_integers<automatic_with<fast_accumulation>>(*this);
}

/// A tile that D ends in, and one with nothing of D: TMA stores the rows that there are, and what is read for each row
/// and each element stays inside.
template <class Config, class Fixture>
void expect_rows_that_end_in_a_tile(Fixture& test) {
  using E = std::decay_t<decltype(test.executor())>;
  constexpr index_t m = 150, n = 64, k = 64;
  const auto a = small_integers<f16>(m * k, 1, -2, 2), b = small_integers<f16>(n * k, 2, -2, 2),
             c = small_integers<f16>(m * n, 3, -9, 9);
  const auto shift = small_integers<float>(m, 4, -9, 9);
  auto &da = test.template input<f16>(a), &db = test.template input<f16>(b), &dc = test.template input<f16>(c);
  auto& ds = test.template input<float>(shift);
  auto& d = test.template output<f16>(m * n);
  const status s = gemm<Config>(
      test.executor(), view_on<E>(da.data(), m, k), transposed(view_on<E>(db.data(), n, k)),
      store(view_on<E>(d.data(), m, n), acc + per_row(view_on<E>(ds.data(), m)) + elem(view_on<E>(dc.data(), m, n))));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto result = d.values();
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = as_double(shift[i]) + as_double(c[i * n + j]);
      for (std::size_t l = 0; l < k; ++l) sum += as_double(a[i * k + l]) * as_double(b[j * k + l]);
      ASSERT_EQ(as_double(result[i * n + j]), sum) << i << ", " << j;
    }
}
TYPED_TEST(gemm_warp_specialized, rows_that_end_in_a_tile) {
  expect_rows_that_end_in_a_tile<config<tile<128, 64, 64>, stages<2>, cluster<2>, ping_pong, warp_specialized>>(*this);
  expect_rows_that_end_in_a_tile<config<tile<128, 32, 64>, stages<2>, cluster<2>, warp_specialized>>(*this);
}

/// A pinned configuration has no slower one behind it: what TMA cannot copy is a status that says what is needed.
TYPED_TEST(gemm_warp_specialized, operands_that_tma_cannot_copy_are_refused) {
  using E = TypeParam;
  using pinned = config<tile<128, 64, 64>, stages<3>, warp_specialized>;
  auto& a = this->template input<f16>(uniform<f16>(4096, 1));
  auto& d = this->template output<float>(4096);
  const auto expect = [&](const status& s, errc code, std::initializer_list<const char*> texts) {
    EXPECT_EQ(name_of(s.code()), name_of(code)) << s.message();
    for (const char* text : texts) EXPECT_NE(s.message().find(text), std::string::npos) << text << ": " << s.message();
  };
  const auto b = transposed(view_on<E>(a.data(), 32, 32));
  const auto sink = store(view_on<E>(d.data(), 32, 32), acc);
  expect(gemm<pinned>(this->executor(), pitched(view_on<E>(a.data(), 32, 32), 33), b, sink), errc::bad_stride,
         {"`a`", "66", "16"});
  expect(gemm<pinned>(this->executor(), view_on<E>(a.data() + 1, 32, 32), b, sink), errc::bad_alignment, {"`a`", "16"});
  expect(
      gemm<pinned>(this->executor(), view_on<E>(a.data(), 32, 32), transposed(view_on<E>(a.data() + 4, 32, 32)), sink),
      errc::bad_alignment, {"`b`", "16"});
  expect(gemm<pinned>(this->executor(), view_on<E>(a.data(), 32, 0), transposed(view_on<E>(a.data(), 32, 0)), sink),
         errc::bad_shape, {"k = 0"});
  EXPECT_TRUE(d.untouched());
  EXPECT_TRUE(gemm<pinned>(this->executor(), view_on<E>(a.data(), 32, 32), b, sink).ok());
}

}  // namespace
}  // namespace kiln::test
