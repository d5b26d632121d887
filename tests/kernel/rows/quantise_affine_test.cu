// Zero points, int8 and uint8: given and computed, for each granularity, and back to numbers.
#include <algorithm>
#include <kiln/quantise.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

using std::int32_t;
using std::int8_t;
using std::uint8_t;

template <class E>
class quantise_affine : public on_executor<E> {
 protected:
  template <class T>
  auto in(const std::vector<T>& values, index_t m, index_t n) {
    return view_on<E>(this->input(values).data(), m, n);
  }
  template <class T>
  auto in(const std::vector<T>& values) {
    return view_on<E>(this->input(values).data(), values.size());
  }
};
TYPED_TEST_SUITE(quantise_affine, executors, executor_names);

/// Codes of a vector with one scale and zero point.
template <class Q, class Z, class Fixture>
std::vector<Q> codes(Fixture& test, const std::vector<float>& x, float scale, Z zero, quantise_options options = {}) {
  using E = std::decay_t<decltype(test.executor())>;
  auto& q = test.template output<Q>(x.size(), prefill::x55);
  const auto set = per_tensor_scale(view_on<E>(test.input(std::vector<float>{scale}).data(), 1))
                       .with_zero_points(view_on<E>(test.input(std::vector<Z>{zero}).data(), 1));
  const status s = quantise(test.executor(), view_on<E>(test.input(x).data(), x.size()), view_on<E>(q.data(), x.size()),
                            given(set), options);
  EXPECT_TRUE(s.ok()) << s.message();
  return q.values();
}

// QNT-05
TYPED_TEST(quantise_affine, uint8_clamps_what_lies_outside) {
  const std::vector<float> x{-5, -0.01f, 0, 0.0625f, 0.1875f, 31.875f, 40};
  EXPECT_EQ((codes<uint8_t, int32_t>(*this, x, 0.125f, 0)), (std::vector<uint8_t>{0, 0, 0, 0, 2, 255, 255}));
  EXPECT_EQ((codes<uint8_t, int32_t>(*this, x, 0.125f, 128)), (std::vector<uint8_t>{88, 128, 128, 128, 130, 255, 255}));
  // Half to even before the zero point is added, so an odd one changes no rounding.
  EXPECT_EQ((codes<uint8_t, int32_t>(*this, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 300, -300, NAN}, 1, 7)),
            (std::vector<uint8_t>{7, 9, 9, 7, 5, 255, 0, 7}));
}

// On the host alone: each type of codes and zero points is a set of kernels.
TYPED_TEST(quantise_affine, other_types_of_codes_and_zero_points) {
  if constexpr (TypeParam::on_host) {
    const std::vector<float> x{-5, -0.01f, 0, 0.0625f, 0.1875f, 31.875f, 40};
    // Without zero points the codes are those of [0, 255].
    auto& q = this->template output<uint8_t>(x.size(), prefill::x55);
    const auto scale = this->in(std::vector<float>{0.125f});
    ASSERT_TRUE(quantise(this->executor(), this->in(x), view_on<TypeParam>(q.data(), x.size()), given(scale)).ok());
    EXPECT_EQ(q.values(), (std::vector<uint8_t>{0, 0, 0, 0, 2, 255, 255}));
    const std::vector<float> y{-200, -1, 0, 1, 200, INFINITY, -INFINITY, NAN};
    EXPECT_EQ((codes<int8_t, int8_t>(*this, y, 1, -128)),
              (std::vector<int8_t>{-128, -128, -128, -127, 72, 127, -128, -128}));
    EXPECT_EQ((codes<int8_t, int8_t>(*this, y, 1, -128, {.range = int8_range::symmetric})),
              (std::vector<int8_t>{-127, -127, -127, -127, 72, 127, -127, -127}));
  } else {
    GTEST_SKIP() << "on the host alone";
  }
}

TYPED_TEST(quantise_affine, zero_points_at_the_ends) {
  const std::vector<float> x{-200, -1, 0, 1, 200, INFINITY, -INFINITY, NAN};
  EXPECT_EQ((codes<uint8_t, int32_t>(*this, x, 1, (limits<int32_t>::max)())),
            (std::vector<uint8_t>{255, 255, 255, 255, 255, 255, 0, 255}))
      << "the sum of a saturated quotient and the zero point does not wrap";
}

