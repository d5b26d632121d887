// The types themselves: layout, constant expressions, names, limits, int4x2.
#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <kiln/core/numeric.hpp>

namespace kiln::test {
namespace {

template <class T, std::size_t Size>
constexpr bool plain =
    std::is_trivially_copyable_v<T>&& std::is_trivially_default_constructible_v<T>&& std::is_standard_layout_v<T> &&
    sizeof(T) == Size && alignof(T) == Size;
static_assert(plain<f16, 2> && plain<bf16, 2> && plain<e4m3, 1> && plain<e5m2, 1> && plain<int4x2, 1>);

// Narrowing is asked for, widening is not.
static_assert(!std::is_convertible_v<float, f16> && !std::is_convertible_v<double, bf16>);
static_assert(!std::is_convertible_v<float, e4m3> && !std::is_convertible_v<int, e5m2>);
static_assert(!std::is_convertible_v<f16, bf16> && std::is_constructible_v<bf16, f16>);
static_assert(std::is_convertible_v<f16, float> && std::is_convertible_v<e4m3, float>);
static_assert(std::same_as<decltype(f16{} + bf16{}), float>);

// In constant expressions.
static_assert(f16(1.0f).bits == 0x3c00 && f16(-2.0).bits == 0xc000 && f16(65519.99).bits == 0x7bff);
static_assert(f16(65520.0f).bits == 0x7c00 && f16(2049).bits == 0x6800 && f16(2051).bits == 0x6802);
static_assert(bf16(1.0f).bits == 0x3f80 && bf16(1.00390625f).bits == 0x3f80 && bf16(1.00390625 + 1e-12).bits == 0x3f81);
static_assert(e4m3(448.0f).bits == 0x7e && e4m3(1e10f).bits == 0x7e && e4m3(-1e300).bits == 0xfe);
static_assert(e5m2(57344).bits == 0x7b && e5m2(1.0f).bits == 0x3c);
static_assert(f16::from_bits(0x0001) == 0x1p-24f && bf16::from_bits(0x0001) == 0x1p-133f);
static_assert(e4m3::from_bits(0x01) == 0x1p-9f && e5m2::from_bits(0x81) == -0x1p-16f);
static_assert(bf16(f16(1.5f)) == 1.5f && e4m3(bf16(17.0f)) == 16.0f);
static_assert(f16(1.0f) == f16(1.0) && f16(0.0f) == f16(-0.0f) && f16(1.0f) < bf16(2.0f) && f16(3.0f) == 3);
static_assert(convert<float>(1e300) == limits<float>::infinity() && convert<float>(0.1) == 0.1f);
static_assert(convert<std::int8_t>(-128.5f) == -128 && convert<std::uint8_t>(2.5) == 2);
static_assert(convert<e4m3, overflow::to_nan>(464.1f).bits == 0x7f);
static_assert(pack2<bf16>(1.0f, -2.0f) == 0xc0003f80u && unpack2<bf16>(0xc0003f80u).hi == -2.0f);
static_assert(pack2<e4m3>(1.0f, 448.0f) == 0x7e38u && unpack2<e4m3>(0x7e38).hi == 448.0f);
static_assert(std::same_as<packed2_t<f16>, std::uint32_t> && std::same_as<packed2_t<e5m2>, std::uint16_t>);

static_assert(std::same_as<native_t<::__half>, f16> && std::same_as<native_t<::__nv_bfloat16>, bf16>);
static_assert(std::same_as<native_t<::__nv_fp8_e4m3>, e4m3> && std::same_as<native_t<::__nv_fp8_e5m2>, e5m2>);
static_assert(std::same_as<native_t<const ::__half>, const f16> && std::same_as<native_t<const f16>, const f16>);
static_assert(std::same_as<native_t<float>, float> && std::same_as<native_t<std::int8_t>, std::int8_t>);
static_assert(is_numeric_v<f16> && is_numeric_v<const float> && is_numeric_v<std::uint8_t> && is_numeric_v<double>);
static_assert(!is_numeric_v<int4x2> && !is_numeric_v<bool> && !is_numeric_v<::__half> && !is_numeric_v<float*>);
static_assert(is_floating_v<e5m2> && is_floating_v<double> && !is_floating_v<std::int8_t>);

TEST(numeric_types, names) {
  EXPECT_STREQ(name_of<f16>(), "f16");
  EXPECT_STREQ(name_of<bf16>(), "bf16");
  EXPECT_STREQ(name_of<const e4m3>(), "e4m3");
  EXPECT_STREQ(name_of<::__nv_fp8_e5m2>(), "e5m2");
  EXPECT_STREQ(name_of<int4x2>(), "int4x2");
  EXPECT_STREQ(name_of<float>(), "float32");
  EXPECT_STREQ(name_of<double>(), "float64");
  EXPECT_STREQ(name_of<std::int64_t>(), "int64");
  EXPECT_STREQ(name_of<std::int32_t>(), "int32");
  EXPECT_STREQ(name_of<std::int8_t>(), "int8");
  EXPECT_STREQ(name_of<std::uint8_t>(), "uint8");
  EXPECT_STREQ(name_of<void*>(), "unknown");
}

template <class T>
concept has_infinity_function = requires {
  limits<T>::infinity();
};
static_assert(has_infinity_function<f16> && has_infinity_function<float> && has_infinity_function<e5m2>);
static_assert(!has_infinity_function<e4m3> && !has_infinity_function<std::int8_t>);

template <class T>
void expect_limits(double largest, double smallest_normal, double smallest, double epsilon, bool has_infinity) {
  using lim = limits<T>;
  const auto value = [](T x) { return static_cast<double>(x); };
  EXPECT_EQ(value((lim::max)()), largest);
  EXPECT_EQ(value(lim::lowest()), -largest);
  EXPECT_EQ(value(lim::smallest_normal()), smallest_normal);
  EXPECT_EQ(value(lim::smallest()), smallest);
  EXPECT_EQ(value(lim::epsilon()), epsilon);
  EXPECT_TRUE(std::isnan(value(lim::quiet_nan())));
  EXPECT_EQ(lim::has_infinity, has_infinity);
  if constexpr (lim::has_infinity) {
    EXPECT_EQ(value(lim::infinity()), HUGE_VAL);
  }
  EXPECT_EQ(lim::digits, 1 - std::ilogb(epsilon));
}

TEST(numeric_limits, floating) {
  expect_limits<f16>(65504, 0x1p-14, 0x1p-24, 0x1p-10, true);
  expect_limits<bf16>(0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7, true);
  expect_limits<e4m3>(448, 0x1p-6, 0x1p-9, 0x1p-3, false);
  expect_limits<e5m2>(57344, 0x1p-14, 0x1p-16, 0x1p-2, true);
  using f = std::numeric_limits<float>;
  expect_limits<float>(f::max(), f::min(), f::denorm_min(), f::epsilon(), true);
  using d = std::numeric_limits<double>;
  expect_limits<double>(d::max(), d::min(), d::denorm_min(), d::epsilon(), true);
}

template <class T>
void expect_integer_limits() {
  EXPECT_EQ((limits<T>::max)(), (std::numeric_limits<T>::max)());
  EXPECT_EQ(limits<T>::lowest(), std::numeric_limits<T>::lowest());
  EXPECT_EQ(limits<T>::digits, std::numeric_limits<T>::digits);
  EXPECT_TRUE(limits<T>::is_integer && !limits<T>::has_infinity);
}

TEST(numeric_limits, integers) {
  expect_integer_limits<std::int8_t>();
  expect_integer_limits<std::uint8_t>();
  expect_integer_limits<std::int16_t>();
  expect_integer_limits<std::int32_t>();
  expect_integer_limits<std::uint32_t>();
  expect_integer_limits<std::int64_t>();
  expect_integer_limits<std::uint64_t>();
}

// The start value of a maximum: what a row of negative values must win over.
template <class T>
T row_max(const float (&row)[5]) {
  T best = limits<T>::lowest();
  if constexpr (limits<T>::has_infinity) best = T(-static_cast<float>(limits<T>::infinity()));
  for (float x : row) best = T(x) > best ? T(x) : best;
  return best;
}

TEST(numeric_limits, start_values_of_max_and_min) {
  EXPECT_EQ(row_max<f16>({-200, -201, -202, -203, -204}), -200.0f);
  EXPECT_EQ(row_max<bf16>({-200, -201, -202, -203, -204}), -200.0f);
  EXPECT_EQ(row_max<e4m3>({-8, -9, -10, -11, -12}), -8.0f);
  EXPECT_EQ(row_max<e4m3>({-448, -448, -448, -448, -448}), -448.0f);
  EXPECT_GT(limits<f16>::infinity(), (limits<f16>::max)());
}

TEST(numeric_int4x2, low_nibble_first) {
  static_assert(int4x2::make(1, -1).bits == 0xf1 && int4x2::make(1, -1).hi() == -1);
  for (int lo = -8; lo <= 7; ++lo) {
    for (int hi = -8; hi <= 7; ++hi) {
      const auto both = int4x2::make(lo, hi);
      ASSERT_EQ(both.bits, (lo & 15) | (hi & 15) << 4);
      ASSERT_EQ(both.lo(), lo);
      ASSERT_EQ(both.hi(), hi);
      ASSERT_EQ(int4x2::from_bits(both.bits), both);
    }
  }
  EXPECT_EQ(int4x2::make(-9, 8), int4x2::make(-8, 7));
}

}  // namespace
}  // namespace kiln::test
