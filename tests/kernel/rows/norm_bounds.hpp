#pragma once
/// Norms in float64, and how far the row kernels' float32 may be from them.
#include <algorithm>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {

struct reference {
  std::vector<double> value, bound;
};

/// RMSNorm of rows of exact values; `entry` is the relative error that these have on entry.
template <class Y>
reference rms_reference(const std::vector<double>& x, const std::vector<double>& w, double epsilon, double entry) {
  reference r;
  const std::size_t cols = w.size();
  for (std::size_t i = 0; i < x.size() / cols; ++i) {
    double squares = 0;
    for (std::size_t c = 0; c < cols; ++c) squares += x[i * cols + c] * x[i * cols + c];
    const double factor = 1 / std::sqrt(squares / static_cast<double>(cols) + epsilon);
    // The square root halves the errors of the sum and the division; the reciprocal root errs by up to 2 ulp.
    const double relative = entry * 2 + unit * (0.5 * (depth(static_cast<double>(cols)) + 3) + 4 + 3);
    for (std::size_t c = 0; c < cols; ++c) {
      const double y = x[i * cols + c] * factor * w[c];
      r.value.push_back(y);
      r.bound.push_back(std::abs(y) * relative + store_error<Y>(y));
    }
  }
  return r;
}

/// LayerNorm, with errors that follow the kernel's steps. A row that is read again: differences from the first value,
/// their mean, a second pass. A row that is held, in one pass: a thread's values, up to 64, are measured from its
/// first, so that differences are up to the row's range, and their sums take 20 roundings each (16 additions of an
/// accumulator, 2 of four); the mean is off by those and by 3 more for each of 5 + 5 + 3 joints. Their squares, less
/// the sum times the mean, are off by 20 + 2 * 20 + 4 units of the range's square.
template <class Y>
reference layer_reference(const std::vector<double>& x, const std::vector<double>& w, const std::vector<double>& b,
                          double epsilon) {
  reference r;
  const std::size_t cols = w.size();
  const auto n = static_cast<double>(cols);
  for (std::size_t i = 0; i < x.size() / cols; ++i) {
    const double* v = x.data() + i * cols;
    double mean = 0, spread = 0, variance = 0;
    const auto [least, most] = std::minmax_element(v, v + cols);
    const double range = *most - *least;
    for (std::size_t c = 0; c < cols; ++c) mean += v[c] / n, spread += std::abs(v[c] - v[0]) / n;
    for (std::size_t c = 0; c < cols; ++c) variance += (v[c] - mean) * (v[c] - mean) / n;
    const double mean_error = unit * ((depth(n) + 3) * spread + (20 + 3 * 13) * range);
    double term_error = 0;
    for (std::size_t c = 0; c < cols; ++c)
      term_error = std::max(term_error, unit * (std::abs(v[c] - v[0]) + std::abs(v[c] - mean)) + mean_error);
    const double variance_error =
        2 * std::sqrt(variance) * term_error + term_error * term_error + unit * (depth(n) + 3) * variance +
        unit * (20 + 2 * 20 + 4) * range * range;
    const double factor = 1 / std::sqrt(variance + epsilon);
    const double relative = std::min(0.5 * variance_error / (variance + epsilon) * 1.01, 1.0) + unit * 6;
    for (std::size_t c = 0; c < cols; ++c) {
      const double t = (v[c] - mean) * factor * w[c], y = t + b[c];
      r.value.push_back(y);
      r.bound.push_back(term_error * factor * std::abs(w[c]) + std::abs(t) * relative +
                        unit * 2 * (std::abs(t) + std::abs(b[c])) + store_error<Y>(y));
    }
  }
  return r;
}

}  // namespace kiln::test
