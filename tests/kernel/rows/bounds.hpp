#pragma once
/// Views and error bounds shared by the tests of row kernels.
#include <cmath>
#include <kiln/core/numeric.hpp>
#include <kiln/view/tensor.hpp>
#include <vector>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {

using sizes = std::vector<std::size_t>;

inline constexpr double unit = 0x1p-24;  // float32's rounding error, relative

/// Largest error of rounding `exact` to T once, plus what a float32 result may lose below its normal range.
template <class T>
double store_error(double exact) {
  const double step = std::ldexp(1.0, -limits<T>::digits), least = as_double(limits<T>::smallest());
  return std::abs(exact) * step + least + 0x1p-126;
}

/// Roundings on the longest path of a float32 sum of n terms: every configuration keeps at least 16 accumulators, each
/// of which adds every 16th element or fewer, 4096 of them before its sum is closed and added to one of such sums, and
/// joins them pairwise or over at most 32 warps.
inline double depth(double n) { return std::fmin(n / 16, 4096) + n / (16 * 4096) + 4 + 5 + 32; }

/// A view in the executor's memory with strides of one's own.
template <class E, class T, int R>
auto strided_on(T* data, const index_t (&extents)[R], const index_t (&strides)[R]) {
  if constexpr (E::on_host) {
    return host_view(data, extents, strides);
  } else {
#if defined(__CUDACC__)
    return device_view(data, extents, strides);
#endif
  }
}

/// A row-major matrix whose rows are `pitch` apart.
template <class E, class T>
auto pitched_on(T* data, index_t m, index_t n, index_t pitch) {
  auto v = view_on<E>(data, m, n);
  v.strides[0] = pitch;
  return v;
}

template <class T>
std::vector<T> values_of(std::size_t count, double (*f)(std::size_t)) {
  std::vector<T> r(count);
  for (std::size_t i = 0; i < count; ++i) r[i] = value_of<T>(f(i));
  return r;
}

/// Fails with the first of `got` that is further from `expected` than `bound`; equal infinities and NaNs agree.
template <class T>
::testing::AssertionResult near(const std::vector<T>& got, const std::vector<double>& expected,
                                const std::vector<double>& bound) {
  if (got.size() != expected.size())
    return ::testing::AssertionFailure() << got.size() << " values, expected " << expected.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = as_double(got[i]), y = expected[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y || std::abs(x - y) <= bound[i]) continue;
    return ::testing::AssertionFailure() << "element " << i << " is " << x << ", expected " << y << " within "
                                         << bound[i] << ", differs by " << std::abs(x - y);
  }
  return ::testing::AssertionSuccess();
}

}  // namespace kiln::test
