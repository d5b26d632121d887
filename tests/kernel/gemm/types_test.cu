// The other element types, and operands of two types.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_types);

// One default call for each kind of element; pairs and layouts that take the same kernels have one of them.
using large = config<tile<128, 128, 64>, warp_tile<64, 64>, stages<3>>;
using scalars = config<tile<32, 64, 128>, warp_tile<16, 32>, stages<2>, instructions::simt>;

TYPED_TEST(gemm_types, bf16_rows_times_columns) { expect_products<bf16, bf16, bf16, by_rows, by_columns>(*this, 31); }
TYPED_TEST(gemm_types, bf16_columns_times_rows_into_float) {
  expect_products<bf16, bf16, float, by_columns, by_rows, by_rows, on_gpu<TypeParam, large>>(*this, 32);
}
TYPED_TEST(gemm_types, e4m3_rows_times_columns) { expect_products<e4m3, e4m3, float, by_rows, by_columns>(*this, 33); }
TYPED_TEST(gemm_types, e4m3_columns_times_rows) { expect_products<e4m3, e4m3, float, by_columns, by_rows>(*this, 34); }
TYPED_TEST(gemm_types, e5m2_times_e4m3) { expect_products<e5m2, e4m3, f16, by_rows, by_columns>(*this, 35); }
TYPED_TEST(gemm_types, float_times_f16) { expect_products<float, f16, float, by_rows, by_rows>(*this, 36); }
TYPED_TEST(gemm_types, bf16_times_float) {
  expect_products<bf16, float, bf16, by_rows, by_columns, by_rows, on_gpu<TypeParam, scalars>>(*this, 37);
}
TYPED_TEST(gemm_types, f16_times_int8) {
  expect_products<f16, std::int8_t, f16, by_rows, by_columns, by_rows, on_gpu<TypeParam, scalars>>(*this, 38);
}

template <int UnitA, int UnitB, class Fixture>
void expect_exact_e4m3(Fixture& test) {
  const auto d = multiplied<float, UnitA, UnitB>(test, test.executor(), {32, 48, 64},
                                                 matrix_of<e4m3>(32, 64, [](index_t i, index_t) { return i % 3 - 1; }),
                                                 matrix_of<e4m3>(64, 48, [](index_t, index_t j) { return j % 3 - 1; }));
  expect_matrix(d, 32, 48, [](index_t i, index_t j) { return 64 * (i % 3 - 1) * (j % 3 - 1); });
}

// GEMM-19
TYPED_TEST(gemm_types, e4m3_of_every_layout) {
  expect_exact_e4m3<by_rows, by_rows>(*this);
  expect_exact_e4m3<by_rows, by_columns>(*this);
  expect_exact_e4m3<by_columns, by_rows>(*this);
  expect_exact_e4m3<by_columns, by_columns>(*this);
}

// GEMM-04, the part that is not grouped: an operand one byte into its buffer.
TYPED_TEST(gemm_types, e4m3_one_byte_into_a_buffer) {
  const std::vector<e4m3> ones(64 * 64, value_of<e4m3>(1));
  const auto d = multiplied<float, by_rows, by_columns>(*this, this->executor(), {64, 64, 64}, ones, ones,
                                                        {placed::packed, placed::misaligned, placed::packed});
  expect_matrix(d, 64, 64, [](index_t, index_t) { return 64; });
}

// GEMM-18
TYPED_TEST(gemm_types, rows_of_one_type_times_the_identity_of_another) {
  const auto rows = [](index_t i, index_t) { return i + 1; };
  const auto identity = [](index_t k, index_t j) { return k == j ? 1 : 0; };
  const product_extents e{16, 16, 16};
  expect_matrix(multiplied<float, by_rows, by_rows>(*this, this->executor(), e, matrix_of<float>(16, 16, rows),
                                                    matrix_of<f16>(16, 16, identity)),
                16, 16, rows);
  expect_matrix(multiplied<bf16, by_rows, by_columns, by_rows, on_gpu<TypeParam, scalars>>(
                    *this, this->executor(), e, matrix_of<bf16>(16, 16, rows), matrix_of<float>(16, 16, identity)),
                16, 16, rows);
  expect_matrix(multiplied<float, by_rows, by_rows, by_rows, on_gpu<TypeParam, scalars>>(
                    *this, this->executor(), e, matrix_of<f16>(16, 16, rows), matrix_of<float>(16, 16, identity)),
                16, 16, rows);
}

}  // namespace
}  // namespace kiln::test
