// Narrowing and widening of f16, bf16, e4m3 and e5m2, exhaustively where the narrow side is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <kiln/core/numeric.hpp>

#include "tests/core/numeric_reference.hpp"

namespace kiln::test {
namespace {

template <class T>
class numeric_rounding : public ::testing::Test {
 protected:
  static constexpr unsigned codes = 1u << (8 * sizeof(T));
  const reference<T> ref;
};

struct type_names {
  template <class T>
  static std::string GetName(int) {
    return name_of<T>();
  }
};
using narrow_types = ::testing::Types<f16, bf16, e4m3, e5m2>;
TYPED_TEST_SUITE(numeric_rounding, narrow_types, type_names);

TYPED_TEST(numeric_rounding, every_code_widens_to_its_value_and_comes_back) {
  using T = TypeParam;
  for (unsigned c = 0; c < this->codes; ++c) {
    const T narrow = T::from_bits(static_cast<decltype(T::bits)>(c));
    const float value = narrow;
    const unsigned size = c & ~this->ref.sign_bit;
    if (size <= this->ref.largest) {
      const double expected = this->ref.values()[size];
      ASSERT_EQ(std::fabs(static_cast<double>(value)), expected) << c;
      ASSERT_EQ(std::signbit(value), c != size) << c;
      ASSERT_EQ(T(value).bits, c);
      ASSERT_EQ(T(static_cast<double>(value)).bits, c);
      ASSERT_TRUE(narrow == value && !(narrow != value));
    } else if (limits<T>::has_infinity && size == this->ref.largest + 1) {
      ASSERT_EQ(value, c == size ? HUGE_VALF : -HUGE_VALF) << c;
      ASSERT_EQ(convert<float>(narrow), value);
    } else {
      ASSERT_TRUE(std::isnan(value)) << c;
      ASSERT_EQ(T(value).bits, this->ref.nan) << c;
      ASSERT_FALSE(narrow == narrow);
    }
  }
}

TYPED_TEST(numeric_rounding, values_midpoints_and_their_float_neighbours) {
  for (float x : this->ref.hard_floats()) {
    ASSERT_EQ(TypeParam(x).bits, this->ref.nearest(x)) << x;
    ASSERT_EQ(TypeParam(static_cast<double>(x)).bits, this->ref.nearest(x)) << x;
  }
}

TYPED_TEST(numeric_rounding, from_double_rounds_once) {
  for (double x : this->ref.hard_doubles()) ASSERT_EQ(TypeParam(x).bits, this->ref.nearest(x)) << x;
}

TYPED_TEST(numeric_rounding, random_and_special_floats) {
  for (float x : random_floats(200'000)) ASSERT_EQ(TypeParam(x).bits, this->ref.nearest(x)) << x;
  for (float x : special_floats()) {
    ASSERT_EQ(TypeParam(x).bits, this->ref.nearest(x)) << x;
    ASSERT_EQ(TypeParam(static_cast<double>(x)).bits, this->ref.nearest(x)) << x;
  }
  for (double x : {1e300, -1e300, 1e-300, -1e-300, std::numeric_limits<double>::denorm_min(),
                   std::numeric_limits<double>::max()}) {
    ASSERT_EQ(TypeParam(x).bits, this->ref.nearest(x)) << x;
  }
}

TYPED_TEST(numeric_rounding, integers_round_once) {
  using T = TypeParam;
  // Around every power of two the sums below are ties of some format, and one off them on either side.
  for (int i = 0; i < 31; ++i) {
    for (int j = 0; j <= i; ++j) {
      for (int off = -1; off <= 1; ++off) {
        const auto wide = (std::int64_t{1} << i) + (std::int64_t{1} << j) + off;
        if (wide > std::numeric_limits<std::int32_t>::max()) continue;
        const auto x = static_cast<std::int32_t>(wide);
        ASSERT_EQ(T(x).bits, this->ref.nearest(x)) << x;
        ASSERT_EQ(T(-x).bits, this->ref.nearest(-static_cast<double>(x))) << x;
        ASSERT_EQ(T(static_cast<std::uint32_t>(x)).bits, this->ref.nearest(x)) << x;
      }
    }
  }
  for (std::int32_t x : {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    ASSERT_EQ(T(x).bits, this->ref.nearest(x)) << x;
  }
  for (int x = -128; x < 256; ++x) {
    ASSERT_EQ(T(static_cast<std::int16_t>(x)).bits, this->ref.nearest(x)) << x;
    if (x < 128) {
      ASSERT_EQ(T(static_cast<std::int8_t>(x)).bits, this->ref.nearest(x)) << x;
    }
    if (x >= 0) {
      ASSERT_EQ(T(static_cast<std::uint8_t>(x)).bits, this->ref.nearest(x)) << x;
    }
  }
  EXPECT_EQ(T(true).bits, this->ref.nearest(1.0));
}

TYPED_TEST(numeric_rounding, packed_equals_single) {
  using T = TypeParam;
  const auto floats = random_floats(20'000);
  for (std::size_t i = 0; i + 1 < floats.size(); i += 2) {
    const auto both = pack2<T>(floats[i], floats[i + 1]);
    const T lo(floats[i]), hi(floats[i + 1]);
    ASSERT_EQ(both, (lo.bits | static_cast<std::uint32_t>(hi.bits) << (8 * sizeof(T))));
    const auto [a, b] = unpack2<T>(both);
    ASSERT_EQ(bit_cast<std::uint32_t>(a), bit_cast<std::uint32_t>(static_cast<float>(lo)));
    ASSERT_EQ(bit_cast<std::uint32_t>(b), bit_cast<std::uint32_t>(static_cast<float>(hi)));
  }
}

template <class T>
void expect_pairs_widened() {
  for (std::uint32_t both = 0; both < 0x10000; ++both) {
    const two_floats wide = unpack2<f16>(widen2<T>(static_cast<std::uint16_t>(both)));
    const auto [lo, hi] = unpack2<T>(static_cast<std::uint16_t>(both));
    const auto same = [](float x, float y) {
      return std::isnan(y) ? std::isnan(x) : bit_cast<std::uint32_t>(x) == bit_cast<std::uint32_t>(y);
    };
    ASSERT_TRUE(same(wide.lo, lo) && same(wide.hi, hi)) << both;
  }
}
TEST(numeric_widen2, e4m3_is_exact_in_f16) { expect_pairs_widened<e4m3>(); }
TEST(numeric_widen2, e5m2_is_exact_in_f16) { expect_pairs_widened<e5m2>(); }

TEST(numeric_bf16, wide_integers_keep_the_trace_of_cut_bits) {
  // 2^40 is even, the step there is 2^33 for bf16: 2^32 is the tie, and one more is above it. A float loses the one.
  const std::int64_t tie = (std::int64_t{1} << 40) + (std::int64_t{1} << 32);
  EXPECT_EQ(bf16(tie).bits, bf16(0x1p40).bits);
  EXPECT_EQ(bf16(tie + 1).bits, bf16(0x1.02p40).bits);
  EXPECT_EQ(bf16(-tie - 1).bits, bf16(-0x1.02p40).bits);
  EXPECT_EQ(bf16(~std::uint64_t{0}).bits, bf16(0x1p64).bits);
  EXPECT_EQ(bf16(std::numeric_limits<std::int64_t>::min()).bits, bf16(-0x1p63).bits);
  EXPECT_EQ(bf16(0x80800000'00000001).bits, bf16(0x1.02p63).bits);
  EXPECT_EQ(bf16(0x80800000'00000000).bits, bf16(0x1p63).bits);
}

#if defined(__FLT16_MAX__) && defined(__GNUC__) && !defined(__clang__)
TEST(numeric_f16, agrees_with_the_compilers_own_type) {
  const auto own = [](auto x) { return bit_cast<std::uint16_t>(static_cast<_Float16>(x)); };
  const reference<f16> ref;
  for (float x : ref.hard_floats()) ASSERT_EQ(f16(x).bits, own(x)) << x;
  for (double x : ref.hard_doubles()) ASSERT_EQ(f16(x).bits, own(x)) << x;
  for (float x : random_floats(200'000)) {
    if (!std::isnan(x)) {
      ASSERT_EQ(f16(x).bits, own(x)) << x;
    }
  }
  for (unsigned c = 0; c < 0x10000; ++c) {
    const auto value = static_cast<float>(bit_cast<_Float16>(static_cast<std::uint16_t>(c)));
    if (std::isnan(value)) continue;
    ASSERT_EQ(static_cast<float>(f16::from_bits(static_cast<std::uint16_t>(c))), value) << c;
  }
}
#endif

}  // namespace
}  // namespace kiln::test
