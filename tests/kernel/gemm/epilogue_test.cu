// What rides along with a product: scales, biases, residuals, activations, conversions, on real accumulators.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

template <class E>
class gemm_epilogue : public with_views<E> {};
TYPED_TEST_SUITE(gemm_epilogue, executors, executor_names);

/// For what depends on the expression alone; one default call stands for each kind of kernel.
template <class E>
using scalars = on_gpu<E, config<tile<32, 32, 32>, warp_tile<16, 16>, stages<4>, instructions::simt>>;
template <class E>
using compact = on_gpu<E, config<tile<64, 64, 64>, warp_tile<32, 32>, stages<3>>>;

// EPI-01, EPI-02: square, so that rows and columns taken for each other would still fit.
TYPED_TEST(gemm_epilogue, biases_for_rows_and_for_columns) {
  const auto zero = this->in(std::vector<float>(3 * 2), 3, 2), also = this->in(std::vector<float>(2 * 3), 2, 3);
  const auto one = this->in(std::vector<float>{1, 2, 3}, 3);
  const auto three = this->in(std::vector<float>{1, 2, 3}, 1, 1, 3);
  const auto stretched = view_on<TypeParam>(one.data, {3, 3}, {0, 1});
  const auto [by_row, rows] = this->template out<float>(3, 3);
  const auto [by_column, columns] = this->template out<float>(3, 3);
  const auto [by_three, threes] = this->template out<float>(3, 3);
  const auto [by_matrix, matrices] = this->template out<float>(3, 3);
  const status s = gemm<scalars<TypeParam>>(
      this->executor(), zero, also, store(by_row, acc + per_row(one)), store(by_column, acc + per_column(one)),
      store(by_three, acc + per_column(three)), store(by_matrix, axpby(1.0f, acc, 1.0f, stretched)));
  ASSERT_TRUE(s.ok()) << s.message();
  expect_matrix(rows->values(), 3, 3, [](index_t i, index_t) { return i + 1; });
  for (const auto* result : {columns, threes, matrices})
    expect_matrix(result->values(), 3, 3, [](index_t, index_t j) { return j + 1; });
}

// EPI-03: a bias and a residual with extents that no tile divides.
TYPED_TEST(gemm_epilogue, bias_and_residual) {
  constexpr index_t m = 100, n = 256, k = 256;
  const auto a = this->in(std::vector<float>(m * k, 1.0f / 256), m, k),
             b = this->in(std::vector<float>(k * n, 1), k, n);
  const auto bias = this->in(matrix_of<float>(1, n, [](index_t, index_t j) { return j; }), n);
  const auto residual = this->in(matrix_of<float>(m, n, [](index_t i, index_t) { return i; }), m, n);
  const auto check = [&](auto pinned) {
    const auto [d, result] = this->template out<float>(m, n);
    const status s = gemm<decltype(pinned)>(this->executor(), a, b, store(d, acc + per_column(bias) + elem(residual)));
    ASSERT_TRUE(s.ok()) << s.message();
    expect_matrix(result->values(), m, n, [](index_t i, index_t j) { return 1 + j + i; });  // all sums are exact
  };
  check(automatic{});
  check(config<tile<32, 32, 32>, warp_tile<16, 16>, stages<4>, instructions::simt>{});
}

// GEMM-16: a scale for each row, and nothing read behind the last.
TYPED_TEST(gemm_epilogue, scales_for_rows_and_columns_of_8_bit_floats) {
  constexpr index_t m = 257, n = 33, k = 64;
  const auto a = this->in(std::vector<e4m3>(m * k, value_of<e4m3>(1)), m, k),
             b = this->in(std::vector<e4m3>(n * k, value_of<e4m3>(1)), n, k);
  const auto rows = this->in(matrix_of<float>(1, m, [](index_t, index_t i) { return i + 1; }), m);
  const auto cols = this->in(std::vector<float>(n, 0.5f), n);
  const auto [d, result] = this->template out<float>(m, n);
  ASSERT_TRUE(gemm(this->executor(), a, transposed(b), store(d, acc * per_row(rows) * per_column(cols))).ok());
  expect_matrix(result->values(), m, n, [](index_t i, index_t) { return 32 * (i + 1); });
}

