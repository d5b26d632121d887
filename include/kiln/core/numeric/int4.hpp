#pragma once
/// Two signed 4-bit integers in one byte.
#include <cstdint>

#include <kiln/core/macros.hpp>

namespace kiln {

/// Element 0 is the low nibble, element 1 the high one; two's complement, -8 to 7.
struct int4x2 {
  std::uint8_t bits;

  KILN_FN static constexpr int4x2 from_bits(std::uint8_t code) { return int4x2{code}; }
  /// Clamps both to -8..7.
  KILN_FN static constexpr int4x2 make(int lo, int hi) {
    return int4x2{static_cast<std::uint8_t>(nibble(lo) | nibble(hi) << 4)};
  }

  KILN_FN constexpr int lo() const { return static_cast<std::int8_t>(bits << 4) >> 4; }
  KILN_FN constexpr int hi() const { return static_cast<std::int8_t>(bits) >> 4; }

  friend constexpr bool operator==(const int4x2&, const int4x2&) = default;

 private:
  KILN_FN static constexpr unsigned nibble(int x) { return static_cast<unsigned>(x < -8 ? -8 : x > 7 ? 7 : x) & 0xfu; }
};

static_assert(sizeof(int4x2) == 1 && alignof(int4x2) == 1);

}  // namespace kiln
