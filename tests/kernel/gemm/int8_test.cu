// int8 and uint8 products: exact in int32, clamped into 8 bits.
#include <kiln/copy.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_int8);

using std::int32_t;
using std::int8_t;
using std::uint8_t;

TYPED_TEST(gemm_int8, rows_times_rows) { expect_products<int8_t, int8_t, int32_t, by_rows, by_rows>(*this, 21); }
TYPED_TEST(gemm_int8, rows_times_columns) { expect_products<int8_t, int8_t, int32_t, by_rows, by_columns>(*this, 22); }
TYPED_TEST(gemm_int8, columns_times_rows_into_uint8) {
  expect_products<int8_t, int8_t, uint8_t, by_columns, by_rows>(*this, 23);
}
TYPED_TEST(gemm_int8, columns_times_columns_into_int8) {
  expect_products<int8_t, int8_t, int8_t, by_columns, by_columns>(*this, 24);
}
TYPED_TEST(gemm_int8, without_any_unit_stride) {
  expect_products<int8_t, int8_t, int32_t, spread_out, spread_out, spread_out>(*this, 25);
}
TYPED_TEST(gemm_int8, unsigned_rows_times_columns) {
  expect_products<uint8_t, uint8_t, int32_t, by_rows, by_columns>(*this, 26);
}
TYPED_TEST(gemm_int8, unsigned_times_signed) {
  using scalars = config<tile<32, 64, 128>, warp_tile<16, 32>, stages<2>, instructions::simt>;
  expect_products<uint8_t, int8_t, int32_t, by_rows, by_columns, by_rows, on_gpu<TypeParam, scalars>>(*this, 27);
}

// GEMM-06
TYPED_TEST(gemm_int8, few_rows) {
  for (const index_t size : {64, 17})
    for (const index_t m : {1, 2, 15, 16, 17}) {
      const auto d = multiplied<int32_t, by_rows, by_columns>(
          *this, this->executor(), {m, size, size}, std::vector<int8_t>(static_cast<std::size_t>(m * size), 1),
          std::vector<int8_t>(static_cast<std::size_t>(size * size), 2));
      expect_matrix(d, m, size, [&](index_t, index_t) { return 2 * size; });
    }
}

template <int UnitA, int UnitB, class Config = automatic, class Fixture>
void expect_layout(Fixture& test) {
  const auto ex = test.executor();
  for (const placed how : {placed::packed, placed::odd_pitch}) {
    const auto d = multiplied<int32_t, UnitA, UnitB, by_rows, Config>(
        test, ex, {17, 16, 16}, matrix_of<int8_t>(17, 16, [](index_t i, index_t) { return i - 8; }),
        matrix_of<int8_t>(16, 16, [](index_t, index_t j) { return j - 8; }), {how, how, how});
    expect_matrix(d, 17, 16, [](index_t i, index_t j) { return 16 * (i - 8) * (j - 8); });
  }
  const auto d = multiplied<int32_t, UnitA, UnitB, by_rows, Config>(
      test, ex, {32, 48, 64}, matrix_of<int8_t>(32, 64, [](index_t i, index_t) { return i % 3 - 1; }),
      matrix_of<int8_t>(64, 48, [](index_t, index_t j) { return j % 3 - 1; }));
  expect_matrix(d, 32, 48, [](index_t i, index_t j) { return 64 * (i % 3 - 1) * (j % 3 - 1); });
}

// GEMM-07, GEMM-19
TYPED_TEST(gemm_int8, four_layouts_and_leading_dimensions_of_17) {
  expect_layout<by_rows, by_rows>(*this);
  expect_layout<by_rows, by_columns>(*this);
  using compact = on_gpu<TypeParam, config<tile<64, 64, 128>, warp_tile<32, 32>, stages<3>>>;  // default calls of these
                                                                                               // layouts stand above
  expect_layout<by_columns, by_rows, compact>(*this);
  expect_layout<by_columns, by_columns, compact>(*this);
}

// Weights that lie by rows are served as they are; a copy of them with K along memory takes the fast kernel of Hopper.
TYPED_TEST(gemm_int8, weights_repacked_with_k_along_memory) {
  using E = TypeParam;
  constexpr index_t m = 33, n = 40, k = 80, pitch = 96;  // rows of A and of the copy begin at multiples of 16 bytes
  const auto values = uniform<int8_t>(m * k, 1), weights = uniform<int8_t>(k * n, 2);
  const auto a = view_on<E>(this->template input<int8_t>(values).data(), m, k);
  const auto w = view_on<E>(this->template input<int8_t>(weights).data(), k, n);
  auto& packed = this->template output<int8_t>(n * pitch, prefill::x55);
  auto& d = this->template output<int32_t>(m * n, prefill::x55);
  const auto b = transposed(pitched(view_on<E>(packed.data(), n, k), pitch));
  const auto sink = store(view_on<E>(d.data(), m, n), acc);
  const auto want = product_of({m, n, k}, values, weights);
  const auto expect_right = [&](const auto& plan) {
    const status s = plan.run(this->executor());
    ASSERT_TRUE(s.ok()) << s.message();
    expect_matrix(d.values(), m, n,
                  [&](index_t i, index_t j) { return want.value[static_cast<std::size_t>(i * n + j)]; });
  };
  const auto as_it_is = plan_gemm(a, w, sink);
  const auto repacked = plan_gemm(a, b, sink);
  expect_right(as_it_is);
  const status s = copy(this->executor(), w, b);
  ASSERT_TRUE(s.ok()) << s.message();
  expect_right(repacked);
  EXPECT_TRUE(packed.wrote_only([](std::size_t i) { return i % pitch < k; }));
  if constexpr (!E::on_host) {
    if (no_hopper_here<E>().empty()) {
      EXPECT_EQ(std::string(as_it_is.explain().schedule).find("warp_specialized"), std::string::npos);
      EXPECT_NE(std::string(repacked.explain().schedule).find("warp_specialized"), std::string::npos)
          << repacked.explain().text();
    }
  }
}

// GEMM-15; past 2^31 a sum wraps, as documented.
TYPED_TEST(gemm_int8, sums_beyond_24_bits_are_exact_and_wrap_beyond_31) {
  const auto one = [&](std::vector<int8_t> a, std::vector<int8_t> b) {
    const auto k = static_cast<index_t>(a.size());
    return multiplied<int32_t, by_rows, by_columns>(*this, this->executor(), {1, 1, k}, a, b)[0];
  };
  std::vector<int8_t> many(16385, 32);
  many.back() = 1;
  EXPECT_EQ(one(many, many), 16777217);
  EXPECT_EQ(one(std::vector<int8_t>(4096, 127), std::vector<int8_t>(4096, 127)), 66064384);
  EXPECT_EQ(one(std::vector<int8_t>(131071, -128), std::vector<int8_t>(131071, -128)), 2147467264);
  EXPECT_EQ(one(std::vector<int8_t>(131072, -128), std::vector<int8_t>(131072, -128)), limits<int32_t>::lowest());
}

}  // namespace
}  // namespace kiln::test