// GEMM-10: beta = 0 reads nothing, whatever lies in D; in place otherwise.
TYPED_TEST(gemm_epilogue, beta_times_what_was_there) {
  constexpr index_t m = 33, n = 17, k = 9;
  const auto run = [&](auto type, auto pinned) {
    using T = decltype(type);
    const auto a = this->in(std::vector<T>(m * k, value_of<T>(1)), m, k),
               b = this->in(std::vector<T>(k * n, value_of<T>(1)), k, n);
    const auto [d, result] = this->template out<T>(m, n);  // NaN
    ASSERT_TRUE(gemm<decltype(pinned)>(this->executor(), a, b, store(d, axpby(1.0f, acc, 0.0f, d))).ok());
    expect_matrix(result->values(), m, n, [](index_t, index_t) { return 9; });
    ASSERT_TRUE(gemm<decltype(pinned)>(this->executor(), a, b, store(d, axpby(1.0f, acc, 1.0f, d))).ok());
    expect_matrix(result->values(), m, n, [](index_t, index_t) { return 18; });
    ASSERT_TRUE(gemm<decltype(pinned)>(this->executor(), a, b, store(d, axpby(2.0f, acc, 0.5f, d))).ok());
    expect_matrix(result->values(), m, n, [](index_t, index_t) { return 27; });
  };
  run(float{}, scalars<TypeParam>{});
  run(f16{}, automatic{});
}

struct column_number {
  KILN_FN float operator()(float, coord at) const { return static_cast<float>(at.col); }
};

// EPI-15: D is the residual itself.
TYPED_TEST(gemm_epilogue, residual_in_place) {
  constexpr index_t m = 65, n = 33, k = 17;
  const auto a = this->in(std::vector<float>(m * k, 1), m, k), b = this->in(std::vector<float>(k * n, 1), k, n);
  const auto [d, result] = this->template out<float>(m, n);
  ASSERT_TRUE(gemm<scalars<TypeParam>>(this->executor(), a, b, store(d, map(column_number{}, acc))).ok());
  ASSERT_TRUE(gemm<scalars<TypeParam>>(this->executor(), a, b, store(d, acc + elem(d))).ok());
  expect_matrix(result->values(), m, n, [](index_t, index_t j) { return 17 + j; });
}

// An operand of the product that the epilogue reads too, and one that is the same everywhere.
TYPED_TEST(gemm_epilogue, operand_read_again_by_the_epilogue) {
  constexpr index_t size = 64;
  const auto values = small_integers<f16>(size * size, 11), other = small_integers<f16>(size * size, 12);
  const auto a = this->in(values, size, size), b = this->in(other, size, size);
  const auto three = this->in(std::vector<f16>{value_of<f16>(3)}, 1);
  const auto want = product_of({size, size, size}, values, other);
  const auto [d, result] = this->template out<float>(size, size);
  const auto stretched = view_on<TypeParam>(three.data, {size, size}, {0, 0});
  ASSERT_TRUE(gemm<compact<TypeParam>>(this->executor(), a, b, store(d, acc + elem(a) * elem(stretched))).ok());
  const auto seen = result->values();
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(as_double(seen[i]), want.value[i] + 3 * as_double(values[i]));
}

// EPI-08, EPI-09: values that products of K = 1 bring in.
TYPED_TEST(gemm_epilogue, nan_and_infinity_survive) {
  const float inf = limits<float>::infinity(), nan = limits<float>::quiet_nan();
  const auto a = this->in(std::vector<float>{nan, -1, 0, 2, -inf, inf}, 6, 1),
             b = this->in(std::vector<float>{1}, 1, 1);
  const auto [d, rectified] = this->template out<float>(6, 1);
  const auto [c, clamped] = this->template out<float>(6, 1);
  ASSERT_TRUE(
      gemm<scalars<TypeParam>>(this->executor(), a, b, store(d, relu(acc)), store(c, clamp(acc, 0.0f, 6.0f))).ok());
  const auto expect_same = [](const std::vector<float>& seen, std::vector<float> want) {
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(seen[i]) : seen[i] == want[i]) << i << ": " << seen[i];
  };
  expect_same(rectified->values(), {nan, 0, 0, 2, 0, inf});
  expect_same(clamped->values(), {nan, 0, 0, 2, 0, 6});
}

}  // namespace
}  // namespace kiln::test
