// int8 and uint8 products: exact in int32, clamped into 8 bits.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_int8);

using std::int32_t;
using std::int8_t;
using std::uint8_t;

TYPED_TEST(gemm_int8, rows_times_rows) { expect_products<int8_t, int8_t, int32_t, by_rows, by_rows>(*this, 21); }
TYPED_TEST(gemm_int8, rows_times_columns) { expect_products<int8_t, int8_t, int32_t, by_rows, by_columns>(*this, 22); }
TYPED_TEST(gemm_int8, columns_times_rows_into_uint8) { expect_products<int8_t, int8_t, uint8_t, by_columns, by_rows>(*this, 23); }
TYPED_TEST(gemm_int8, columns_times_columns_into_int8) { expect_products<int8_t, int8_t, int8_t, by_columns, by_columns>(*this, 24); }
TYPED_TEST(gemm_int8, without_any_unit_stride) { expect_products<int8_t, int8_t, int32_t, spread_out, spread_out, spread_out>(*this, 25); }
TYPED_TEST(gemm_int8, unsigned_rows_times_columns) { expect_products<uint8_t, uint8_t, int32_t, by_rows, by_columns>(*this, 26); }
TYPED_TEST(gemm_int8, unsigned_times_signed) { expect_products<uint8_t, int8_t, int32_t, by_rows, by_columns>(*this, 27); }

// GEMM-06
TYPED_TEST(gemm_int8, few_rows) {
  for (const index_t size : {64, 17})
    for (const index_t m : {1, 2, 15, 16, 17}) {
      const auto d = multiplied<int32_t, by_rows, by_columns>(*this, this->executor(), {m, size, size}, std::vector<int8_t>(static_cast<std::size_t>(m * size), 1),
                                                              std::vector<int8_t>(static_cast<std::size_t>(size * size), 2));
      expect_matrix(d, m, size, [&](index_t, index_t) { return 2 * size; });
    }
}

template <int UnitA, int UnitB, class Fixture>
void expect_layout(Fixture& test) {
  const auto ex = test.executor();
  for (const placed how : {placed::packed, placed::odd_pitch}) {
    const auto d = multiplied<int32_t, UnitA, UnitB>(test, ex, {17, 16, 16}, matrix_of<int8_t>(17, 16, [](index_t i, index_t) { return i - 8; }),
                                                     matrix_of<int8_t>(16, 16, [](index_t, index_t j) { return j - 8; }), {how, how, how});
    expect_matrix(d, 17, 16, [](index_t i, index_t j) { return 16 * (i - 8) * (j - 8); });
  }
  const auto d = multiplied<int32_t, UnitA, UnitB>(test, ex, {32, 48, 64}, matrix_of<int8_t>(32, 64, [](index_t i, index_t) { return i % 3 - 1; }),
                                                   matrix_of<int8_t>(64, 48, [](index_t, index_t j) { return j % 3 - 1; }));
  expect_matrix(d, 32, 48, [](index_t i, index_t j) { return 64 * (i % 3 - 1) * (j % 3 - 1); });
}

// GEMM-07, GEMM-19
TYPED_TEST(gemm_int8, four_layouts_and_leading_dimensions_of_17) {
  expect_layout<by_rows, by_rows>(*this);
  expect_layout<by_rows, by_columns>(*this);
  expect_layout<by_columns, by_rows>(*this);
  expect_layout<by_columns, by_columns>(*this);
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
