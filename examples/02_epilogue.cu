// A fused epilogue: bias, GELU and residual on the product's way out, stored in two types and reduced along its rows,
// in one kernel. Without fusion that would be five, each of which reads and writes the whole matrix.
#include <cmath>
#include <kiln/gemm.hpp>

#include "buffers.hpp"

using namespace kiln;

double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

template <class Executor>
bool feed_forward(Executor ex, const char* where) {
  constexpr int m = 70, n = 40, k = 33;
  example::array<Executor, bf16> x(m * k), weight(k * n), y(m * n);
  example::array<Executor, float> bias(n), residual(m * n), largest(m);
  example::array<Executor, std::int8_t> y8(m * n);
  x.fill([](int i) { return example::small_integer(i, 1); });
  weight.fill([](int i) { return example::small_integer(i, 2) / 8; });
  bias.fill([](int i) { return example::small_integer(i, 3) / 4; });
  residual.fill([](int i) { return example::small_integer(i, 4) / 2; });

  const auto a = view_on<Executor>(x.data(), m, k);
  const auto b = view_on<Executor>(weight.data(), k, n);
  // An expression over the accumulator `acc`. It computes nothing here; sinks say where its values go.
  const auto value =
      gelu(acc + per_column(view_on<Executor>(bias.data(), n))) + elem(view_on<Executor>(residual.data(), m, n));
  const float scale = 0.125f;
  const auto plan =
      plan_gemm(a, b, store(view_on<Executor>(y.data(), m, n), value),           // rounded once to bf16
                store(view_on<Executor>(y8.data(), m, n), value * (1 / scale)),  // half to even, clamped to int8
                reduce_rows<reduction::amax>(view_on<Executor>(largest.data(), m), value));

  // A reduction needs scratch memory for the tiles' partial results. It is the caller's, and a plan says how much.
  example::array<Executor, unsigned char> scratch(static_cast<int>(plan.workspace_size()));
  ex.scratch = {scratch.data(), plan.workspace_size()};
  example::require(plan.run(ex));
  example::wait(ex);

  for (int i = 0; i < m; ++i) {
    double row_amax = 0, row_error = 0;
    for (int j = 0; j < n; ++j) {
      double sum = bias[j];  // exact in float32, too
      for (int l = 0; l < k; ++l) sum += double{x[i * k + l]} * double{weight[l * n + j]};
      const double g = gelu_of(sum), expected = g + residual[i * n + j];
      // gelu's own error (see kiln/epilogue/activations.hpp), then the rounding of the sum.
      const double error = std::fabs(g) * (1.5e-6 + 7e-8 * sum * sum) + std::fabs(expected) * 0x1p-24 + 1e-30;
      const double in_bf16 = std::fabs(expected) * 0x1p-8 + error;
      const double in_int8 = 0.5 + error / scale;
      const double clamped = std::fmin(std::fmax(expected / scale, -128), 127);
      if (std::fabs(double{y[i * n + j]} - expected) > in_bf16 || std::fabs(y8[i * n + j] - clamped) > in_int8)
        return std::printf("(%d, %d) is %g and %d, not %g\n", i, j, double{y[i * n + j]}, y8[i * n + j], expected),
               false;
      row_amax = std::fmax(row_amax, std::fabs(expected)), row_error = std::fmax(row_error, error);
    }
    if (std::fabs(double{largest[i]} - row_amax) > row_error)
      return std::printf("the largest of row %d is %g, not %g\n", i, double{largest[i]}, row_amax), false;
  }
  std::printf("%s: y(0, 0) = %g, as int8 %d times %g, the largest of its row is %g; %s\n", where, double{y[0]}, y8[0],
              double{scale}, double{largest[0]}, plan.explain().schedule);
  return true;
}

int main() {
  return example::on_each_executor([](const auto& ex, const char* where) { return feed_forward(ex, where); });
}
