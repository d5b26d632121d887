// float16 products: every layout, results in float32 and rounded once to float16.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_f16);

using large = config<tile<128, 128, 64>, warp_tile<64, 64>, stages<3>>;

TYPED_TEST(gemm_f16, rows_times_rows) { expect_products<f16, f16, f16, by_rows, by_rows>(*this, 11); }
TYPED_TEST(gemm_f16, rows_times_columns) { expect_products<f16, f16, float, by_rows, by_columns>(*this, 12); }
TYPED_TEST(gemm_f16, columns_times_rows) {
  expect_products<f16, f16, f16, by_columns, by_rows, by_rows, on_gpu<TypeParam, large>>(*this, 13);
}
TYPED_TEST(gemm_f16, columns_times_columns_into_columns) {
  expect_products<f16, f16, f16, by_columns, by_columns, by_columns>(*this, 14);
}
TYPED_TEST(gemm_f16, without_any_unit_stride) {
  expect_products<f16, f16, f16, spread_out, spread_out, spread_out>(*this, 15);
}

// GEMM-01
TYPED_TEST(gemm_f16, odd_rows_and_odd_pointers) {
  for (const product_extents e :
       {product_extents{3, 5, 7}, {1, 105, 107}, {1, 705, 705}, {2, 4, 3}, {2, 2, 2}, {1, 1, 1}, {129, 65, 33}})
    for (const placed how : {placed::packed, placed::misaligned}) {
      const auto d = multiplied<f16, by_rows, by_rows>(
          *this, this->executor(), e, matrix_of<f16>(e.m, e.k, [](index_t i, index_t) { return i + 1; }),
          matrix_of<f16>(e.k, e.n, [](index_t, index_t) { return 1; }), {how, how, how});
      if (e.m < 60) expect_matrix(d, e.m, e.n, [&](index_t i, index_t) { return e.k * (i + 1); });  // exact in float16
    }
}

// GEMM-02
TYPED_TEST(gemm_f16, row_count_that_is_no_multiple_of_anything) {
  const product_extents e = TypeParam::on_host ? product_extents{147, 24, 512} : product_extents{1471, 256, 512};
  const auto d = multiplied<f16, by_rows, by_rows>(*this, this->executor(), e,
                                                   matrix_of<f16>(e.m, e.k, [](index_t, index_t) { return 1; }),
                                                   matrix_of<f16>(e.k, e.n, [](index_t, index_t) { return 1; }));
  expect_matrix(d, e.m, e.n, [](index_t, index_t) { return 512; });
}

// GEMM-11, GLM-01
TYPED_TEST(gemm_f16, sums_beyond_the_range_of_float16_cancel) {
  for (const index_t k : {4096, 13696}) {
    const auto a = matrix_of<f16>(1, k, [&](index_t, index_t l) { return l < k / 2 ? 8 : -8; }),
               b = matrix_of<f16>(k, 1, [](index_t, index_t) { return 8; });
    EXPECT_EQ(as_double((multiplied<f16, by_rows, by_rows>(*this, this->executor(), {1, 1, k}, a, b))[0]), 0);
    EXPECT_EQ(as_double((multiplied<float, by_rows, by_columns>(*this, this->executor(), {1, 1, k}, a, b))[0]), 0);
  }
}

}  // namespace
}  // namespace kiln::test
