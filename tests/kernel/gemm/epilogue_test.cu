// What rides along with a product: scales, biases, residuals, activations, conversions, on real accumulators.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

using std::int32_t;
using std::int8_t;

template <class E>
class gemm_epilogue : public on_executor<E> {
 protected:
  /// Guarded copies as views.
  template <class T, class... I>
  auto in(const std::vector<T>& values, I... extents) {
    return view_on<E>(this->template input<T>(values).data(), extents...);
  }
  template <class T, class... I>
  auto out(I... extents) {
    auto& buffer = this->template output<T>((static_cast<std::size_t>(extents) * ...), std::is_integral_v<T> ? prefill::x55 : prefill::nan);
    return std::pair{view_on<E>(buffer.data(), extents...), &buffer};
  }
};
TYPED_TEST_SUITE(gemm_epilogue, executors, executor_names);

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
  const status s = gemm(this->executor(), zero, also, store(by_row, acc + per_row(one)), store(by_column, acc + per_column(one)), store(by_three, acc + per_column(three)),
                        store(by_matrix, axpby(1.0f, acc, 1.0f, stretched)));
  ASSERT_TRUE(s.ok()) << s.message();
  expect_matrix(rows->values(), 3, 3, [](index_t i, index_t) { return i + 1; });
  for (const auto* result : {columns, threes, matrices}) expect_matrix(result->values(), 3, 3, [](index_t, index_t j) { return j + 1; });
}

// EPI-03: a bias and a residual with extents that no tile divides.
TYPED_TEST(gemm_epilogue, bias_and_residual) {
  constexpr index_t m = 100, n = 256, k = 256;
  const auto a = this->in(std::vector<float>(m * k, 1.0f / 256), m, k), b = this->in(std::vector<float>(k * n, 1), k, n);
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

// EPI-05, EPI-06, EPI-07 and a scale of 0.37: the epilogue computes in float from the int32 sum.
TYPED_TEST(gemm_epilogue, integers_scaled_in_float) {
  struct results {
    double scaled, as_uint8, as_int8;
  };
  const auto one = [&](std::vector<int8_t> x, std::vector<int8_t> y, float scale) {
    const auto k = static_cast<index_t>(x.size());
    const auto [d, floats] = this->template out<float>(1, 1);
    const auto [u, bytes] = this->template out<std::uint8_t>(1, 1);
    const auto [i, integers] = this->template out<int8_t>(1, 1);
    EXPECT_TRUE(gemm(this->executor(), this->in(x, 1, k), transposed(this->in(y, 1, k)), store(d, relu(acc * scale)), store(u, acc), store(i, acc * scale)).ok());
    return results{as_double(floats->values()[0]), as_double(bytes->values()[0]), as_double(integers->values()[0])};
  };
  EXPECT_EQ(one({5}, {1}, 0.5f).scaled, 2.5);
  EXPECT_EQ(one({5}, {1}, -0.5f).scaled, 0);
  for (const auto& [sum, stored] : {std::pair{-5, 0}, {100, 100}, {200, 200}, {300, 255}}) EXPECT_EQ(one({static_cast<int8_t>(sum / 5)}, {5}, 1).as_uint8, stored);
  EXPECT_EQ(one(std::vector<int8_t>(512, 100), std::vector<int8_t>(512, 100), 1.0f / 65536).as_int8, 78);

  const auto a = uniform<int8_t>(64 * 64, 1), b = uniform<int8_t>(64 * 64, 2);
  const auto [d, result] = this->template out<float>(64, 64);
  ASSERT_TRUE(gemm(this->executor(), this->in(a, 64, 64), transposed(this->in(b, 64, 64)), store(d, relu(acc * 0.37f))).ok());
  std::vector<int8_t> turned(64 * 64);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j) turned[i * 64 + j] = b[j * 64 + i];
  const auto want = product_of({64, 64, 64}, a, turned);
  const auto values = result->values();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], std::max(0.0f, static_cast<float>(want.value[i]) * 0.37f));
}

