#pragma once
/// Softmax of one row whose scores come piece by piece (Milakov, Gimelshein 2018), and the joining of two such rows.
///
/// Scores are in units of log2: a caller multiplies its own by log2(e), so that a weight is one exp2. A row that has
/// seen no key, or only scores of -inf, has weight 0 throughout: its output is 0 and its log-sum-exp -inf, the neutral
/// element of `merge`. NaN among the scores makes the sum NaN.
#include <cmath>

#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/limits.hpp>

namespace kiln {

inline constexpr float log2_e = 1.44269504088896340736f, ln_2 = 0.69314718055994530942f;

namespace detail {
/// 2^x; on the device within 2^-22 of the value, results below 2^-126 become 0.
KILN_FN float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return std::exp2(x);
#endif
}
/// The larger; a NaN is passed over.
KILN_FN float larger_number(float a, float b) { return b > a ? b : a; }
struct larger_of {
  KILN_FN float operator()(float a, float b) const { return larger_number(a, b); }
};
}  // namespace detail

/// What one row knows of its scores so far. Its weighted values, the caller's, are in the same unit: exp2(score - top).
struct online_softmax {
  static constexpr float nothing = -limits<float>::infinity();

  float top = nothing;  ///< largest score so far
  float sum = 0;        ///< of exp2(score - top)

  /// Takes note of a largest score; the factor is for what the caller has summed up so far.
  KILN_FN float raise(float score) {
    const float next = detail::larger_number(top, score);
    const float factor = top == next ? 1.0f : detail::power_of_two(top - next);
    top = next;
    sum *= factor;
    return factor;
  }
  /// The weight of a score that `raise` has taken note of.
  KILN_FN float weight(float score) const { return detail::power_of_two(score - (top == nothing ? 0.0f : top)); }

  /// What the weighted values are multiplied by in the end; 0 if there are none.
  KILN_FN float inverse() const { return sum == 0 ? 0.0f : 1.0f / sum; }

  /// log(sum(exp(score))), natural, of scores in natural units; -inf if there are none.
  KILN_FN float log_sum_exp() const { return sum == 0 ? nothing : top * ln_2 + std::log(sum); }

  /// The row whose weighted values are already divided by their sum, from its natural log-sum-exp.
  KILN_FN static online_softmax of_normalised(float log_sum_exp) {
    return log_sum_exp == nothing ? online_softmax{} : online_softmax{log_sum_exp * log2_e, 1.0f};
  }
};

/// Two parts of one row as one: the weighted values are `first` times those of the first plus `second` times the
/// second's.
struct merged_softmax {
  online_softmax row;
  float first, second;
};
KILN_FN merged_softmax merge(const online_softmax& a, const online_softmax& b) {
  merged_softmax m{a, 1, 1};
  online_softmax other = b;
  m.first = m.row.raise(b.top);
  m.second = other.raise(a.top);
  m.row.sum += other.sum;
  return m;
}

}  // namespace kiln
