// Symmetric quantisation per row and per tensor, and the reports of others about it.
#include <array>
#include <kiln/quantise.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(quantise_kernels);

template <class Q>
constexpr double largest = 0;
template <>
constexpr double largest<std::int8_t> = 127;
template <>
constexpr double largest<e4m3> = 448;
template <>
constexpr double largest<e5m2> = 57344;

/// Half a step of Q around a scaled value.
template <class Q>
double half_step(double scaled) {
  if constexpr (std::is_same_v<Q, std::int8_t>) {
    return 0.5;
  } else {
    const int least = std::ilogb(as_double(limits<Q>::smallest_normal()));
    const int exponent = scaled == 0 ? least : std::max(std::ilogb(std::abs(scaled)), least);
    return std::ldexp(1.0, exponent - limits<Q>::digits);
  }
}

template <class X, class Q, class Test>
void check_rows(Test& test, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of<X>()) + " to " + name_of<Q>() + ", " + std::to_string(rows) + " x " +
               std::to_string(cols));
  using E = std::decay_t<decltype(test.executor())>;
  const auto x = uniform<X>(rows * cols, seed);
  const auto xv = view_on<E>(test.input(x).data(), rows, cols);
  auto &q = test.template output<Q>(rows * cols), &whole = test.template output<Q>(rows * cols);
  auto &scales = test.template output<float>(rows), &scale = test.template output<float>(1);
  ASSERT_TRUE(
      quantise_rows(test.executor(), xv, view_on<E>(q.data(), rows, cols), view_on<E>(scales.data(), rows)).ok());
  ASSERT_TRUE(quantise(test.executor(), xv, view_on<E>(whole.data(), rows, cols), view_on<E>(scale.data(), 1)).ok());
  const auto got = q.values(), all = whole.values();
  const auto s = scales.values(), t = scale.values();
  double top = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double amax = 0;
    for (std::size_t c = 0; c < cols; ++c) amax = std::max(amax, std::abs(as_double(x[r * cols + c])));
    top = std::max(top, amax);
    const double scale_of_row = static_cast<double>(s[r]);
    ASSERT_NEAR(scale_of_row, amax / largest<Q>, amax / largest<Q> * unit);
    for (std::size_t c = 0; c < cols; ++c) {
      const double v = as_double(x[r * cols + c]) / scale_of_row;
      ASSERT_LE(std::abs(as_double(got[r * cols + c]) - v), half_step<Q>(v) + 2 * unit * std::abs(v)) << r << ", " << c;
    }
  }
  ASSERT_NEAR(static_cast<double>(t[0]), top / largest<Q>, top / largest<Q> * unit);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = as_double(x[i]) / static_cast<double>(t[0]);
    ASSERT_LE(std::abs(as_double(all[i]) - v), half_step<Q>(v) + 2 * unit * std::abs(v)) << i;
  }
}