TYPED_TEST(gemm_epilogue, integer_sums_beyond_24_bits_stay_integers) {
  const auto zero = this->in(std::vector<int8_t>(32), 1, 32);
  const auto c = this->in(std::vector<int32_t>{16777217}, 1, 1);
  const auto [d, result] = this->template out<int32_t>(1, 1);
  ASSERT_TRUE(gemm(this->executor(), zero, transposed(zero), store(d, axpby(1, acc, 1, c))).ok());
  EXPECT_EQ(result->values()[0], 16777217);
}

/// gelu in float64.
double exact_gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

TYPED_TEST(gemm_epilogue, gelu_of_scaled_integers) {
  constexpr index_t m = 33, n = 17, k = 65;
  const auto a = uniform<int8_t>(m * k, 3), b = uniform<int8_t>(k * n, 4);
  const auto want = product_of({m, n, k}, a, b);
  const float scale = 1.0f / 8192;
  const auto va = this->in(a, m, k), vb = this->in(b, k, n);
  const auto [half, halves] = this->template out<f16>(m, n);
  const auto [byte, bytes] = this->template out<int8_t>(m, n);
  ASSERT_TRUE(gemm(this->executor(), va, vb, store(half, gelu(acc * scale)), store(byte, gelu(acc * scale) * 16.0f)).ok());
  const auto h = halves->values();
  const auto q = bytes->values();
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double x = exact_gelu(want.value[i] / 8192);
    const double error = 1e-6 * std::abs(x) + 1e-7;  // of gelu in float32, well below a step of either result
    EXPECT_TRUE(is_near(h[i], x, error)) << as_double(h[i]) << " and " << x;
    EXPECT_TRUE(is_near(q[i], 16 * x, 16 * error)) << as_double(q[i]) << " and " << 16 * x;
  }
}

// GEMM-16: a scale for each row, and nothing read behind the last.
TYPED_TEST(gemm_epilogue, scales_for_rows_and_columns_of_8_bit_floats) {
  constexpr index_t m = 257, n = 33, k = 64;
  const auto a = this->in(std::vector<e4m3>(m * k, value_of<e4m3>(1)), m, k), b = this->in(std::vector<e4m3>(n * k, value_of<e4m3>(1)), n, k);
  const auto rows = this->in(matrix_of<float>(1, m, [](index_t, index_t i) { return i + 1; }), m);
  const auto cols = this->in(std::vector<float>(n, 0.5f), n);
  const auto [d, result] = this->template out<float>(m, n);
  ASSERT_TRUE(gemm(this->executor(), a, transposed(b), store(d, acc * per_row(rows) * per_column(cols))).ok());
  expect_matrix(result->values(), m, n, [](index_t i, index_t) { return 32 * (i + 1); });
}

// QNT-10: D = sa[i] sb[j] (acc - za[i] colsum[j]) + bias[j], zero points and sums of columns as integers.
TYPED_TEST(gemm_epilogue, zero_points_and_scales_of_quantised_operands) {
  const index_t m = TypeParam::on_host ? 33 : 333, n = TypeParam::on_host ? 52 : 520, k = TypeParam::on_host ? 100 : 1024;
  const auto a = uniform<int8_t>(static_cast<std::size_t>(m * k), 5), b = uniform<int8_t>(static_cast<std::size_t>(k * n), 6);
  const auto zero = small_integers<int32_t>(static_cast<std::size_t>(m), 7, -128, 127);
  std::vector<int32_t> sums(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < b.size(); ++i) sums[i % static_cast<std::size_t>(n)] += b[i];
  const auto sa = uniform<float>(static_cast<std::size_t>(m), 8), sb = uniform<float>(static_cast<std::size_t>(n), 9), bias = uniform<float>(static_cast<std::size_t>(n), 10);
  const auto [exact, integers] = this->template out<int32_t>(m, n);
  const auto [half, halves] = this->template out<f16>(m, n);
  const auto corrected = acc - per_row(this->in(zero, m)) * per_column(this->in(sums, n));
  const auto tiny = 1.0f / 65536;
  const status s = gemm(this->executor(), this->in(a, m, k), this->in(b, k, n), store(exact, corrected),
                        store(half, corrected * tiny * per_row(this->in(sa, m)) * per_column(this->in(sb, n)) + per_column(this->in(bias, n))));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto product = product_of({m, n, k}, a, b);
  const auto whole = integers->values();
  const auto values = halves->values();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(n), col = i % static_cast<std::size_t>(n);
    const auto want = static_cast<std::int64_t>(product.value[i]) - std::int64_t{zero[row]} * sums[col];
    ASSERT_EQ(std::int64_t{whole[i]}, want) << row << ", " << col;
    const double scaled = static_cast<double>(want) / 65536 * as_double(sa[row]) * as_double(sb[col]);
    ASSERT_TRUE(is_near(values[i], scaled + as_double(bias[col]), 4 * 0x1p-24 * (std::abs(scaled) + 1))) << row << ", " << col;
  }
}
TYPED_TEST(gemm_epilogue, a_zero_point_of_ten) {
  const auto [d, result] = this->template out<int32_t>(1, 1);
  ASSERT_TRUE(gemm(this->executor(), this->in(std::vector<int8_t>{10, 12}, 1, 2), this->in(std::vector<int8_t>{3, 4}, 2, 1), store(d, acc - 10 * 7)).ok());
  EXPECT_EQ(result->values()[0], 8);
}

