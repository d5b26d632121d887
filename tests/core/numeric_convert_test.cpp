// convert<To>(from): the matrix of pairs, the range ends, and the tags.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <kiln/core/numeric.hpp>

#include "tests/core/numeric_reference.hpp"

namespace kiln::test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class To>
std::vector<int> bytes(const std::vector<float>& from) {
  std::vector<int> codes;
  for (float x : from) codes.push_back(convert<To>(x).bits);
  return codes;
}
template <class To>
std::vector<int> integers(const std::vector<float>& from) {
  std::vector<int> out;
  for (float x : from) out.push_back(convert<To>(x));
  return out;
}

TEST(numeric_convert, ties_to_int8_go_to_even) {
  EXPECT_EQ(integers<std::int8_t>({0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f, 126.5f, 127.5f, -128.5f}),
            (std::vector{0, 2, 2, 4, 0, -2, -2, 126, 127, -128}));
  EXPECT_EQ(integers<std::int8_t>({0.49999997f, 0.50000006f, -0.50000006f, 1e-30f, -0.0f, 1.4999999f, 2.5000002f}),
            (std::vector{0, 1, -1, 0, 0, 1, 3}));
}

TEST(numeric_convert, int8_range_ends) {
  const std::vector<float> x{-127.4f, -127.6f, -128.0f, -129.0f, -1e6f, 127.4f, 128.0f, 1e6f};
  EXPECT_EQ(integers<std::int8_t>(x), (std::vector{-127, -128, -128, -128, -128, 127, 127, 127}));
  std::vector<int> symmetric;
  for (float v : x) symmetric.push_back(convert<std::int8_t, int8_range::symmetric>(v));
  EXPECT_EQ(symmetric, (std::vector{-127, -127, -127, -127, -127, 127, 127, 127}));
  EXPECT_EQ((convert<std::int8_t, int8_range::full>(-1000.0)), -128);
  EXPECT_EQ((convert<std::int8_t, int8_range::symmetric>(-1000)), -127);
  EXPECT_EQ((convert<std::int8_t, int8_range::symmetric>(nan)), 0);
}

TEST(numeric_convert, unsigned_target_clamps_at_zero) {
  const std::vector<float> x{-5.0f, -0.01f, 0.0f, 0.0625f, 0.1875f, 31.875f, 40.0f};
  std::vector<float> scaled, shifted;
  for (float v : x) {
    scaled.push_back(v / 0.125f);
    shifted.push_back(v / 0.125f + 128.0f);
  }
  EXPECT_EQ(integers<std::uint8_t>(scaled), (std::vector{0, 0, 0, 0, 2, 255, 255}));
  EXPECT_EQ(integers<std::uint8_t>(shifted), (std::vector{88, 128, 128, 128, 130, 255, 255}));
}

TEST(numeric_convert, integer_accumulators_clamp) {
  const auto u8 = [](std::int32_t x) { return int{convert<std::uint8_t>(x)}; };
  EXPECT_EQ((std::vector{u8(-5), u8(100), u8(200), u8(300)}), (std::vector{0, 100, 200, 255}));
  const auto s8 = [](std::int32_t x) { return int{convert<std::int8_t>(x)}; };
  EXPECT_EQ((std::vector{s8(-129), s8(-128), s8(127), s8(128), s8(1 << 30)}), (std::vector{-128, -128, 127, 127, 127}));
  EXPECT_EQ(convert<std::uint8_t>(std::int8_t{-1}), 0);
  EXPECT_EQ(convert<std::int8_t>(std::uint8_t{200}), 127);
  EXPECT_EQ(convert<std::int32_t>(std::int8_t{-128}), -128);
}