/// Codes of `x / scale` rounded to float first, as the division rounds it.
template <class X, class Q, class Test>
void check_quotients(Test& test, const std::vector<X>& x, const std::vector<float>& scales, std::size_t cols) {
  SCOPED_TRACE(std::string(name_of<X>()) + " to " + name_of<Q>());
  using E = std::decay_t<decltype(test.executor())>;
  const std::size_t rows = scales.size();
  auto& q = test.template output<Q>(rows * cols);
  const auto s = view_on<E>(test.input(scales).data(), rows);
  ASSERT_TRUE(quantise_rows(test.executor(), view_on<E>(test.input(x).data(), rows, cols),
                            view_on<E>(q.data(), rows, cols), given(s))
                  .ok());
  const auto got = q.values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Q want = convert<Q>(static_cast<float>(x[i]) / scales[i / cols]);
    ASSERT_EQ(as_double(got[i]), as_double(want)) << i << ": " << as_double(x[i]) << " / " << scales[i / cols];
  }
}
TYPED_TEST(quantise_kernels, quotients_are_those_of_a_division) {
  constexpr std::size_t rows = 61, cols = 256;
  std::vector<float> scales;
  for (std::size_t r = 0; r < rows; ++r)
    scales.push_back(std::ldexp(1.0f + static_cast<float>(r * 104729 % 8388608) * 0x1p-23f,
                                r < 30 ? 0 : static_cast<int>(r * 37 % 240) - 120));
  const auto numbers = uniform<float>(rows * cols, 77);
  // Ties and their neighbours: multiples of half a scale; then anything, up to where codes end and beyond.
  const auto filled = [&]<class X>(X) {
    std::vector<X> x(rows * cols);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float half = static_cast<float>(static_cast<int>(i % cols) - 128) * 0.5f;
      const float v = i % 3 == 0 ? half : i % 3 == 1 ? half * 1.0000001f : numbers[i] * 600;
      x[i] = X(v * scales[i / cols]);
    }
    x[5] = X(0.0f), x[6] = X(-0.0f);
    return x;
  };
  check_quotients<float, std::int8_t>(*this, filled(float{}), scales, cols);
  check_quotients<bf16, std::int8_t>(*this, filled(bf16{}), scales, cols);
  check_quotients<float, e4m3>(*this, filled(float{}), scales, cols);
  check_quotients<bf16, e4m3>(*this, filled(bf16{}), scales, cols);
}

TYPED_TEST(quantise_kernels, values_are_within_half_a_step) {
  std::uint64_t seed = 0;
  for (std::size_t cols : sizes{1, 7, 16, 33, 128, 1000, 4096, 8200, 20000}) {
    const std::size_t rows = cols > 2000 ? 3 : 21;
    check_rows<float, std::int8_t>(*this, rows, cols, ++seed);
    check_rows<bf16, std::int8_t>(*this, rows, cols, ++seed);
    check_rows<bf16, e4m3>(*this, rows, cols, ++seed);
    check_rows<f16, e5m2>(*this, rows, cols, ++seed);
  }
}

template <class Q, class E, class Test>
std::vector<Q> quantised_with(Test& test, const std::vector<float>& x, float scale, quantise_options options = {}) {
  auto& q = test.template output<Q>(x.size(), prefill::x55);
  const status s = quantise(test.executor(), view_on<E>(test.input(x).data(), x.size()), view_on<E>(q.data(), x.size()),
                            given(view_on<E>(test.input(std::vector<float>{scale}).data(), 1)), options);
  EXPECT_TRUE(s.ok()) << s.message();
  return q.values();
}

// QNT-01: rows and tensors of zeros.
template <class Q, class E, class Test>
void check_zeros(Test& test) {
  std::vector<float> x(26, 0.0f);
  for (std::size_t c = 0; c < 13; ++c) x[13 + c] = static_cast<float>(c + 1);
  auto& q = test.template output<Q>(26);
  auto &scales = test.template output<float>(2), &scale = test.template output<float>(1);
  ASSERT_TRUE(quantise_rows(test.executor(), view_on<E>(test.input(x).data(), 2, 13), view_on<E>(q.data(), 2, 13),
                            view_on<E>(scales.data(), 2))
                  .ok());
  const auto s = scales.values();
  EXPECT_TRUE(std::isfinite(s[0]) && s[0] > 0);
  EXPECT_NEAR(static_cast<double>(s[1]), 13 / largest<Q>, 1e-7);
  const auto got = q.values();
  for (std::size_t c = 0; c < 13; ++c) EXPECT_EQ(as_double(got[c]), 0);
  EXPECT_EQ(as_double(got[25]), largest<Q>);
  ASSERT_TRUE(quantise(test.executor(), view_on<E>(test.input(std::vector<float>(13, 0.0f)).data(), 1, 13),
                       view_on<E>(q.data(), 1, 13), view_on<E>(scale.data(), 1))
                  .ok());
  EXPECT_TRUE(std::isfinite(scale.values()[0]) && scale.values()[0] > 0);
  for (std::size_t c = 0; c < 13; ++c) EXPECT_EQ(as_double(q.values()[c]), 0);
}
TYPED_TEST(quantise_kernels, zeros_get_a_finite_positive_scale) {
  check_zeros<std::int8_t, TypeParam>(*this);
  check_zeros<e4m3, TypeParam>(*this);
  check_zeros<e5m2, TypeParam>(*this);
}

