// QNT-10: integer products of operands with zero points, corrected in the epilogue, against int64.
#include <kiln/epilogue/zero_points.hpp>
#include <kiln/quantise.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

using std::int32_t;
using std::int64_t;
using std::int8_t;

using pinned = config<tile<64, 32, 64>, warp_tile<32, 32>, stages<2>, multistage, instructions::sm80>;

template <class E>
class quantised_zero_points : public with_views<E> {
 public:
  template <class T, class... I>
  auto in(const std::vector<T>& values, I... extents) {
    return with_views<E>::in(values, extents...);
  }
  template <class T, class... I>
  auto out(I... extents) {
    return with_views<E>::template out<T>(extents...);
  }
};
TYPED_TEST_SUITE(quantised_zero_points, executors, executor_names);

/// Zero points of both operands; all parts are int32. The sums of B's columns come from a product with ones.
template <class Fixture>
std::vector<int32_t> corrected_product(Fixture& test, index_t m, index_t n, index_t k, const std::vector<int8_t>& a,
                                       const std::vector<int8_t>& b, const std::vector<int32_t>& za,
                                       const std::vector<int32_t>& zb) {
  using E = std::decay_t<decltype(test.executor())>;
  std::vector<int32_t> of_rows(static_cast<std::size_t>(m));
  for (std::size_t i = 0; i < a.size(); ++i) of_rows[i / static_cast<std::size_t>(k)] += a[i];
  const auto [sums, buffer] = test.template out<int32_t>(1, n);
  const auto [d, result] = test.template out<int32_t>(m, n);
  const auto vb = test.in(b, k, n), ones = test.in(std::vector<int8_t>(static_cast<std::size_t>(k), 1), 1, k);
  const status made = gemm<pinned>(test.executor(), ones, vb, store(sums, acc));
  EXPECT_TRUE(made.ok()) << made.message();
  const auto corrected =
      without_zero_points(per_row(test.in(za, m)), per_column(view_on<E>(sums.data, n)), per_column(test.in(zb, n)),
                          per_row(test.in(of_rows, m)), static_cast<int>(k));
  const status s = gemm<pinned>(test.executor(), test.in(a, m, k), vb, store(d, corrected));
  EXPECT_TRUE(s.ok()) << s.message();
  return result->values();
}

TYPED_TEST(quantised_zero_points, the_reports_numbers) {
  EXPECT_EQ(corrected_product(*this, 1, 1, 2, {10, 12}, {3, 4}, {10}, {0}), (std::vector<int32_t>{8}));
}

TYPED_TEST(quantised_zero_points, both_operands_against_int64) {
  const auto check = [&](index_t m, index_t n, index_t k, std::uint64_t seed) {
    const auto a = uniform<int8_t>(static_cast<std::size_t>(m * k), seed),
               b = uniform<int8_t>(static_cast<std::size_t>(k * n), seed + 1);
    auto za = small_integers<int32_t>(static_cast<std::size_t>(m), seed + 2, -128, 127),
         zb = small_integers<int32_t>(static_cast<std::size_t>(n), seed + 3, -128, 127);
    za[0] = -128, zb[0] = 127;
    const auto values = corrected_product(*this, m, n, k, a, b, za, zb);
    for (index_t i = 0; i < m; ++i)
      for (index_t j = 0; j < n; ++j) {
        int64_t want = 0;
        for (index_t l = 0; l < k; ++l)
          want += int64_t{a[static_cast<std::size_t>(i * k + l)] - za[static_cast<std::size_t>(i)]} *
                  (b[static_cast<std::size_t>(l * n + j)] - zb[static_cast<std::size_t>(j)]);
        ASSERT_EQ(int64_t{values[static_cast<std::size_t>(i * n + j)]}, want) << i << ", " << j;
      }
  };
  check(3, 2, 5, 1);
  check(67, 33, 130, 2);
}

/// Activations that are never negative, affine by rows, and symmetric weights: the product is within the codes' steps
/// of the real one.
TYPED_TEST(quantised_zero_points, affine_activations_and_symmetric_weights) {
  constexpr index_t m = 40, n = 24, k = 100;
  auto x = uniform<float>(m * k, 5);
  for (float& v : x) v = v < 0 ? 0 : v * 3;
  const auto w = uniform<float>(k * n, 6);
  const auto [xq, xq_buffer] = this->template out<int8_t>(m, k);
  const auto [sx, sx_buffer] = this->template out<float>(m);
  const auto [zx, zx_buffer] = this->template out<int32_t>(m);
  const auto [wq, wq_buffer] = this->template out<int8_t>(k, n);
  const auto [sw, sw_buffer] = this->template out<float>(n);
  const auto [sums, sums_buffer] = this->template out<int32_t>(1, n);
  const auto [y, result] = this->template out<float>(m, n);
  const auto ex = this->executor();
  ASSERT_TRUE(quantise(ex, this->in(x, m, k), xq, per_row_scales(sx).with_zero_points(zx)).ok());
  ASSERT_TRUE(quantise(ex, this->in(w, k, n), wq, per_column_scales(sw)).ok());
  ASSERT_TRUE(gemm<pinned>(ex, this->in(std::vector<int8_t>(k, 1), 1, k), wq, store(sums, acc)).ok());
  const auto corrected = without_zero_points(per_row(zx), per_column(view_on<TypeParam>(sums.data, n)));
  const status s = gemm<pinned>(ex, xq, wq, store(y, corrected * per_row(sx) * per_column(sw)));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto values = result->values(), fx = sx_buffer->values(), fw = sw_buffer->values();
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double real = 0, error = 0;
      const double a = as_double(fx[i]), b = as_double(fw[j]);
      for (std::size_t l = 0; l < k; ++l) {
        const double u = as_double(x[i * k + l]), v = as_double(w[l * n + j]);
        real += u * v, error += std::abs(u) * b / 2 + std::abs(v) * a / 2 + a * b / 4;
      }
      ASSERT_LE(std::abs(as_double(values[i * n + j]) - real), error * (1 + 1e-4)) << i << ", " << j;
    }
}

}  // namespace
}  // namespace kiln::test
