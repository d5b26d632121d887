#pragma once
/// Mean and variance of parts of a row, and of parts joined.
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

/// Of a part of a row: how many, their mean, and the sum of squares of distances from it. Parts are joined by their
/// means (Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979).
struct alignas(16) moments {
  float count, mean, squares;

  /// Of count values whose distances from a number, and the squares of these, have the sums given.
  KILN_FN static moments of(float count, float sum, float squares) {
    const float mean = count > 0 ? sum / count : 0, rest = squares - sum * mean;
    return {count, mean, rest < 0 ? 0 : rest};
  }
  struct of_equal_parts {
    float count;  ///< of the part of one thread
    KILN_FN moments operator()(const moments& a, const moments& b, int step) const {
      const float away = a.mean - b.mean, n = count * static_cast<float>(step);
      return {2 * n, (a.mean + b.mean) * 0.5f, (a.squares + b.squares) + away * away * (0.5f * n)};
    }
  };
  struct joined {
    KILN_FN moments operator()(const moments& a, const moments& b) const {
      const float n = a.count + b.count;
      if (n == 0) return a;
      const float away = a.mean - b.mean, of_a = a.count / n, of_b = b.count / n;
      // Two products and a sum, lest either operand be preferred.
      return {n, product(a.mean, of_a) + product(b.mean, of_b),
              (a.squares + b.squares) + away * away * (product(a.count, b.count) / n)};
    }
    template <class Results>
    KILN_FN moments operator()(const Results& of) const {
      const float all = of.sum([](const moments& m) { return m.count; });
      const float middle = of.sum([](const moments& m) { return m.count * m.mean; }) / all;
      const float sum = of.sum([=](const moments& m) {
        const float away = m.mean - middle;
        return m.squares + m.count * (away * away);
      });
      return {all, middle, sum};
    }

   private:
    KILN_FN static float product(float a, float b) {
#if defined(__CUDA_ARCH__)
      return __fmul_rn(a, b);
#else
      return a * b;
#endif
    }
  };
};

/// Those of values times a unit that one thread has, measured from the first of them.
template <int Width>
class moments_in_one_pass {
 public:
  KILN_FN moments_in_one_pass(float first, float unit) : unit_(unit), from_(first * unit) {}

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
  /// With the mean of `count` values relative to `start`.
  KILN_FN moments all(int count, float start) const {
    float sum = sum_[0], squares = squares_[0];
    KILN_UNROLL
    for (int v = 1; v < some; ++v) sum += sum_[v], squares += squares_[v];
    moments m = moments::of(static_cast<float>(count), sum, squares);
    m.mean += from_ - start;
    return m;
  }

 private:
  static constexpr int some = Width < 4 ? Width : 4;  // accumulators, lest they take the registers of the row
  float unit_, from_, sum_[some] = {}, squares_[some] = {};
};

}  // namespace kiln::rows