TYPED_TEST(quantise_kernels, smallest_magnitudes_have_a_scale_with_an_inverse) {
  auto& q = this->template output<std::int8_t>(4);
  auto& scale = this->template output<float>(1);
  const auto in = this->input(std::vector<float>{0x1p-149f, -0x1p-140f, 0, 0x1p-130f}).data();
  ASSERT_TRUE(quantise_rows(this->executor(), view_on<TypeParam>(in, 1, 4), view_on<TypeParam>(q.data(), 1, 4),
                            view_on<TypeParam>(scale.data(), 1))
                  .ok());
  EXPECT_TRUE(std::isfinite(1 / scale.values()[0]));
  for (auto v : q.values()) EXPECT_EQ(v, 0);
}

template <class Q, class E, class Test>
void check_largest(Test& test) {
  SCOPED_TRACE(name_of<Q>());
  const float most = limits<float>::max();
  const auto in = view_on<E>(test.input(std::vector<float>{most, -most, most / 2, 1}).data(), 1, 4);
  auto &scale = test.template output<float>(1), &back = test.template output<float>(4);
  const auto q = view_on<E>(test.template output<Q>(4).data(), 1, 4);
  const auto set = per_row_scales(view_on<E>(scale.data(), 1));
  ASSERT_TRUE(quantise(test.executor(), in, q, set).ok());
  ASSERT_TRUE(dequantise(test.executor(), q, view_on<E>(back.data(), 1, 4), set).ok());
  const auto y = back.values();
  for (float v : y) EXPECT_TRUE(std::isfinite(v));
  EXPECT_FLOAT_EQ(y[0], most);
  EXPECT_FLOAT_EQ(y[1], std::is_unsigned_v<Q> ? 0 : -most);
  EXPECT_LE(std::abs(y[2] / most - 0.5f), 1.0f / 127);
}
TYPED_TEST(quantise_kernels, codes_of_the_largest_numbers_stand_for_finite_ones) {
  check_largest<std::int8_t, TypeParam>(*this);
  check_largest<std::uint8_t, TypeParam>(*this);
  check_largest<e4m3, TypeParam>(*this);
  check_largest<e5m2, TypeParam>(*this);
}

// QNT-02: what lies behind a row never enters its maximum (the guards are NaN, and here 1e30 stands beside each row).
TYPED_TEST(quantise_kernels, lanes_behind_the_row_do_not_count) {
  for (std::size_t cols : sizes{1, 13, 33, 127, 129}) {
    std::vector<float> x(3 * (cols + 2), 1e30f);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < cols; ++c) x[r * (cols + 2) + c] = 0.5f;
    auto& q = this->template output<std::int8_t>(3 * cols);
    auto& scales = this->template output<float>(3);
    ASSERT_TRUE(quantise_rows(this->executor(),
                              pitched_on<TypeParam>(this->input(x).data(), 3, static_cast<index_t>(cols),
                                                    static_cast<index_t>(cols + 2)),
                              view_on<TypeParam>(q.data(), 3, cols), view_on<TypeParam>(scales.data(), 3))
                    .ok());
    for (float s : scales.values()) EXPECT_EQ(s, 0.5f / 127);
    for (auto v : q.values()) EXPECT_EQ(v, 127);
  }
}

// QNT-03 and QNT-04
TYPED_TEST(quantise_kernels, int8_rounds_half_to_even_and_saturates) {
  EXPECT_EQ((quantised_with<std::int8_t, TypeParam>(
                *this, {0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f, 126.5f, 127.5f, -128.5f}, 1)),
            (std::vector<std::int8_t>{0, 2, 2, 4, 0, -2, -2, 126, 127, -128}));
  const std::vector<float> ends{-127.4f, -127.6f, -128, -129, -1e6f, 127.4f, 128, 1e6f};
  EXPECT_EQ((quantised_with<std::int8_t, TypeParam>(*this, ends, 1)),
            (std::vector<std::int8_t>{-127, -128, -128, -128, -128, 127, 127, 127}));
  EXPECT_EQ((quantised_with<std::int8_t, TypeParam>(*this, ends, 1, {.range = int8_range::symmetric})),
            (std::vector<std::int8_t>{-127, -127, -127, -127, -127, 127, 127, 127}));
}

