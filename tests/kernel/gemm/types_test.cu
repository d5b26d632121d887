// The other element types, and operands of two types.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_types);

TYPED_TEST(gemm_types, bf16_rows_times_columns) { expect_products<bf16, bf16, bf16, by_rows, by_columns>(*this, 31); }
TYPED_TEST(gemm_types, bf16_columns_times_rows_into_float) { expect_products<bf16, bf16, float, by_columns, by_rows>(*this, 32); }
TYPED_TEST(gemm_types, e4m3_rows_times_columns) { expect_products<e4m3, e4m3, bf16, by_rows, by_columns>(*this, 33); }
TYPED_TEST(gemm_types, e4m3_columns_times_rows) { expect_products<e4m3, e4m3, float, by_columns, by_rows>(*this, 34); }
TYPED_TEST(gemm_types, e5m2_times_e4m3) { expect_products<e5m2, e4m3, f16, by_rows, by_columns>(*this, 35); }
TYPED_TEST(gemm_types, float_times_f16) { expect_products<float, f16, float, by_rows, by_rows>(*this, 36); }
TYPED_TEST(gemm_types, bf16_times_float) { expect_products<bf16, float, bf16, by_rows, by_columns>(*this, 37); }
TYPED_TEST(gemm_types, f16_times_int8) { expect_products<f16, std::int8_t, f16, by_rows, by_columns>(*this, 38); }

}  // namespace
}  // namespace kiln::test