TEST(numeric_convert, int32_ends) {
  constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min(),
                         high = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(convert<std::int32_t>(inf), high);
  EXPECT_EQ(convert<std::int32_t>(-inf), low);
  EXPECT_EQ(convert<std::int32_t>(nan), 0);
  EXPECT_EQ(convert<std::int32_t>(static_cast<double>(nan)), 0);
  EXPECT_EQ(convert<std::int32_t>(0x1p31f), high);
  EXPECT_EQ(convert<std::int32_t>(-0x1p31f), low);
  EXPECT_EQ(convert<std::int32_t>(0x1.fffffep30f), 0x7fffff80);
  EXPECT_EQ(convert<std::int32_t>(2147483646.5), 2147483646);
  EXPECT_EQ(convert<std::int32_t>(2147483645.5), 2147483646);
  EXPECT_EQ(convert<std::int32_t>(2147483647.5), high);
  EXPECT_EQ(convert<std::int32_t>(-2147483648.5), low);
  EXPECT_EQ(convert<std::int32_t>(-2147483647.5), low);
  EXPECT_EQ(convert<std::int32_t>(1e300), high);
  EXPECT_EQ(convert<std::int32_t>(0.5 + 0x1p-53), 1);
}

TEST(numeric_convert, fp8_overflow) {
  const std::vector<float> wide{448, 449, 464, 464.1f, 465, 480, 1e30f, inf, -inf, nan, -1000};
  EXPECT_EQ(bytes<e4m3>(wide), (std::vector{0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x7f, 0xfe}));
  const std::vector<float> wider{57344, 61439, 61440, 65536, inf};
  EXPECT_EQ(bytes<e5m2>(wider), (std::vector{0x7b, 0x7b, 0x7b, 0x7b, 0x7b}));

  std::vector<int> open4, open5;
  for (float x : wide) open4.push_back(convert<e4m3, overflow::to_nan>(x).bits);
  for (float x : wider) open5.push_back(convert<e5m2, overflow::to_nan>(x).bits);
  EXPECT_EQ(open4, (std::vector{0x7e, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xff, 0x7f, 0xff}));
  EXPECT_EQ(open5, (std::vector{0x7b, 0x7b, 0x7c, 0x7c, 0x7c}));
  EXPECT_EQ((convert<e4m3, overflow::saturate>(1e30f).bits), 0x7e);
  EXPECT_EQ((convert<e4m3, overflow::to_nan>(464.0 + 0x1p-40).bits), 0x7f);
  EXPECT_EQ((convert<e5m2, overflow::to_nan>(-61440).bits), 0xfc);
  EXPECT_EQ((convert<e5m2, overflow::to_nan>(61439).bits), 0x7b);
}

TEST(numeric_convert, fp8_without_saturation_differs_beyond_the_range_only) {
  const reference<e4m3> four;
  const reference<e5m2> five;
  for (float x : four.hard_floats()) ASSERT_EQ((convert<e4m3, overflow::to_nan>(x).bits), four.nearest(x, false)) << x;
  for (float x : five.hard_floats()) ASSERT_EQ((convert<e5m2, overflow::to_nan>(x).bits), five.nearest(x, false)) << x;
}

TEST(numeric_convert, e4m3_ties_and_subnormals) {
  EXPECT_EQ(static_cast<float>(e4m3(17.0f)), 16.0f);
  EXPECT_EQ(static_cast<float>(e4m3(19.0f)), 20.0f);
  EXPECT_EQ(static_cast<float>(e4m3(256.0f)), 256.0f);
  EXPECT_EQ(e4m3(0x1p-9f).bits, 0x01);
  EXPECT_EQ(e4m3(0x1p-10f).bits, 0x00);
  EXPECT_EQ(e4m3(0x1.000002p-10f).bits, 0x01);
  EXPECT_EQ(e4m3(-0.0f).bits, 0x80);
}

/// What the value x, exact in float64, should become.
template <class To>
void expect_converted(double x, To actual, const char* from) {
  if constexpr (std::is_integral_v<To>) {
    double rounded = std::isnan(x) ? 0.0 : std::nearbyint(x);
    rounded = std::fmin(std::fmax(rounded, std::numeric_limits<To>::lowest()), std::numeric_limits<To>::max());
    ASSERT_EQ(static_cast<double>(actual), rounded) << from << " " << x;
  } else if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(actual)) << from;
    } else {
      ASSERT_EQ(actual, static_cast<To>(x)) << from << " " << x;
      ASSERT_EQ(std::signbit(actual), std::signbit(x)) << from << " " << x;
    }
  } else {
    static const reference<To> ref;
    ASSERT_EQ(actual.bits, ref.nearest(x)) << from << " " << x;
  }
}

