#pragma once
/// Sums that the mean and the variance of a row come from.
#include <kiln/kernel/rows/access.hpp>

namespace kiln::rows {

/// a + b without its rounding error, and the error.
struct exact_sum {
  float high, low;
  KILN_FN static exact_sum of(float a, float b) {
    const float high = a + b, of_b = high - a;
    return {high, (a - (high - of_b)) + (b - of_b)};
  }
};

/// Of values: the sum of their distances from a number, and of the squares of these.
struct alignas(8) distances {
  float sum, squares;
  struct joined {
    KILN_FN distances operator()(const distances& a, const distances& b) const {
      return {a.sum + b.sum, a.squares + b.squares};
    }
  };
};

/// Those of values times a unit that one thread has.
template <int Width>
class distances_of {
 public:
  KILN_FN distances_of(float from, float unit) : from_(from), unit_(unit) {}

  /// Takes the first n of a chunk.
  KILN_FN void add(const chunk<float, Width>& x, int n) {
    KILN_UNROLL
    for (int v = 0; v < Width; ++v) {
      if (v < n) {
        const float away = x[v] * unit_ - from_;
        sum_[v % some] += away, squares_[v % some] += away * away;
      }
    }
  }
  KILN_FN distances all() const {
    distances r{sum_[0], squares_[0]};
    KILN_UNROLL
    for (int v = 1; v < some; ++v) r.sum += sum_[v], r.squares += squares_[v];
    return r;
  }

 private:
  static constexpr int some = Width < 4 ? Width : 4;  // accumulators, lest they take the registers of the row
  float from_, unit_, sum_[some] = {}, squares_[some] = {};
};

}  // namespace kiln::rows
