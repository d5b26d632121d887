#pragma once
/// Floats as unsigned integers of the same order, NaN above all, and -0 equal to 0.
#include <kiln/core/types.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

KILN_FN std::uint32_t ordered_bits(float x) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(x == 0 ? 0.0f : x);
  return is_nan(x) ? 0xffffffffu : (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
/// The number with these bits.
KILN_FN float unordered(std::uint32_t bits) { return bit_cast<float>((bits >> 31) != 0 ? bits & 0x7fffffffu : ~bits); }

/// A value and its column in one number: the greatest key is the largest value, NaN above all, at the lowest column.
KILN_FN std::uint64_t key_of_bits(std::uint32_t bits, index_t column) {
  return (static_cast<std::uint64_t>(bits) << 32) | (0xffffffffu - static_cast<std::uint32_t>(column));
}
KILN_FN std::uint64_t key_of(float x, index_t column) { return key_of_bits(ordered_bits(x), column); }
KILN_FN std::int32_t column_of(std::uint64_t key) {
  return static_cast<std::int32_t>(0xffffffffu - static_cast<std::uint32_t>(key));
}
/// True unless the key's value is NaN or infinite: above +inf lie only NaNs, below -inf nothing.
KILN_FN bool is_finite_key(std::uint64_t key) {
  const auto bits = static_cast<std::uint32_t>(key >> 32);
  return bits < (0x7f800000u | 0x80000000u) && bits > ~0xff800000u;
}

}  // namespace kiln::rows