// QNT-07, as far as quantisation reaches it: saturation to the largest finite value, NaN stays.
TYPED_TEST(quantise_kernels, fp8_saturates_and_keeps_nan) {
  const auto a = quantised_with<e4m3, TypeParam>(
      *this, {448, 449, 464, 464.1f, 465, 480, 1e30f, INFINITY, -INFINITY, NAN, -1000}, 1);
  const int expected[] = {0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x7f, 0xfe};
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(int{a[i].bits} & (i == 9 ? 0x7f : 0xff), expected[i]) << i;
  for (e5m2 v : quantised_with<e5m2, TypeParam>(*this, {57344, 61439, 61440, 65536, INFINITY}, 1))
    EXPECT_EQ(int{v.bits}, 0x7b);
}

// QNT-09
TYPED_TEST(quantise_kernels, several_scales_for_one_tensor_are_refused) {
  auto& q = this->template output<std::int8_t>(12);
  auto& scale = this->template output<float>(4);
  const auto x = view_on<TypeParam>(this->input(std::vector<float>(12, 1.0f)).data(), 3, 4);
  const auto qv = view_on<TypeParam>(q.data(), 3, 4);
  const auto sv = view_on<TypeParam>(scale.data(), 4);
  for (const status& s :
       {quantise(this->executor(), x, qv, sv), quantise(this->executor(), x, qv, given(sv)),
        quantise_rows(this->executor(), x, qv, sv), quantise_rows(this->executor(), x, qv, given(sv))}) {
    EXPECT_EQ(s.code(), errc::bad_shape);
    EXPECT_NE(s.message().find("`scale"), std::string::npos) << s.message();
    EXPECT_NE(s.message().find("has 4 elements"), std::string::npos) << s.message();
  }
  EXPECT_TRUE(q.untouched());
  EXPECT_TRUE(scale.untouched());
}

// QNT-12
TYPED_TEST(quantise_kernels, constant_tensors_come_back) {
  for (float v : {5.0f, -5.0f}) {
    for (std::size_t n : sizes{1, 100}) {
      auto& q = this->template output<std::int8_t>(n);
      auto& scale = this->template output<float>(1);
      ASSERT_TRUE(quantise(this->executor(), view_on<TypeParam>(this->input(std::vector<float>(n, v)).data(), n),
                           view_on<TypeParam>(q.data(), n), view_on<TypeParam>(scale.data(), 1))
                      .ok());
      const float s = scale.values()[0];
      for (auto c : q.values()) EXPECT_LE(std::abs(static_cast<float>(c) * s - v), s / 2);
    }
  }
}

TYPED_TEST(quantise_kernels, nan_and_infinity_show_in_the_scale) {
  std::vector<float> x(3 * 20, 1.0f);
  x[7] = NAN, x[27] = -INFINITY;
  auto& q = this->template output<std::int8_t>(60);
  auto &scales = this->template output<float>(3), &scale = this->template output<float>(1);
  const auto xv = view_on<TypeParam>(this->input(x).data(), 3, 20);
  ASSERT_TRUE(
      quantise_rows(this->executor(), xv, view_on<TypeParam>(q.data(), 3, 20), view_on<TypeParam>(scales.data(), 3))
          .ok());
  EXPECT_TRUE(std::isnan(scales.values()[0]));
  EXPECT_EQ(scales.values()[1], INFINITY);
  EXPECT_EQ(scales.values()[2], 1.0f / 127);
  ASSERT_TRUE(
      quantise(this->executor(), xv, view_on<TypeParam>(q.data(), 3, 20), view_on<TypeParam>(scale.data(), 1)).ok());
  EXPECT_TRUE(std::isnan(scale.values()[0]));
}

