#pragma once
/// Rounding to a narrow floating format in integer arithmetic: the host's path, constant expressions, and the device's
/// path where an architecture has no instruction. Nothing here depends on the rounding mode or on flush-to-zero flags.
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <kiln/core/bits.hpp>
#include <kiln/core/macros.hpp>

namespace kiln::detail {

/// `fraction` bits are stored; 2^min_exponent is the smallest normal magnitude. Codes are without sign: the largest
/// finite one, what a rounded magnitude above it becomes, and the NaN that conversions produce (the device's
/// instructions' NaN).
struct f16_format {
  using code = std::uint16_t;
  static constexpr int fraction = 10, min_exponent = -14;
  static constexpr code largest = 0x7bff, beyond = 0x7c00, nan = 0x7fff;
};
struct bf16_format {
  using code = std::uint16_t;
  static constexpr int fraction = 7, min_exponent = -126;
  static constexpr code largest = 0x7f7f, beyond = 0x7f80, nan = 0x7fff;
};
/// e4m3 and e5m2: "FP8 Formats for Deep Learning" (Micikevicius and others, 2022), table 1.
struct e4m3_format {
  using code = std::uint8_t;
  static constexpr int fraction = 3, min_exponent = -6;
  static constexpr code largest = 0x7e, beyond = 0x7f, nan = 0x7f;
};
struct e5m2_format {
  using code = std::uint8_t;
  static constexpr int fraction = 2, min_exponent = -14;
  static constexpr code largest = 0x7b, beyond = 0x7c, nan = 0x7f;
};
struct f32_format {
  using code = std::uint32_t;
  static constexpr int fraction = 23, min_exponent = -126;
  static constexpr code largest = 0x7f7fffff, beyond = 0x7f800000, nan = 0x7fffffff;
};

template <class Source>
struct wide;
template <>
struct wide<float> {
  using code = std::uint32_t;
  static constexpr int fraction = 23, bias = 127;
};
template <>
struct wide<double> {
  using code = std::uint64_t;
  static constexpr int fraction = 52, bias = 1023;
};

/// Divides by 2^shift, to nearest, ties to even. 1 <= shift < width of Word, and the top bit of x is clear.
template <class Word>
KILN_FN constexpr Word shift_right_to_even(Word x, int shift) {
  const Word below_half = (Word{1} << (shift - 1)) - 1;
  return static_cast<Word>((x + below_half + ((x >> shift) & 1)) >> shift);
}

/// Rounds once, to nearest, ties to even. What rounds above the largest finite magnitude becomes that magnitude when
/// `Saturate`, and else the format's infinity, or its NaN where it has none. NaN stays NaN, its sign and payload do
/// not.
template <class Format, bool Saturate, class Source>
KILN_FN constexpr typename Format::code encode(Source x) {
  using from = wide<Source>;
  using word = typename from::code;
  using code = typename Format::code;
  constexpr int width = static_cast<int>(sizeof(word)) * 8;
  constexpr word infinity = (~word{0} >> 1) >> from::fraction << from::fraction;

  const word all = bit_cast<word>(x);
  const word magnitude = all & (~word{0} >> 1);
  if (magnitude > infinity) return Format::nan;

  const int field = static_cast<int>(magnitude >> from::fraction);
  const int exponent = (field == 0 ? 1 : field) - from::bias;
  const word fraction = magnitude & ((word{1} << from::fraction) - 1);
  const word significand = field == 0 ? fraction : fraction | word{1} << from::fraction;

  // Below the smallest normal the step between codes stops shrinking, so more bits fall off. Past fraction + 2 of them
  // less than half a step is left.
  const int below = exponent < Format::min_exponent ? Format::min_exponent - exponent : 0;
  const int shift = from::fraction - Format::fraction + below;
  constexpr int farthest = from::fraction + 2;
  const word rounded = shift_right_to_even(significand, shift < farthest ? shift : farthest);
  // The implicit bit, and a carry out of the fraction, add one to the exponent field by themselves.
  const word field_above = below != 0 ? word{0} : static_cast<word>(exponent - Format::min_exponent);
  word result = (field_above << Format::fraction) + rounded;
  if (result > Format::largest) result = Saturate ? Format::largest : Format::beyond;

  const word sign = all >> (width - 1);
  return static_cast<code>(result | sign << (sizeof(code) * 8 - 1));
}

/// An integer as a float that still rounds to any format of 15 bits or fewer as the integer itself would: exact below
/// 2^24; above, bits past the 17th or later are cut and leave their trace in the last bit kept (rounding to odd: Boldo
/// and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
template <std::integral Integer>
KILN_FN constexpr float float_to_odd(Integer x) {
  if constexpr (sizeof(Integer) <= 2) {
    return static_cast<float>(x);
  } else {
    using word = std::conditional_t<sizeof(Integer) <= 4, std::uint32_t, std::uint64_t>;
    bool negative = false;
    if constexpr (std::is_signed_v<Integer>) negative = x < 0;
    word magnitude = negative ? word{0} - static_cast<word>(x) : static_cast<word>(x);
    int cut = 0;
    while ((magnitude >> cut) >> 24 != 0) cut += 8;
    const word rest = magnitude & ((word{1} << cut) - 1);
    magnitude = ((magnitude >> cut) | static_cast<word>(rest != 0)) << cut;
    const float exact = static_cast<float>(magnitude);
    return negative ? -exact : exact;
  }
}

}  // namespace kiln::detail
