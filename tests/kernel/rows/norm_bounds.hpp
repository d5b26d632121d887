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

/// LayerNorm, with errors that follow the kernel's steps: distances from a number, one rounding each, their sum and the
/// mean; the sum of their squares, less the sum times the mean. The number is the row's first value, unless the
/// variance is less than a part in 16 of the mean square of the distances from that: then it is the mean.
template <class Y>
reference layer_reference(const std::vector<double>& x, const std::vector<double>& w, const std::vector<double>& b,
                          double epsilon) {
  reference r;
  const std::size_t cols = w.size();
  const auto n = static_cast<double>(cols);
  for (std::size_t i = 0; i < x.size() / cols; ++i) {
    const double* v = x.data() + i * cols;
    double mean = 0, spread = 0, variance = 0;
    for (std::size_t c = 0; c < cols; ++c) mean += v[c] / n, spread += std::abs(v[c] - v[0]) / n;
    for (std::size_t c = 0; c < cols; ++c) variance += (v[c] - mean) * (v[c] - mean) / n;
    const double mean_error = unit * (depth(n) + 3) * spread;
    double term_error = 0;
    for (std::size_t c = 0; c < cols; ++c)
      term_error = std::max(term_error, unit * (std::abs(v[c] - v[0]) + std::abs(v[c] - mean)) + mean_error);
    // A sum of n squares errs by depth + 3 units of itself, the sum times the mean by twice as many and 3 more.
    const double distances = std::min(variance + (mean - v[0]) * (mean - v[0]), 16.1 * variance);
    const double variance_error = unit * (3 * depth(n) + 9) * distances;
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
