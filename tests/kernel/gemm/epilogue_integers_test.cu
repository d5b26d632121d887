// Epilogues of integer products: scaled in float, corrected as integers, clamped where stored.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

using std::int32_t;
using std::int8_t;

template <class E>
class gemm_integer_epilogue : public with_views<E> {};
TYPED_TEST_SUITE(gemm_integer_epilogue, executors, executor_names);

// EPI-05, EPI-06, EPI-07 and a scale of 0.37: the epilogue computes in float from the int32 sum.
TYPED_TEST(gemm_integer_epilogue, integers_scaled_in_float) {
  struct results {
    std::vector<float> scaled;
    std::vector<std::uint8_t> as_uint8;
    std::vector<int8_t> as_int8;
  };
  const auto run = [&](index_t m, index_t n, const std::vector<int8_t>& x, const std::vector<int8_t>& y, float scale) {
    const auto k = static_cast<index_t>(x.size()) / m;
    const auto [d, floats] = this->template out<float>(m, n);
    const auto [u, bytes] = this->template out<std::uint8_t>(m, n);
    const auto [i, integers] = this->template out<int8_t>(m, n);
    EXPECT_TRUE(gemm(this->executor(), this->in(x, m, k), transposed(this->in(y, n, k)), store(d, relu(acc * scale)),
                     store(u, acc), store(i, acc * scale))
                    .ok());
    return results{floats->values(), bytes->values(), integers->values()};
  };
  EXPECT_EQ(run(1, 1, {5}, {1}, 0.5f).scaled[0], 2.5f);
  EXPECT_EQ(run(1, 1, {5}, {1}, -0.5f).scaled[0], 0);
  for (const auto& [sum, stored] : {std::pair{-5, 0}, {100, 100}, {200, 200}, {300, 255}})
    EXPECT_EQ(run(1, 1, {static_cast<int8_t>(sum / 5)}, {5}, 1).as_uint8[0], stored);
  EXPECT_EQ(run(1, 1, std::vector<int8_t>(512, 100), std::vector<int8_t>(512, 100), 1.0f / 65536).as_int8[0], 78);

  const auto a = uniform<int8_t>(64 * 64, 1), b = uniform<int8_t>(64 * 64, 2);
  const auto values = run(64, 64, a, b, 0.37f).scaled;
  std::vector<int8_t> turned(64 * 64);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j) turned[i * 64 + j] = b[j * 64 + i];
  const auto want = product_of({64, 64, 64}, a, turned);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], std::max(0.0f, static_cast<float>(want.value[i]) * 0.37f));
}

/// For what depends on the epilogue alone.
template <class E>
using compact = on_gpu<E, config<tile<64, 64, 128>, warp_tile<32, 32>, stages<3>>>;

TYPED_TEST(gemm_integer_epilogue, integer_sums_beyond_24_bits_stay_integers) {
  const auto zero = this->in(std::vector<int8_t>(32), 1, 32);
  const auto c = this->in(std::vector<int32_t>{16777217}, 1, 1);
  const auto [d, result] = this->template out<int32_t>(1, 1);
  ASSERT_TRUE(gemm<compact<TypeParam>>(this->executor(), zero, transposed(zero), store(d, axpby(1, acc, 1, c))).ok());
  EXPECT_EQ(result->values()[0], 16777217);
}

/// gelu in float64.
double exact_gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

TYPED_TEST(gemm_integer_epilogue, gelu_of_scaled_integers) {
  constexpr index_t m = 33, n = 17, k = 65;
  const auto a = uniform<int8_t>(m * k, 3), b = uniform<int8_t>(k * n, 4);
  const auto want = product_of({m, n, k}, a, b);
  const float scale = 1.0f / 8192;
  const auto va = this->in(a, m, k), vb = this->in(b, k, n);
  const auto [half, halves] = this->template out<f16>(m, n);
  const auto [byte, bytes] = this->template out<int8_t>(m, n);
  ASSERT_TRUE(gemm<compact<TypeParam>>(this->executor(), va, vb, store(half, gelu(acc * scale)),
                                       store(byte, gelu(acc * scale) * 16.0f))
                  .ok());
  const auto h = halves->values();
  const auto q = bytes->values();
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double x = exact_gelu(want.value[i] / 8192);
    const double error = 1e-6 * std::abs(x) + 1e-7;  // of gelu in float32, well below a step of either result
    EXPECT_TRUE(is_near(h[i], x, error)) << as_double(h[i]) << " and " << x;
    EXPECT_TRUE(is_near(q[i], 16 * x, 16 * error)) << as_double(q[i]) << " and " << 16 * x;
  }
}

// QNT-10: D = sa[i] sb[j] (acc - za[i] colsum[j]) + bias[j], zero points and sums of columns as integers.
TYPED_TEST(gemm_integer_epilogue, zero_points_and_scales_of_quantised_operands) {
  const index_t m = TypeParam::on_host ? 33 : 333, n = TypeParam::on_host ? 52 : 520,
                k = TypeParam::on_host ? 100 : 1024;
  const auto a = uniform<int8_t>(static_cast<std::size_t>(m * k), 5),
             b = uniform<int8_t>(static_cast<std::size_t>(k * n), 6);
  const auto zero = small_integers<int32_t>(static_cast<std::size_t>(m), 7, -128, 127);
  std::vector<int32_t> sums(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < b.size(); ++i) sums[i % static_cast<std::size_t>(n)] += b[i];
  const auto sa = uniform<float>(static_cast<std::size_t>(m), 8), sb = uniform<float>(static_cast<std::size_t>(n), 9),
             bias = uniform<float>(static_cast<std::size_t>(n), 10);
  const auto [exact, integers] = this->template out<int32_t>(m, n);
  const auto [half, halves] = this->template out<f16>(m, n);
  const auto corrected = acc - per_row(this->in(zero, m)) * per_column(this->in(sums, n));
  const auto tiny = 1.0f / 65536;
  const status s = gemm(this->executor(), this->in(a, m, k), this->in(b, k, n), store(exact, corrected),
                        store(half, corrected * tiny * per_row(this->in(sa, m)) * per_column(this->in(sb, n)) +
                                        per_column(this->in(bias, n))));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto product = product_of({m, n, k}, a, b);
  const auto whole = integers->values();
  const auto values = halves->values();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(n), col = i % static_cast<std::size_t>(n);
    const auto want = static_cast<std::int64_t>(product.value[i]) - std::int64_t{zero[row]} * sums[col];
    ASSERT_EQ(std::int64_t{whole[i]}, want) << row << ", " << col;
    const double scaled = static_cast<double>(want) / 65536 * as_double(sa[row]) * as_double(sb[col]);
    ASSERT_TRUE(is_near(values[i], scaled + as_double(bias[col]), 4 * 0x1p-24 * (std::abs(scaled) + 1)))
        << row << ", " << col;
  }
}
TYPED_TEST(gemm_integer_epilogue, a_zero_point_of_ten) {
  const auto [d, result] = this->template out<int32_t>(1, 1);
  ASSERT_TRUE(gemm<compact<TypeParam>>(this->executor(), this->in(std::vector<int8_t>{10, 12}, 1, 2),
                                       this->in(std::vector<int8_t>{3, 4}, 2, 1), store(d, acc - 10 * 7))
                  .ok());
  EXPECT_EQ(result->values()[0], 8);
}

}  // namespace
}  // namespace kiln::test
