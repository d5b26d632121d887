#pragma once
/// The narrow floats from their definition: all values by ldexp, rounding by search among them in float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <kiln/core/numeric.hpp>

namespace kiln::test {

template <class T>
struct definition;
template <>
struct definition<f16> {
  static constexpr int exponent_bits = 5, fraction_bits = 10, bias = 15;
  static constexpr unsigned largest = 0x7bff, nan = 0x7fff;
  static constexpr bool saturates = false;
};
template <>
struct definition<bf16> {
  static constexpr int exponent_bits = 8, fraction_bits = 7, bias = 127;
  static constexpr unsigned largest = 0x7f7f, nan = 0x7fff;
  static constexpr bool saturates = false;
};
template <>
struct definition<e4m3> {
  static constexpr int exponent_bits = 4, fraction_bits = 3, bias = 7;
  static constexpr unsigned largest = 0x7e, nan = 0x7f;
  static constexpr bool saturates = true;
};
template <>
struct definition<e5m2> {
  static constexpr int exponent_bits = 5, fraction_bits = 2, bias = 15;
  static constexpr unsigned largest = 0x7b, nan = 0x7f;
  static constexpr bool saturates = true;
};

template <class T>
class reference : public definition<T> {
  using def = definition<T>;

 public:
  static constexpr unsigned sign_bit = 1u << (8 * sizeof(T) - 1);

  /// Magnitude of a sign-less finite code. Also gives the value that the code above the largest finite one would have.
  static double magnitude(unsigned code) {
    const int field = static_cast<int>(code >> def::fraction_bits);
    const int fraction = static_cast<int>(code & ((1u << def::fraction_bits) - 1));
    const int scale = (field == 0 ? 1 : field) - def::bias - def::fraction_bits;
    return std::ldexp(field == 0 ? fraction : fraction + (1 << def::fraction_bits), scale);
  }

  reference() {
    for (unsigned code = 0; code <= def::largest + 1; ++code) values_.push_back(magnitude(code));
  }

  /// All sign-less finite values in order, and one step more.
  const std::vector<double>& values() const { return values_; }
  double midpoint(unsigned code) const { return (values_[code] + values_[code + 1]) / 2; }

  unsigned nearest(double x, bool saturate = def::saturates) const {
    if (std::isnan(x)) return def::nan;
    const unsigned sign = std::signbit(x) ? sign_bit : 0;
    const double size = std::fabs(x);
    unsigned code = def::largest + 1;
    if (size < values_.back()) {
      code = static_cast<unsigned>(std::upper_bound(values_.begin(), values_.end(), size) - values_.begin()) - 1;
      const double middle = midpoint(code);
      if (size > middle || (size == middle && code % 2 == 1)) ++code;
    }
    if (saturate && code > def::largest) code = def::largest;
    return sign | code;
  }

  /// Every value, every midpoint of neighbours, and the floats next to each, with both signs.
  std::vector<float> hard_floats() const {
    std::vector<float> all;
    const float top = std::numeric_limits<float>::infinity();
    const auto add = [&](double x) {
      const float middle = static_cast<float>(x);
      for (float f : {std::nextafter(middle, -top), middle, std::nextafter(middle, top)}) {
        all.push_back(f);
        all.push_back(-f);
      }
    };
    for (unsigned code = 0; code <= def::largest; ++code) {
      add(values_[code]);
      add(midpoint(code));
    }
    return all;
  }

  /// Every midpoint and the doubles next to it: through float, all three would look like ties.
  std::vector<double> hard_doubles() const {
    std::vector<double> all;
    const double top = std::numeric_limits<double>::infinity();
    for (unsigned code = 0; code <= def::largest; ++code) {
      const double middle = midpoint(code);
      for (double d : {std::nextafter(middle, -top), middle, std::nextafter(middle, top)}) {
        all.push_back(d);
        all.push_back(-d);
      }
    }
    return all;
  }

 private:
  std::vector<double> values_;
};

/// Floats with random bits: every exponent, subnormals, infinities and NaNs among them.
inline std::vector<float> random_floats(std::size_t count) {
  std::mt19937 bits(20230517);
  std::vector<float> all;
  while (all.size() < count) all.push_back(bit_cast<float>(static_cast<std::uint32_t>(bits())));
  return all;
}

inline std::vector<float> special_floats() {
  using lim = std::numeric_limits<float>;
  return {0.0f,
          -0.0f,
          lim::min(),
          -lim::min(),
          lim::denorm_min(),
          -lim::denorm_min(),
          lim::max(),
          lim::lowest(),
          lim::infinity(),
          -lim::infinity(),
          lim::quiet_NaN(),
          -lim::quiet_NaN(),
          bit_cast<float>(0x7f800001u),
          bit_cast<float>(0xffffffffu)};
}

}  // namespace kiln::test