// Beyond 2^24 a zero point is no float32, yet its difference to a code may be one. On the host alone, for the types.
TEST(quantise_affine_host, dequantise_subtracts_whole_numbers) {
  const std::int8_t q[4] = {1, 1, -128, 127};
  const std::int32_t zero[4] = {16777217, -16777217, (limits<int32_t>::max)(), limits<int32_t>::lowest()};
  const float one[4] = {1, 1, 1, 1};
  float y[4];
  const auto set = per_column_scales(host_view(one, 4)).with_zero_points(host_view(zero, 4));
  ASSERT_TRUE(dequantise(host, host_view(q, 1, 4), host_view(y, 1, 4), set).ok());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], static_cast<float>(std::int64_t{q[i]} - std::int64_t{zero[i]})) << i;
}

/// Rows of float ranges that differ in sign, size and place.
std::vector<float> ranges_of(std::size_t m, std::size_t n) {
  std::vector<float> x(m * n);
  const auto r = uniform<float>(m * n, 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto row = static_cast<float>(i / n), col = static_cast<float>(i % n);
    x[i] = (r[i] + 0.3f * static_cast<float>(static_cast<int>(row) % 5 - 2)) * (1 + row) * (0.1f + col / 16);
  }
  return x;
}

/// What a set of scales serves, on the host.
struct served {
  granularity by;
  index_t group, m, n;
  std::size_t count() const {
    switch (by) {
      case granularity::tensor:
        return 1;
      case granularity::row:
        return static_cast<std::size_t>(m);
      case granularity::column:
        return static_cast<std::size_t>(n);
      case granularity::group_0:
        return static_cast<std::size_t>(((m - 1) / group + 1) * n);
      default:
        return static_cast<std::size_t>(((n - 1) / group + 1) * m);
    }
  }
  std::size_t of(index_t i, index_t j) const {
    switch (by) {
      case granularity::tensor:
        return 0;
      case granularity::row:
        return static_cast<std::size_t>(i);
      case granularity::column:
        return static_cast<std::size_t>(j);
      case granularity::group_0:
        return static_cast<std::size_t>(i / group * n + j);
      default:
        return static_cast<std::size_t>(i * ((n - 1) / group + 1) + j / group);
    }
  }
};

template <granularity G, class E, class T>
auto factors_view(T* data, const served& s) {
  if constexpr (G == granularity::group_0)
    return view_on<E>(data, (s.m - 1) / s.group + 1, s.n);
  else if constexpr (G == granularity::group_1)
    return view_on<E>(data, s.m, (s.n - 1) / s.group + 1);
  else
    return view_on<E>(data, s.count());
}
template <granularity G, class E>
auto set_of(float* scales, const served& s) {
  const auto v = factors_view<G, E>(scales, s);
  return scale_set<G, std::remove_const_t<decltype(v)>>{v, s.group};
}

/// Computed scales and zero points are those of the ranges, codes are exactly the rounded quotients, and what comes
/// back is the view's value, within half a scale of what went in.
template <granularity G, class Q, class Z, class Fixture>
void check_computed(Fixture& test, index_t m, index_t n, index_t group = 0) {
  using E = std::decay_t<decltype(test.executor())>;
  const served who{G, group, m, n};
  SCOPED_TRACE(::testing::Message() << "granularity " << static_cast<int>(G) << ", " << m << " x " << n
                                    << ", groups of " << group);
  const auto x = ranges_of(static_cast<std::size_t>(m), static_cast<std::size_t>(n));
  auto& q = test.template output<Q>(x.size(), prefill::x55);
  auto& y = test.template output<float>(x.size());
  auto& scales = test.template output<float>(who.count());
  auto& zeros = test.template output<Z>(who.count(), prefill::x55);
  const auto set = set_of<G, E>(scales.data(), who).with_zero_points(factors_view<G, E>(zeros.data(), who));
  const auto qv = view_on<E>(q.data(), m, n);
  const status s = quantise(test.executor(), view_on<E>(test.input(x).data(), m, n), qv, set);
  ASSERT_TRUE(s.ok()) << s.message();
  const status back = dequantise(test.executor(), qv, view_on<E>(y.data(), m, n), set);
  ASSERT_TRUE(back.ok()) << back.message();
  std::vector<double> low(who.count()), high(who.count());
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      const double v = as_double(x[static_cast<std::size_t>(i * n + j)]);
      low[who.of(i, j)] = std::min(low[who.of(i, j)], v), high[who.of(i, j)] = std::max(high[who.of(i, j)], v);
    }
  constexpr double lowest = std::is_signed_v<Q> ? -128 : 0;
  const auto sv = scales.values();
  const auto zv = zeros.values();
  for (std::size_t i = 0; i < sv.size(); ++i) {
    const double exact = (high[i] - low[i]) / 255, seen = as_double(sv[i]);
    ASSERT_NEAR(seen, exact, 2 * unit * exact) << i;  // both ends are divided, and added: three roundings
    const double zero = static_cast<double>(zv[i]);
    ASSERT_NEAR(zero, lowest - low[i] / seen, 0.5 + 3 * 255 * unit) << i;
    ASSERT_TRUE(zero >= lowest && zero <= lowest + 255) << i;
  }
  const auto qs = q.values();
  const auto ys = y.values();
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j), f = who.of(i, j);
      const double rounded = std::clamp(std::nearbyint(static_cast<double>(x[at] / sv[f])) + static_cast<double>(zv[f]),
                                        lowest, lowest + 255);
      // The device's division is IEEE's, so the quotient is the host's.
      ASSERT_EQ(static_cast<double>(qs[at]), rounded) << i << ", " << j;
      ASSERT_EQ(ys[at], sv[f] * (static_cast<float>(qs[at]) - static_cast<float>(zv[f]))) << i << ", " << j;
      ASSERT_LE(std::abs(as_double(ys[at]) - as_double(x[at])), as_double(sv[f]) * (0.5 + 1e-4)) << i << ", " << j;
    }
}

