// Activations against float64, over a dense sweep and at the ends of the range.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/epilogue/evaluate.hpp"

namespace kiln::test {
namespace {

template <class E>
class activations : public on_matrix<E> {
 public:
  /// expr(acc) of each x; a row of odd length, so that the last place is not full.
  template <class T = float, class X>
  std::vector<double> of(const std::vector<float>& x, const X& expr) {
    return as_double(this->template stored<T, 4>(x, 1, static_cast<index_t>(x.size()), expr));
  }
};
TYPED_TEST_SUITE(activations, executors, executor_names);

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr float inff = std::numeric_limits<float>::infinity(), nanf = std::numeric_limits<float>::quiet_NaN();

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double two_u(double x) { return 2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x); }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<float> sweep() {
  std::vector<float> x;
  for (int i = -100003; i <= 100003; ++i) x.push_back(static_cast<float>(i) * 1.3e-4f + 1e-6f);  // [-13, 13]
  for (int e = -140; e < 7; ++e)
    for (float m : {1.0f, 1.37f, -1.0f, -1.71f}) x.push_back(std::ldexp(m, e));
  return x;
}

/// Relative error at most `base + slope(x)`, beside an absolute one of `tiny`. The slope is what the rounding of the
/// exponent's argument costs: it grows as that argument does.
void expect_close(const std::vector<float>& x, const std::vector<double>& y, const std::function<double(double)>& exact,
                  double base, const std::function<double(double)>& slope, double tiny = 1e-36) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = exact(x[i]), bound = std::abs(e) * (base + slope(x[i])) + tiny;
    ASSERT_LE(std::abs(y[i] - e), bound) << "at " << x[i] << ": " << y[i] << " instead of " << e;
  }
}

// 6e-8 is half a unit in the last place, relative. Instructions: ex2.approx 1.7e-7, rcp.approx 1.2e-7.
// gelu: the polynomial's fit, 5.4e-6 where the result is above 1e-9 and 1e-14 of absolute error beyond, four roundings
// and the instruction; the exponential's argument, near x^2/2, carries those of its last terms.
TYPED_TEST(activations, gelu_is_within_its_bound) {
  expect_close(
      sweep(), this->of(sweep(), gelu(acc)), [](double x) { return x * phi(x); }, 6e-6,
      [](double x) { return 1e-7 * x * x; }, 1e-14);
}
// EPI-11 and beyond: the argument of the exponential carries three roundings and the constants'.
TYPED_TEST(activations, gelu_tanh_is_within_its_bound) {
  expect_close(
      sweep(), this->of(sweep(), gelu_tanh(acc)), [](double x) { return x * sigmoid_of(two_u(x)); }, 6e-7,
      [](double x) { return 2.2e-7 * std::abs(two_u(x)); });
}
TYPED_TEST(activations, silu_and_sigmoid_are_within_their_bound) {
  expect_close(
      sweep(), this->of(sweep(), silu(acc)), [](double x) { return x * sigmoid_of(x); }, 6e-7,
      [](double x) { return 8e-8 * std::abs(x); });
  expect_close(sweep(), this->of(sweep(), sigmoid(acc)), sigmoid_of, 6e-7, [](double x) { return 8e-8 * std::abs(x); });
}
TYPED_TEST(activations, tanh_is_within_its_bound) {
  expect_close(
      sweep(), this->of(sweep(), tanh(acc)), [](double x) { return std::tanh(x); }, 7e-7, [](double) { return 0.0; });
}

void expect_values(const std::vector<double>& y, const std::vector<double>& expected, double relative) {
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(y[i])) << i << ": " << y[i];
    else if (std::isinf(expected[i]) || expected[i] == 0)
      EXPECT_EQ(y[i], expected[i]) << i;
    else
      EXPECT_NEAR(y[i], expected[i], relative * std::abs(expected[i])) << i;
  }
}

// EPI-08
TYPED_TEST(activations, relu_clamp_and_leaky_relu_keep_nan) {
  const std::vector<float> x{nanf, -1, 0, 2, -inff, inff};
  expect_values(this->of(x, relu(acc)), {NAN, 0, 0, 2, 0, inf}, 0);
  expect_values(this->of(x, clamp(acc, 0, 6)), {NAN, 0, 0, 2, 0, 6}, 0);
  expect_values(this->of(x, leaky_relu(acc, 0.1f)), {NAN, static_cast<double>(-0.1f), 0, 2, -inf, inf}, 0);
  expect_values(this->of(x, min(acc, 1)), {NAN, -1, 0, 1, -inf, 1}, 0);
  expect_values(this->of(x, max(acc, 1)), {NAN, 1, 1, 2, 1, inf}, 0);
  expect_values(this->of({1, 2, 3}, min(acc, nanf)), {NAN, NAN, NAN}, 0);
}

// EPI-09: gelu at infinity, in the output types too. The relative error is that of the case's digits, or the type's.
template <class T, class Test>
void gelu_at_the_ends(Test& test, double digits) {
  const std::vector<float> x{-inff, -40, -3, -1, 0, 1, 3, 12, 40, inff, nanf};
  expect_values(test.template of<T>(x, gelu(acc)),
                {0, 0, -0.0040497, -0.158655, 0, 0.841345, 2.995950, 12, 40, inf, NAN}, digits);
  expect_values(test.template of<T>(x, gelu_tanh(acc)),
                {0, 0, -0.0036374, -0.158808, 0, 0.841192, 2.996363, 12, 40, inf, NAN}, digits);
}
TYPED_TEST(activations, gelu_is_finite_at_infinity) {
  gelu_at_the_ends<float>(*this, 1e-5);
  gelu_at_the_ends<f16>(*this, 0x1p-11 + 1e-5);
  gelu_at_the_ends<bf16>(*this, 0x1p-8 + 1e-5);
}

// EPI-10
TYPED_TEST(activations, silu_is_zero_at_minus_infinity) {
  const std::vector<float> x{-inff, -200, -20, 0, 20, 200, inff, nanf};
  expect_values(this->of(x, silu(acc)), {0, 0, -4.1223e-8, 0, 20, 200, inf, NAN}, 1e-5);
  expect_values(this->of(x, sigmoid(acc)), {0, 0, 2.0611536e-9, 0.5, 1, 1, 1, NAN}, 1e-5);
  expect_values(this->of(x, tanh(acc)), {-1, -1, -1, 0, 1, 1, 1, NAN}, 1e-7);
}

// EPI-11
TYPED_TEST(activations, gelu_keeps_its_negative_tail) {
  expect_values(this->of({-4, -5, -6}, gelu(acc)), {-1.26685e-4, -1.43326e-6, -5.9195e-9}, 1e-5);
  expect_values(this->of({-4, -5, -6}, gelu_tanh(acc)), {-7.02459e-5, -2.29180e-7, -8.4396e-11}, 1e-5);
}

// EPI-12: gate and up as two products.
TYPED_TEST(activations, swiglu_of_two_products) {
  const std::vector<float> gate_then_up{1, 2, 3, 4};
  const auto y = this->template stored<float, 2, 2>(gate_then_up, 1, 2, silu(acc_<0>) * acc_<1>);
  expect_values(as_double(y), {2.193176, 7.046377}, 1e-6);
}

}  // namespace
}  // namespace kiln::test
