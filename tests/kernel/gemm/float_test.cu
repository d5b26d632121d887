// float32 products, IEEE arithmetic on every executor.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_float);

TYPED_TEST(gemm_float, rows_times_rows) { expect_products<float, float, float, by_rows, by_rows>(*this, 1); }
TYPED_TEST(gemm_float, rows_times_columns) { expect_products<float, float, float, by_rows, by_columns>(*this, 2); }
TYPED_TEST(gemm_float, columns_times_rows_into_columns) {
  expect_products<float, float, float, by_columns, by_rows, by_columns>(*this, 3);
}
TYPED_TEST(gemm_float, columns_times_columns) {
  expect_products<float, float, float, by_columns, by_columns>(*this, 4);
}
TYPED_TEST(gemm_float, without_any_unit_stride) {
  expect_products<float, float, float, spread_out, spread_out, spread_out>(*this, 5);
}

// GEMM-09
TYPED_TEST(gemm_float, zero_extents_launch_nothing_even_with_null_pointers) {
  using E = TypeParam;
  const auto call = [&](float* p, index_t batch, index_t m, index_t n, index_t k) {
    return gemm(this->executor(), view_on<E>(static_cast<const float*>(p), batch, m, k),
                view_on<E>(static_cast<const float*>(p), batch, k, n), store(view_on<E>(p, batch, m, n), acc));
  };
  auto& untouched = this->template output<float>(16);
  for (float* p : {static_cast<float*>(nullptr), untouched.data()}) {
    EXPECT_TRUE(call(p, 1, 0, 4, 4).ok());
    EXPECT_TRUE(call(p, 1, 4, 0, 4).ok());
    EXPECT_TRUE(call(p, 0, 4, 4, 4).ok());
    EXPECT_TRUE(call(p, 1, 0, 0, 0).ok());
  }
  EXPECT_TRUE(untouched.untouched());
}

TYPED_TEST(gemm_float, without_products_the_sums_are_zero) {
  expect_matrix(multiplied<float, by_rows, by_rows>(*this, this->executor(), {33, 17, 0, 2}, std::vector<float>{},
                                                    std::vector<float>{}),
                66, 17, [](index_t, index_t) { return 0; });
}

// A matrix B serves every batch, and so does a matrix A; M, N and K differ.
TYPED_TEST(gemm_float, one_matrix_for_all_batches) {
  using E = TypeParam;
  constexpr index_t batch = 3, m = 5, n = 7, k = 11;
  const auto many = small_integers<float>(batch * m * k, 91), few = small_integers<float>(k * n, 92);
  auto &a = this->template input<float>(many), &b = this->template input<float>(few);
  auto &d = this->template output<float>(batch * m * n), &t = this->template output<float>(batch * n * m);
  const auto va = view_on<E>(a.data(), batch, m, k);
  const auto vb = view_on<E>(b.data(), k, n);
  ASSERT_TRUE(gemm(this->executor(), va, vb, store(view_on<E>(d.data(), batch, m, n), acc)).ok());
  ASSERT_TRUE(
      gemm(this->executor(), transposed(vb), transposed(va), store(view_on<E>(t.data(), batch, n, m), acc)).ok());
  std::vector<float> repeated;
  for (index_t q = 0; q < batch; ++q) repeated.insert(repeated.end(), few.begin(), few.end());
  const auto want = product_of({m, n, k, batch}, many, repeated);
  const auto seen = d.values(), turned = t.values();
  for (std::size_t q = 0; q < batch; ++q)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        EXPECT_EQ(as_double(seen[(q * m + i) * n + j]), want.value[(q * m + i) * n + j]);
        EXPECT_EQ(as_double(turned[(q * n + j) * m + i]), want.value[(q * m + i) * n + j]);
      }
}

}  // namespace
}  // namespace kiln::test