TYPED_TEST(quantise_affine, computed_for_the_tensor_rows_and_columns) {
  for (const auto& [m, n] : {std::pair<index_t, index_t>{1, 1}, {7, 33}, {3, 8200}, {70, 16}}) {
    check_computed<granularity::tensor, uint8_t, int32_t>(*this, m, n);
    check_computed<granularity::row, uint8_t, int32_t>(*this, m, n);
    check_computed<granularity::column, int8_t, int8_t>(*this, m, n);
  }
}
TYPED_TEST(quantise_affine, computed_for_groups_along_either_axis) {
  for (const index_t group : {1, 5, 16, 100}) {
    check_computed<granularity::group_1, uint8_t, int32_t>(*this, 7, 67, group);
    check_computed<granularity::group_0, int8_t, int8_t>(*this, 23, 34, group);
  }
}

// QNT-13 and QNT-12: a one-sided range is widened to 0, a constant has one.
TYPED_TEST(quantise_affine, zero_has_a_code_of_its_own) {
  const auto check = [&](const std::vector<float>& x, float low, float high) {
    std::vector<float> and_zero = x;
    and_zero.push_back(0);
    auto& q = this->template output<uint8_t>(and_zero.size(), prefill::x55);
    auto& scale = this->template output<float>(1);
    auto& zero = this->template output<int32_t>(1);
    const auto set =
        per_tensor_scale(view_on<TypeParam>(scale.data(), 1)).with_zero_points(view_on<TypeParam>(zero.data(), 1));
    ASSERT_TRUE(quantise(this->executor(), this->in(x), view_on<TypeParam>(q.data(), x.size()), set).ok());
    const float s = scale.values()[0];
    const int32_t z = zero.values()[0];
    if (high > low)
      EXPECT_FLOAT_EQ(s, (high - low) / 255);
    else
      EXPECT_EQ(s, 1);
    EXPECT_TRUE(z >= 0 && z <= 255) << z;
    ASSERT_TRUE(
        quantise(this->executor(), this->in(and_zero), view_on<TypeParam>(q.data(), and_zero.size()), given(set)).ok());
    const auto codes = q.values();
    EXPECT_EQ(int32_t{codes.back()}, z);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(std::abs(static_cast<float>(codes[i] - z) * s - x[i]), s * 0.5001f);
  };
  check({1, 1.5f, 2, 3}, 0, 3);
  check({-3, -2.5f, -1}, -3, 0);
  check({5, 5, 5}, 0, 5);
  check({-5, -5, -5}, -5, 0);
  check({5}, 0, 5);
  check({0, 0}, 0, 0);
  check({-1e-45f, 1e-45f}, 0, 255 * 0x1p-126f);  // the floor of 2^-126 a step
}

TYPED_TEST(quantise_affine, ranges_as_wide_as_float_do_not_overflow) {
  auto& q = this->template output<uint8_t>(3, prefill::x55);
  auto& scale = this->template output<float>(1);
  auto& zero = this->template output<int32_t>(1);
  const auto set =
      per_row_scales(view_on<TypeParam>(scale.data(), 1)).with_zero_points(view_on<TypeParam>(zero.data(), 1));
  ASSERT_TRUE(quantise(this->executor(), this->in(std::vector<float>{3.4e38f, 0, -3.4e38f}, 1, 3),
                       view_on<TypeParam>(q.data(), 1, 3), set)
                  .ok());
  // 2 * 3.4e38 / 255 would be too large for a code 128 steps from 0.
  const float seen = scale.values()[0], most = limits<float>::max() / 128;
  EXPECT_TRUE(seen <= most && seen >= most * (1 - 0x1p-8f)) << seen;
  const auto codes = q.values();
  EXPECT_EQ(int32_t{codes[1]}, zero.values()[0]);
  EXPECT_EQ(codes[0], 255);
  EXPECT_EQ(codes[2], 0);
}