template <class From>
void all_targets_from(const std::vector<From>& values) {
  for (From x : values) {
    const double value = static_cast<double>(x);
    const char* name = name_of<From>();
    expect_converted(value, convert<f16>(x), name);
    expect_converted(value, convert<bf16>(x), name);
    expect_converted(value, convert<float>(x), name);
    expect_converted(value, convert<double>(x), name);
    expect_converted(value, convert<std::int32_t>(x), name);
    expect_converted(value, convert<std::int8_t>(x), name);
    expect_converted(value, convert<std::uint8_t>(x), name);
    // No conversion is no overflow: e5m2 keeps its infinity.
    if constexpr (std::is_same_v<From, e5m2>) {
      ASSERT_EQ(convert<e5m2>(x).bits, x.bits);
    } else {
      expect_converted(value, convert<e5m2>(x), name);
    }
    expect_converted(value, convert<e4m3>(x), name);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class From, class Code>
std::vector<From> every_code() {
  std::vector<From> all;
  for (unsigned c = 0; c <= std::numeric_limits<Code>::max(); ++c) {
    const auto x = From::from_bits(static_cast<Code>(c));
    // Same-type conversion keeps a NaN's payload, so NaN has one code here.
    if (x == x || c == reference<From>::nan) all.push_back(x);
  }
  return all;
}

TEST(numeric_convert_pairs, from_f16) { all_targets_from(every_code<f16, std::uint16_t>()); }
TEST(numeric_convert_pairs, from_bf16) { all_targets_from(every_code<bf16, std::uint16_t>()); }
TEST(numeric_convert_pairs, from_e4m3) { all_targets_from(every_code<e4m3, std::uint8_t>()); }
TEST(numeric_convert_pairs, from_e5m2) { all_targets_from(every_code<e5m2, std::uint8_t>()); }
TEST(numeric_convert_pairs, from_float) {
  all_targets_from(special_floats());
  all_targets_from(random_floats(20'000));
  std::vector<float> small;
  for (int i = -1200; i <= 1200; ++i) small.push_back(static_cast<float>(i) / 4);
  all_targets_from(small);
}
TEST(numeric_convert_pairs, from_double) {
  std::vector<double> values;
  std::mt19937_64 bits(7);
  // Exponents from 2^-160 to 2^159, where all targets change.
  for (int i = 0; i < 20'000; ++i) {
    const auto fraction = static_cast<double>(bits() >> 11) * 0x1p-53 + 0.5;
    values.push_back(std::ldexp(i % 2 ? fraction : -fraction, i % 320 - 160));
  }
  for (float x : special_floats()) values.push_back(x);
  for (int i = -1200; i <= 1200; ++i) {
    for (double d : {-0x1p-40, 0.0, 0x1p-40}) values.push_back(i / 4.0 + d);
  }
  all_targets_from(values);
}
TEST(numeric_convert_pairs, from_integers) {
  std::vector<std::int32_t> wide;
  std::vector<std::int8_t> s8;
  std::vector<std::uint8_t> u8;
  std::mt19937 bits(11);
  for (int i = 0; i < 20'000; ++i) wide.push_back(static_cast<std::int32_t>(bits()) >> (i % 31));
  wide.insert(wide.end(),
              {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), 16777217});
  for (int i = 0; i < 256; ++i) {
    s8.push_back(static_cast<std::int8_t>(i - 128));
    u8.push_back(static_cast<std::uint8_t>(i));
  }
  all_targets_from(wide);
  all_targets_from(s8);
  all_targets_from(u8);
}

}  // namespace
}  // namespace kiln::test
