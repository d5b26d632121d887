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

}  // namespace
}  // namespace kiln::test