TYPED_TEST(quantise_affine, codes_of_the_largest_numbers_stand_for_finite_ones) {
  const float most = limits<float>::max();
  const auto check = [&](auto code, const std::vector<float>& x) {
    using Q = decltype(code);
    auto& q = this->template output<Q>(x.size());
    auto &scale = this->template output<float>(1), &back = this->template output<float>(x.size());
    auto& zero = this->template output<int32_t>(1);
    const auto in = view_on<TypeParam>(this->template input<float>(x).data(), x.size());
    const auto set =
        per_tensor_scale(view_on<TypeParam>(scale.data(), 1)).with_zero_points(view_on<TypeParam>(zero.data(), 1));
    ASSERT_TRUE(quantise(this->executor(), in, view_on<TypeParam>(q.data(), x.size()), set).ok());
    ASSERT_TRUE(dequantise(this->executor(), view_on<TypeParam>(q.data(), x.size()),
                           view_on<TypeParam>(back.data(), x.size()), set)
                    .ok());
    const auto y = back.values();
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(std::abs(y[i] / 2 - x[i] / 2), scale.values()[0] * 0.5001f) << i;  // within a step, and finite
  };
  for (const std::vector<float>& x : {std::vector{most, -most}, {most, 0.0f}, {-most, 1.0f}, {most, most / -3}}) {
    check(std::uint8_t{}, x);
    check(std::int8_t{}, x);
  }
}

TYPED_TEST(quantise_affine, nan_shows_in_the_scale) {
  auto& q = this->template output<uint8_t>(4, prefill::x55);
  auto& scale = this->template output<float>(2);
  auto& zero = this->template output<int32_t>(2);
  const auto x = this->in(std::vector<float>{1, NAN, 3, 4}, 2, 2);
  const auto qv = view_on<TypeParam>(q.data(), 2, 2);
  const auto rows =
      per_row_scales(view_on<TypeParam>(scale.data(), 2)).with_zero_points(view_on<TypeParam>(zero.data(), 2));
  ASSERT_TRUE(quantise(this->executor(), x, qv, rows).ok());
  EXPECT_TRUE(std::isnan(scale.values()[0]));
  EXPECT_FLOAT_EQ(scale.values()[1], 4.0f / 255);
  const auto all =
      per_tensor_scale(view_on<TypeParam>(scale.data(), 1)).with_zero_points(view_on<TypeParam>(zero.data(), 1));
  ASSERT_TRUE(quantise(this->executor(), x, qv, all).ok());
  EXPECT_TRUE(std::isnan(scale.values()[0]));
}

TYPED_TEST(quantise_affine, zero_points_of_the_wrong_shape_are_refused) {
  auto& q = this->template output<uint8_t>(12, prefill::x55);
  auto& scales = this->template output<float>(3);
  auto& zeros = this->template output<int32_t>(4);
  const auto x = this->in(std::vector<float>(12, 1.0f), 3, 4);
  const auto rows = per_row_scales(view_on<TypeParam>(scales.data(), 3));
  const auto expect = [&](const status& s, errc code, const char* text) {
    EXPECT_EQ(name_of(s.code()), name_of(code)) << s.message();
    EXPECT_NE(s.message().find(text), std::string::npos) << s.message();
  };
  const auto qv = view_on<TypeParam>(q.data(), 3, 4);
  expect(quantise(this->executor(), x, qv, rows.with_zero_points(view_on<TypeParam>(zeros.data(), 4))), errc::bad_shape,
         "operand `zero points`: has 4 elements, needs 3");
  expect(
      quantise(this->executor(), x, qv, rows.with_zero_points(view_on<TypeParam>(static_cast<int32_t*>(nullptr), 3))),
      errc::null_pointer, "`zero points`");
  expect(quantise(this->executor(), x, qv,
                  rows.with_zero_points(view_on<TypeParam>(reinterpret_cast<int32_t*>(scales.data()), 3))),
         errc::overlap, "`zero points`");
  EXPECT_TRUE(q.untouched() && scales.untouched() && zeros.untouched());
}

}  // namespace
}  // namespace kiln::test
