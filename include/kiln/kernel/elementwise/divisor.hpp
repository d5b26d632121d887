#pragma once
/// Exact division by a number that a whole launch shares.
#include <cstdint>
#include <kiln/core/macros.hpp>
#include <kiln/core/types.hpp>

namespace kiln::elementwise {

/// A GPU has no 64-bit division: the compiler calls a function of about a hundred instructions, and spills around it.
/// For n < 2^63 and 2^(l-1) < d <= 2^l, n / d = n * ceil(2^(63+l) / d) >> (63+l), and the factor fits 64 bits (Granlund
/// and Montgomery, "Division by invariant integers using multiplication", 1994, theorem 4.2 with N = 63).
class divisor {
 public:
  divisor() = default;
  /// d >= 0; with 0 nothing may be divided.
  explicit divisor(index_t d) : d_(d) {
    if (d <= 1) return;
    int l = 1;
    while (l < 63 && (index_t{1} << l) < d) ++l;
    const auto scaled = static_cast<wide>(1) << (63 + l);
    factor_ = static_cast<std::uint64_t>((scaled + static_cast<wide>(d) - 1) / static_cast<wide>(d));
    shift_ = l - 1;
  }

  KILN_FN index_t value() const { return d_; }

  /// n / value(), 0 <= n < 2^63.
  KILN_FN index_t of(index_t n) const {
    if (d_ == 1) return n;
#if defined(__CUDA_ARCH__)
    const std::uint64_t high = __umul64hi(static_cast<std::uint64_t>(n), factor_);
#else
    const auto high = static_cast<std::uint64_t>((static_cast<wide>(n) * factor_) >> 64);
#endif
    return static_cast<index_t>(high >> shift_);
  }

 private:
  using wide = __uint128_t;
  index_t d_ = 1;
  std::uint64_t factor_ = 0;
  int shift_ = 0;
};

}  // namespace kiln::elementwise