// QNT-17: given scales are inputs; the guarded input fails the test if they change.
TYPED_TEST(quantise_kernels, given_scales_are_only_read) {
  const auto x = view_on<TypeParam>(this->input(std::vector<float>{1, -2, 0.25f, 100, 3, -300}).data(), 2, 3);
  auto& q = this->template output<std::int8_t>(6);
  const float* scales = this->input(std::vector<float>{0.5f, 2}).data();
  ASSERT_TRUE(
      quantise_rows(this->executor(), x, view_on<TypeParam>(q.data(), 2, 3), given(view_on<TypeParam>(scales, 2)))
          .ok());
  EXPECT_EQ(q.values(), (std::vector<std::int8_t>{2, -4, 0, 50, 2, -128}));
}

// QNT-18, and ROW-18's rows of 92 bytes.
TYPED_TEST(quantise_kernels, sliced_rows_equal_the_packed_copy) {
  for (auto [cols, pitch, out_pitch] : {std::array<index_t, 3>{64, 128, 64}, {46, 48, 46}, {46, 46, 48}}) {
    const auto packed = uniform<bf16>(static_cast<std::size_t>(4 * cols), 21);
    std::vector<bf16> wide(static_cast<std::size_t>(4 * pitch), limits<bf16>::quiet_nan());
    for (index_t r = 0; r < 4; ++r)
      for (index_t c = 0; c < cols; ++c)
        wide[static_cast<std::size_t>(r * pitch + c)] = packed[static_cast<std::size_t>(r * cols + c)];
    auto &q = this->template output<std::int8_t>(static_cast<std::size_t>(4 * out_pitch)),
         &p = this->template output<std::int8_t>(static_cast<std::size_t>(4 * cols));
    auto &s = this->template output<float>(4), &t = this->template output<float>(4);
    ASSERT_TRUE(quantise_rows(this->executor(), pitched_on<TypeParam>(this->input(wide).data(), 4, cols, pitch),
                              pitched_on<TypeParam>(q.data(), 4, cols, out_pitch), view_on<TypeParam>(s.data(), 4))
                    .ok());
    ASSERT_TRUE(quantise_rows(this->executor(), view_on<TypeParam>(this->input(packed).data(), 4, cols),
                              view_on<TypeParam>(p.data(), 4, cols), view_on<TypeParam>(t.data(), 4))
                    .ok());
    EXPECT_EQ(s.values(), t.values());
    const auto got = q.values(), expected = p.values();
    for (index_t r = 0; r < 4; ++r)
      for (index_t c = 0; c < cols; ++c)
        EXPECT_EQ(got[static_cast<std::size_t>(r * out_pitch + c)], expected[static_cast<std::size_t>(r * cols + c)]);
    EXPECT_TRUE(q.wrote_only([&, n = cols, w = out_pitch](std::size_t i) { return static_cast<index_t>(i) % w < n; }));
  }
}

// ROW-23
TYPED_TEST(quantise_kernels, empty_shapes_succeed) {
  auto& q = this->template output<std::int8_t>(8);
  auto& scales = this->template output<float>(4);
  const auto in = this->input(std::vector<float>(8, 2.0f)).data();
  ASSERT_TRUE(quantise_rows(this->executor(), view_on<TypeParam>(in, 0, 128), view_on<TypeParam>(q.data(), 0, 128),
                            view_on<TypeParam>(scales.data(), 0))
                  .ok());
  EXPECT_TRUE(q.untouched());
  EXPECT_TRUE(scales.untouched());
  ASSERT_TRUE(quantise_rows(this->executor(), view_on<TypeParam>(in, 4, 0), view_on<TypeParam>(q.data(), 4, 0),
                            view_on<TypeParam>(scales.data(), 4))
                  .ok());
  for (float s : scales.values()) EXPECT_EQ(s, 1);  // the scale of nothing is that of zeros
  EXPECT_TRUE(q.untouched());
}

}  // namespace
}  // namespace kiln::test