// GEMM-10: beta = 0 reads nothing, whatever lies in D; in place otherwise.
TYPED_TEST(gemm_epilogue, beta_times_what_was_there) {
  constexpr index_t m = 33, n = 17, k = 9;
  const auto run = [&](auto type) {
    using T = decltype(type);
    const auto a = this->in(std::vector<T>(m * k, value_of<T>(1)), m, k), b = this->in(std::vector<T>(k * n, value_of<T>(1)), k, n);
    const auto [d, result] = this->template out<T>(m, n);  // NaN
    ASSERT_TRUE(gemm(this->executor(), a, b, store(d, axpby(1.0f, acc, 0.0f, d))).ok());
    expect_matrix(result->values(), m, n, [](index_t, index_t) { return 9; });
    ASSERT_TRUE(gemm(this->executor(), a, b, store(d, axpby(1.0f, acc, 1.0f, d))).ok());
    expect_matrix(result->values(), m, n, [](index_t, index_t) { return 18; });
    ASSERT_TRUE(gemm(this->executor(), a, b, store(d, axpby(2.0f, acc, 0.5f, d))).ok());
    expect_matrix(result->values(), m, n, [](index_t, index_t) { return 27; });
  };
  run(float{});
  run(f16{});
}

struct column_number {
  KILN_FN float operator()(float, coord at) const { return static_cast<float>(at.col); }
};

// EPI-15: D is the residual itself.
TYPED_TEST(gemm_epilogue, residual_in_place) {
  constexpr index_t m = 65, n = 33, k = 17;
  const auto a = this->in(std::vector<float>(m * k, 1), m, k), b = this->in(std::vector<float>(k * n, 1), k, n);
  const auto [d, result] = this->template out<float>(m, n);
  ASSERT_TRUE(gemm(this->executor(), a, b, store(d, map(column_number{}, acc))).ok());
  ASSERT_TRUE(gemm(this->executor(), a, b, store(d, acc + elem(d))).ok());
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
  ASSERT_TRUE(gemm(this->executor(), a, b, store(d, acc + elem(a) * elem(stretched))).ok());
  const auto seen = result->values();
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(as_double(seen[i]), want.value[i] + 3 * as_double(values[i]));
}

// EPI-08, EPI-09: values that products of K = 1 bring in.
TYPED_TEST(gemm_epilogue, nan_and_infinity_survive) {
  const float inf = limits<float>::infinity(), nan = limits<float>::quiet_nan();
  const auto a = this->in(std::vector<float>{nan, -1, 0, 2, -inf, inf}, 6, 1), b = this->in(std::vector<float>{1}, 1, 1);
  const auto [d, rectified] = this->template out<float>(6, 1);
  const auto [c, clamped] = this->template out<float>(6, 1);
  ASSERT_TRUE(gemm(this->executor(), a, b, store(d, relu(acc)), store(c, clamp(acc, 0.0f, 6.0f))).ok());
  const auto expect_same = [](const std::vector<float>& seen, std::vector<float> want) {
    for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(seen[i]) : seen[i] == want[i]) << i << ": " << seen[i];
  };
  expect_same(rectified->values(), {nan, 0, 0, 2, 0, inf});
  expect_same(clamped->values(), {nan, 0, 0, 2, 0, 6});
}

}  // namespace
}  // namespace kiln::test
