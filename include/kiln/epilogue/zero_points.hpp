#pragma once
/// Integer products of operands with zero points, as expressions of int32.
///
/// Codes a and b stand for sa (a - za) and sb (b - zb), so the sum over k of their products is sa sb times
///
///     acc - za * sums_b - zb * (sums_a - k * za)
///
/// where sums_b[j] is the sum of column j of B's codes and sums_a[i] that of row i of A's. Weights without zero points
/// (zb = 0) need the first correction only, and their sums once. All of it is int32 and wraps, so it is exact where the
/// corrected sum fits int32, whatever the parts do.
///
///     // The columns' sums, exactly, by a product with a row of ones:
///     gemm(ex, ones, b, store(sums, acc));
///     gemm(ex, a, b, store(d, without_zero_points(per_row(za), per_column(sums)) * per_row(sa) * per_column(sb)));
#include <kiln/epilogue/arithmetic.hpp>
#include <kiln/epilogue/leaves.hpp>

namespace kiln {

/// Zero points of A: `za` is per_row, per_tensor or an int, `sums_b` per_column of int32.
template <class ZeroA, class SumsB>
constexpr auto without_zero_points(const ZeroA& za, const SumsB& sums_b) {
  return acc - za * sums_b;
}
/// Zero points of both: `zb` is per_column, per_tensor or an int, `sums_a` per_row of int32, `k` the length of the
/// sums.
template <class ZeroA, class SumsB, class ZeroB, class SumsA>
constexpr auto without_zero_points(const ZeroA& za, const SumsB& sums_b, const ZeroB& zb, const SumsA& sums_a, int k) {
  return acc - za * sums_b - zb * (sums_a - za * k);
}

}  // namespace kiln
