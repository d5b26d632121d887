// Matrix products of views that are not packed: every stride of every operand counts.
#include <kiln/gemm.hpp>
#include <kiln/view/reshape.hpp>

#include <cmath>
#include <type_traits>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace {

using namespace kiln;
using kiln::test::prefill;
using kiln::test::value_of;

KILN_ON_EXECUTORS(gemm_views);

/// The type that results of T are stored as.
template <class T>
using result_of = std::conditional_t<std::is_integral_v<T>, std::int32_t, T>;

template <class T>
std::vector<T> typed(const std::vector<double>& values) {
  std::vector<T> r;
  for (const double v : values) r.push_back(value_of<T>(v));
  return r;
}

template <class T>
void permuted_times_vector(auto& test, auto executor) {
  using E = decltype(executor);
  const auto& a = test.input(typed<T>({1, 2, 3, 4, 5, 6}));
  const auto& b = test.input(typed<T>({1, 1, 1}));
  auto& d = test.template output<result_of<T>>(2);
  const auto at = transposed(view_on<E>(a.data(), 3, 2));
  ASSERT_TRUE(gemm(executor, at, view_on<E>(b.data(), 3, 1), store(view_on<E>(d.data(), 2, 1), acc)).ok());
  EXPECT_EQ(test::as_double(d.values()), (std::vector<double>{9, 12}));
}

// VEW-01
TYPED_TEST(gemm_views, transposed_view_times_a_vector) {
  permuted_times_vector<float>(*this, this->executor());
  permuted_times_vector<f16>(*this, this->executor());
  permuted_times_vector<std::int8_t>(*this, this->executor());
}

// VEW-02
TYPED_TEST(gemm_views, halves_and_rows_of_a_matrix_keep_its_pitch) {
  using E = TypeParam;
  std::vector<float> values(16 * 32), unit(16 * 16, 0);
  for (std::size_t i = 0; i < 16; ++i) {
    unit[i * 17] = 1;
    for (std::size_t k = 0; k < 32; ++k) values[i * 32 + k] = k < 16 ? static_cast<float>(i) : 1000;
  }
  const auto& a = this->input(values);
  const auto& identity = this->input(unit);
  const auto v = view_on<E>(a.data(), 16, 32);
  const auto one = view_on<E>(identity.data(), 16, 16);
  const auto multiply = [&](const auto& left, int rows) {
    auto& d = this->template output<float>(static_cast<std::size_t>(rows * 16));
    EXPECT_TRUE(gemm(this->executor(), left, one, store(view_on<E>(d.data(), rows, 16), acc)).ok());
    return d.values();
  };
  const auto left = multiply(slice(v, 1, 0, 16), 16), right = multiply(slice(v, 1, 16, 32), 16);
  const auto some = multiply(slice(slice(v, 1, 0, 16), 0, 3, 10), 7),
             odd = multiply(strided<0>(slice(v, 1, 0, 16), 3), 6);
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 16; ++j) {
      EXPECT_EQ(left[i * 16 + j], static_cast<float>(i));
      EXPECT_EQ(right[i * 16 + j], 1000.0f);
      if (i < 7) {
        EXPECT_EQ(some[i * 16 + j], static_cast<float>(i + 3));
      }
      if (i < 6) {
        EXPECT_EQ(odd[i * 16 + j], static_cast<float>(3 * i));
      }
    }
}

// VEW-04
TYPED_TEST(gemm_views, corner_of_a_small_matrix_times_its_last_column) {
  using E = TypeParam;
  const std::vector<float> m{.943755f, .162902f,  -.287733f, -.241071f, .0669876f, -.946367f, -.316074f, .150359f,
                             -.32379f, .279022f, -.90405f,  -.54078f,  0,         0,         0,         1};
  const auto& a = this->input(m);
  auto& d = this->template output<float>(3);
  const auto v = slice(view_on<E>(a.data(), 4, 4), 0, 0, 3);
  ASSERT_TRUE(
      gemm(this->executor(), slice(v, 1, 0, 3), slice(v, 1, 3, 4), store(view_on<E>(d.data(), 3, 1), acc)).ok());
  const auto result = d.values();
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double product = static_cast<double>(m[i * 4 + k]) * static_cast<double>(m[k * 4 + 3]);
      sum += product, magnitude += std::fabs(product);
    }
    // Three products and two additions in float: at most 3 roundings on any path.
    EXPECT_NEAR(static_cast<double>(result[i]), sum, 3 * 0x1p-24 * 1.01 * magnitude);
  }
  EXPECT_NEAR(static_cast<double>(result[0]), -0.0474179, 1e-7);
  EXPECT_NEAR(static_cast<double>(result[1]), 0.0124829, 1e-7);
  EXPECT_NEAR(static_cast<double>(result[2]), 0.6089020, 1e-7);
}

