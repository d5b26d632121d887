// W8A8 as a model runs it: activations quantised by rows, weights by output channels, the product scaled to bf16, the
// same product quantised for the next layer with scales from the step before, and its row maxima for the scales of the
// next step.
#include <kiln/arch/host/driver.hpp>
#include <kiln/calibrate.hpp>
#include <kiln/quantise.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

using std::int64_t;
using std::int8_t;

template <class E>
class quantised_flow : public with_views<E> {
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
TYPED_TEST_SUITE(quantised_flow, executors, executor_names);

/// Rows of different sizes, so that one row's scale does not serve another.
template <class T>
std::vector<T> rows_of(index_t rows, index_t cols, std::uint64_t seed) {
  auto x = uniform<double>(static_cast<std::size_t>(rows * cols), seed);
  std::vector<T> r(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    r[i] = value_of<T>(x[i] * (1 + static_cast<double>(i / static_cast<std::size_t>(cols) % 7)));
  return r;
}

template <class Config, class Fixture>
void check_flow(Fixture& test) {
  using E = std::decay_t<decltype(test.executor())>;
  constexpr index_t m = 70, n = 48, k = 144;
  const auto x = rows_of<bf16>(m, k, 1);
  const auto w = rows_of<bf16>(n, k, 2);

  // Once: the weights, with one scale for each output.
  const auto [wq, wq_buffer] = test.template out<int8_t>(n, k);
  const auto [sw, sw_buffer] = test.template out<float>(n);
  ASSERT_TRUE(quantise(test.executor(), test.in(w, n, k), wq, per_row_scales(sw)).ok());
  const auto weights = transposed(quantised(wq, per_row_scales(sw)));  // [k, n], a scale for each column

  // In each step: the activations, the product, and what the next step needs.
  const auto [xq, xq_buffer] = test.template out<int8_t>(m, k);
  const auto [sx, sx_buffer] = test.template out<float>(m);
  const auto [y, y_buffer] = test.template out<bf16>(m, n);
  const auto [yq, yq_buffer] = test.template out<int8_t>(m, n);
  const auto [amax, amax_buffer] = test.template out<float>(m);
  auto& scale = test.template output<float>(m);
  const auto sy = view_on<E>(scale.data(), m);
  const auto [low, low_buffer] = test.template out<float>(m);
  const auto [high, high_buffer] = test.template out<float>(m);
  const auto [ignored, ignored_buffer] = test.template out<int64_t>(m);
  const auto seen = per_row_ranges(low, high, ignored);
  ASSERT_TRUE(forget(test.executor(), seen).ok());
  ASSERT_TRUE(make_scales<int8_t>(test.executor(), seen, per_row_scales(sy)).ok());  // of nothing: 1

  for (int step = 0; step < 2; ++step) {
    SCOPED_TRACE(step);
    const std::vector<float> given_scales = scale.values();
    ASSERT_TRUE(quantise_rows(test.executor(), test.in(x, m, k), xq, sx).ok());
    const auto scaled = acc * per_row(sx) * per_column(weights.scales());
    const auto plan = plan_gemm<Config>(xq, weights.payload(), store(y, scaled), store(yq, scaled / per_row(sy)),
                                        reduce_rows<reduction::amax>(amax, scaled));
    const status s = run_with_workspace<E>(test, plan);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_TRUE(observe(test.executor(), view_on<E>(amax.data, m, 1), seen).ok());
    ASSERT_TRUE(make_scales<int8_t>(test.executor(), seen, per_row_scales(sy)).ok());

    const auto qx = xq_buffer->values(), qw = wq_buffer->values(), codes = yq_buffer->values();
    const auto fx = sx_buffer->values(), fw = sw_buffer->values(), top = amax_buffer->values(), next = scale.values();
    const auto result = y_buffer->values();
    mismatches wrong;
    for (index_t i = 0; i < m; ++i) {
      double largest = 0;
      for (index_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(i * n + j), row = static_cast<std::size_t>(i),
                   col = static_cast<std::size_t>(j);
        int64_t sum = 0;
        double real = 0, error = 0;
        const double a = as_double(fx[row]), b = as_double(fw[col]);
        for (index_t l = 0; l < k; ++l) {
          const auto p = static_cast<std::size_t>(i * k + l), q = static_cast<std::size_t>(j * k + l);
          sum += int64_t{qx[p]} * qw[q];
          const double u = as_double(x[p]), v = as_double(w[q]);
          real += u * v,
              error += std::abs(u) * b / 2 + std::abs(v) * a / 2 + a * b / 4;  // each factor is half a step off
        }
        const double exact = static_cast<double>(sum) * a * b,
                     rounding = 3 * 0x1p-24 * std::abs(exact);  // sum, two products
        if (!is_near(result[at], exact, rounding)) wrong.add("y", 0, i, j, as_double(result[at]), exact, rounding);
        if (std::abs(exact - real) > error * (1 + 1e-5)) wrong.add("product", 0, i, j, exact, real, error);
        const double code = exact / as_double(given_scales[row]);
        if (!is_near(codes[at], code, 4 * 0x1p-24 * std::abs(code)))
          wrong.add("code", 0, i, j, as_double(codes[at]), code, 0.5);
        largest = std::max(largest, std::abs(exact));
      }
      const auto row = static_cast<std::size_t>(i);
      ASSERT_NEAR(as_double(top[row]), largest, 3 * 0x1p-24 * largest) << i;
      ASSERT_EQ(next[row], top[row] / 127) << i;
      if (step == 1) {  // the scales of the same step's maxima: the largest code is used, none clipped
        int most = 0;
        for (index_t j = 0; j < n; ++j)
          most = std::max(most, std::abs(int{codes[static_cast<std::size_t>(i * n + j)]}));
        ASSERT_EQ(most, 127) << i;
      }
    }
  }
}

TYPED_TEST(quantised_flow, one_thread_an_element) {
  if constexpr (TypeParam::on_host)
    check_flow<config<tile<32, 64, 128>, warp_tile<16, 32>, stages<2>, instructions::simt>>(*this);
  else
    GTEST_SKIP() << "on the host alone: the device has tensor cores";
}
TYPED_TEST(quantised_flow, tensor_cores_of_sm80) {
  check_flow<config<tile<64, 32, 64>, warp_tile<32, 32>, stages<2>, multistage, instructions::sm80>>(*this);
}
TYPED_TEST(quantised_flow, warp_specialized) {
  if (const auto why = no_hopper_here<TypeParam>(); !why.empty()) GTEST_SKIP() << why;
  check_flow<config<tile<128, 32, 128>, stages<2>, kiln::warp_specialized>>(*this);
}

}  // namespace
}  // namespace kiln::test
