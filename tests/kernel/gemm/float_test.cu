// float32 products, IEEE arithmetic on every executor.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_float);

TYPED_TEST(gemm_float, rows_times_rows) { expect_products<float, float, float, by_rows, by_rows>(*this, 1); }
TYPED_TEST(gemm_float, rows_times_columns) { expect_products<float, float, float, by_rows, by_columns>(*this, 2); }
TYPED_TEST(gemm_float, columns_times_rows_into_columns) { expect_products<float, float, float, by_columns, by_rows, by_columns>(*this, 3); }
TYPED_TEST(gemm_float, columns_times_columns) { expect_products<float, float, float, by_columns, by_columns>(*this, 4); }
TYPED_TEST(gemm_float, without_any_unit_stride) { expect_products<float, float, float, spread_out, spread_out, spread_out>(*this, 5); }

}  // namespace
}  // namespace kiln::test
