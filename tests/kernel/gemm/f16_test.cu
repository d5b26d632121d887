// float16 products: every layout, results in float32 and rounded once to float16.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_f16);

TYPED_TEST(gemm_f16, rows_times_rows) { expect_products<f16, f16, f16, by_rows, by_rows>(*this, 11); }
TYPED_TEST(gemm_f16, rows_times_columns) { expect_products<f16, f16, float, by_rows, by_columns>(*this, 12); }
TYPED_TEST(gemm_f16, columns_times_rows) { expect_products<f16, f16, f16, by_columns, by_rows>(*this, 13); }
TYPED_TEST(gemm_f16, columns_times_columns_into_columns) { expect_products<f16, f16, f16, by_columns, by_columns, by_columns>(*this, 14); }
TYPED_TEST(gemm_f16, without_any_unit_stride) { expect_products<f16, f16, f16, spread_out, spread_out, spread_out>(*this, 15); }

}  // namespace
}  // namespace kiln::test