template <class T>
void row_of_odd_stride(auto& test, auto executor) {
  using E = decltype(executor);
  const auto& x = test.input(std::vector<T>(2048, value_of<T>(1)));
  const auto& w = test.input(std::vector<T>(32 * 2048, value_of<T>(1)));
  const auto weights = transposed(view_on<E>(w.data(), 32, 2048));
  for (const index_t junk : {index_t{16384}, index_t{INT64_MAX}, index_t{INT64_MIN}, index_t{-3}}) {
    auto& d = test.template output<float>(32);
    const auto row = view_on<E>(x.data(), {1, 2048}, {junk, 1});
    const auto result = view_on<E>(d.data(), {1, 32}, {junk, 1});
    ASSERT_TRUE(gemm(executor, with_unit<1>(row), weights, store(with_unit<1>(result), acc)).ok());
    EXPECT_EQ(d.values(), std::vector<float>(32, 2048));
    ASSERT_TRUE(gemm(executor, row, weights, store(result, acc + elem(result))).ok());
    EXPECT_EQ(d.values(), std::vector<float>(32, 4096));
  }
}

// VEW-06
TYPED_TEST(gemm_views, the_stride_of_a_single_row_does_not_matter) {
  row_of_odd_stride<float>(*this, this->executor());
  row_of_odd_stride<f16>(*this, this->executor());
}

// VEW-07
TYPED_TEST(gemm_views, results_go_through_the_strides_of_their_view) {
  using E = TypeParam;
  // A = [i, 1], B = [10; j]: the product is 10 i + j.
  const auto& a = this->input(std::vector<float>{0, 1, 1, 1, 2, 1});
  const auto& b = this->input(std::vector<float>{10, 10, 10, 10, 10, 0, 1, 2, 3, 4});
  auto& d = this->template output<float>(15);
  ASSERT_TRUE(gemm(this->executor(), view_on<E>(a.data(), 3, 2), view_on<E>(b.data(), 2, 5),
                   store(transposed(view_on<E>(d.data(), 5, 3)), acc))
                  .ok());
  const auto result = d.values();
  for (std::size_t j = 0; j < 5; ++j)
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(result[j * 3 + i], static_cast<float>(10 * i + j));

  auto& wide = this->template output<float>(3 * 14);
  const auto every_second = strided<1>(slice(view_on<E>(wide.data(), 3, 14), 1, 2, 12), 2);
  ASSERT_TRUE(
      gemm(this->executor(), view_on<E>(a.data(), 3, 2), view_on<E>(b.data(), 2, 5), store(every_second, acc)).ok());
  const auto spread = wide.values();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(spread[i * 14 + 2 + 2 * j], static_cast<float>(10 * i + j));
  EXPECT_TRUE(wide.wrote_only([](std::size_t i) { return i % 14 >= 2 && i % 14 < 12 && i % 2 == 0; }));
}

// VEW-09
TYPED_TEST(gemm_views, batches_step_by_their_own_strides) {
  using E = TypeParam;
  constexpr int m = 2, n = 3, k = 5, batch = 3;
  std::vector<float> as(batch * m * k), bs(batch * k * n), scales(batch * m);
  for (std::size_t i = 0; i < as.size(); ++i) as[i] = static_cast<float>(i + 1);
  for (std::size_t i = 0; i < bs.size(); ++i) bs[i] = static_cast<float>(100 + i);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(1 + i);
  const auto& a = this->input(as);
  const auto& b = this->input(bs);
  const auto& s = this->input(scales);
  auto& d = this->template output<float>(batch * m * n);
  const auto scale =
      broadcast<-1>(view_on<E>(s.data(), batch, m), n);  // [batch, m, n], one for each row of each matrix
  ASSERT_TRUE(gemm(this->executor(), view_on<E>(a.data(), batch, m, k), view_on<E>(b.data(), batch, k, n),
                   store(view_on<E>(d.data(), batch, m, n), acc * elem(scale))).ok());
  const auto result = d.values();
  for (int q = 0; q < batch; ++q)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;  // all integers below 2^24
        for (int l = 0; l < k; ++l)
          sum += as[static_cast<std::size_t>((q * m + i) * k + l)] * bs[static_cast<std::size_t>((q * k + l) * n + j)];
        EXPECT_EQ(result[static_cast<std::size_t>((q * m + i) * n + j)],
                  sum * scales[static_cast<std::size_t>(q * m + i)]);
      }
}

}  // namespace
