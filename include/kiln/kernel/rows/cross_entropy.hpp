#pragma once
/// The program of the cross-entropy of rows of logits.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// The largest value seen and the sum of exp(value - largest): both of a row from one reading of it (Milakov and
/// Gimelshein, Online normalizer calculation for softmax, 2018). One number of 8 bytes, so that `reduce` takes it.
struct running_exponentials {
  float top, sum;

  KILN_FN static running_exponentials of(std::uint64_t bits) { return bit_cast<running_exponentials>(bits); }
  KILN_FN std::uint64_t bits() const { return bit_cast<std::uint64_t>(*this); }

  /// Of nothing.
  KILN_FN static std::uint64_t none() { return running_exponentials{-infinity, 0}.bits(); }

  /// exp of what the lesser of two values lies below the larger; equal ones, infinities too, are 0 apart.
  KILN_FN static float ratio(float a, float b) { return a == b ? 1.0f : exponential(-magnitude(a - b)); }

  struct with_value {
    KILN_FN std::uint64_t operator()(std::uint64_t bits, float v, index_t) const {
      const running_exponentials a = of(bits);
      const float e = ratio(a.top, v);
      return v > a.top ? running_exponentials{v, a.sum * e + 1}.bits() : running_exponentials{a.top, a.sum + e}.bits();
    }
  };
  struct joined {
    KILN_FN std::uint64_t operator()(std::uint64_t x, std::uint64_t y) const {
      const running_exponentials a = of(x), b = of(y);
      const float e = ratio(a.top, b.top);
      return a.top < b.top ? running_exponentials{b.top, a.sum * e + b.sum}.bits()
                           : running_exponentials{a.top, b.sum * e + a.sum}.bits();
    }
  };
};

template <>
inline constexpr bool rounds<running_exponentials::joined, std::uint64_t> = true;

template <class X, class Id>
struct cross_entropy_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 2;
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
    const state all = state::of(one.reduce(state::none(), state::with_value{}, state::joined{}));
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
