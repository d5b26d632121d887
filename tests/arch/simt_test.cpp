#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <kiln/arch/simt.hpp>
#include <kiln/core/numeric.hpp>
#include <limits>

#include "tests/support/fill.hpp"

namespace {
using namespace kiln;

TEST(simt, fma_rounds_once) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is lost if the product is rounded before the sum.
  const float x = 1 + 0x1p-12f;
  EXPECT_EQ(simt::fma(x, x, -1 - 0x1p-11f), 0x1p-24f);
  EXPECT_EQ(simt::fma(1 + 0x1p-30, 1 + 0x1p-30, -1 - 0x1p-29), 0x1p-60);
  EXPECT_TRUE(std::isnan(simt::fma(0.f, std::numeric_limits<float>::infinity(), 1.f)));
}

TEST(simt, integers_are_exact_and_wrap) {
  EXPECT_EQ(simt::fma<std::int8_t>(-128, -128, 5), 16389);
  EXPECT_EQ(simt::fma<std::uint8_t>(255, 255, -1), 65024);
  EXPECT_EQ(simt::fma<std::int8_t>(-128, 127, 0), -16256);
  EXPECT_EQ(simt::fma<std::int8_t>(1, 1, std::numeric_limits<std::int32_t>::max()),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(simt::fma<std::int32_t>(-3, 1 << 30, 0), 1 << 30);
}

TEST(simt, narrow_floats_are_widened_before_they_are_multiplied) {
  EXPECT_EQ(simt::fma(f16(300.f), f16(300.f), 0.f), 90000.f) << "beyond what f16 can hold";
  EXPECT_EQ(simt::fma(bf16(1.0078125f), bf16(1.0078125f), 0.f), 1.0078125f * 1.0078125f);
}

template <class T>
class simt_tile : public ::testing::Test {};
using tile_types = ::testing::Types<float, double, f16, bf16, std::int8_t, std::int32_t>;
TYPED_TEST_SUITE(simt_tile, tile_types);

TYPED_TEST(simt_tile, adds_the_outer_product) {
  using acc = simt::accumulator_t<TypeParam>;
  const auto hashed = test::small_integers<TypeParam>(12, 5);
  TypeParam a[5], b[7];
  for (std::size_t i = 0; i < 5; ++i) a[i] = hashed[i];
  for (std::size_t i = 0; i < 7; ++i) b[i] = hashed[5 + i];
  acc sum[35];
  for (int i = 0; i < 35; ++i) sum[i] = static_cast<acc>(i);
  simt::fma_tile<5, 7>(a, b, sum);
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 7; ++n)
      EXPECT_EQ(static_cast<double>(sum[m * 7 + n]), m * 7 + n + test::as_double(a[m]) * test::as_double(b[n]));
}

}  // namespace
