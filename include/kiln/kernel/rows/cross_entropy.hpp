#pragma once
/// The program of the cross-entropy of rows of logits.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/extreme.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// The largest value seen and the sum of exp(value - largest): both of a row from one reading of it (Milakov and
/// Gimelshein, Online normalizer calculation for softmax, 2018), a chunk at a time.
struct running_exponentials {
  float top = -infinity, sum = 0;

  /// exp of what the lesser of two values lies below the larger; equal ones, infinities too, are 0 apart.
  KILN_FN static float ratio(float a, float b) { return a == b ? 1.0f : quick_exponential(-magnitude(a - b)); }

  /// Adds the first n of a chunk, whose largest is `largest`.
  template <int Width>
  KILN_FN void add(const chunk<float, Width>& x, int n, float largest) {
    const float now = maximum_of{}(top, largest);
    float e[Width];
    if (is_finite(now)) {
      sum *= quick_exponential(top - now);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) e[i] = i < n ? quick_exponential(x[i] - now) : 0.0f;
    } else {
      sum *= ratio(top, now);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) e[i] = i < n ? ratio(x[i], now) : 0.0f;
    }
    KILN_UNROLL
    for (int w = Width / 2; w > 0; w /= 2) {
      KILN_UNROLL
      for (int i = 0; i < w; ++i) e[i] += e[i + w];
    }
    sum += e[0];
    top = now;
  }

  struct joined {
    KILN_FN running_exponentials operator()(const running_exponentials& a, const running_exponentials& b) const {
      const float e = ratio(a.top, b.top);
      return a.top < b.top ? running_exponentials{b.top, a.sum * e + b.sum}
                           : running_exponentials{a.top, b.sum * e + a.sum};
    }
  };
};

template <class X, class Id>
struct cross_entropy_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 2;
  static constexpr bool few_registers = true;
  static constexpr bool fits_wide_block = false;  // most rows are read once, so there is nothing to hold long ones for
  static constexpr float scale_down = 0x1p-64f;
  struct lines {
    line<const X> x;
    const Id* target;
    float *loss, *log_sum;
  };

  operand<const X> x;
  operand<const Id> targets;
  operand<float> loss, log_sum;  ///< `log_sum` without data is not written
  index_t ignored;
  float smoothing;
  std::int32_t* flag;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  KILN_FN lines at(index_t r) const {
    return {x.at(r), targets.data + targets.offset(r), loss.data + loss.offset(r),
            log_sum.data == nullptr ? nullptr : log_sum.data + log_sum.offset(r)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    using state = running_exponentials;
    const state all = one.fold(
        state{},
        [&](state& s, index_t, int n, const chunk<X, Row::width>& kept) {
          s.add(one.values(kept), n, one.template find<extreme::largest>(kept, n));
        },
        [](const state& s) { return s; }, state::joined{});
    // Distances from the largest, so that logits far from zero cost their mean no digits; in units that no sum of them
    // leaves float32 in, for classes are often masked by its lowest number.
    float below = 0;
    if (smoothing > 0) {
      const float t = all.top * scale_down;
      below = one.reduce(
                  0.0f, [=](float a, float v, index_t) { return a + (t - v * scale_down); }, sum_of{}) /
              static_cast<float>(one.length());
    }
    one.once([&] {
      const float log_of_sum = logarithm(all.sum);
      if (one.lines.log_sum != nullptr) *one.lines.log_sum = all.top + log_of_sum;
      *one.lines.loss = loss_of(one.lines, one.length(), all.top, log_of_sum, below);
    });
  }

 private:
  KILN_FN float loss_of(const lines& l, index_t classes, float top, float log_of_sum, float below) const {
    const auto target = static_cast<index_t>(*l.target);
    if (target == ignored) return 0;
    if (target < 0 || target >= classes) {
      if (flag != nullptr) *flag = 1;
      return limits<float>::quiet_nan();
    }
    if (top == infinity) return limits<float>::quiet_nan();
    const auto logit = static_cast<float>(l.x[target]);
    if (smoothing == 0) return log_of_sum + (top - logit);
    // Half the distance of two finite numbers is finite, and so is its part of the loss where the loss is.
    const float half = top * 0.5f - logit * 0.5f;
    if (half == infinity) return half;
    return log_of_sum + (1 - smoothing) * half * 2 + smoothing * below * (1 / scale_down);
  }
};

}  // namespace kiln::rows
