// One matrix product, on the CPU and on the GPU from the same lines.
//
//     g++ -std=c++20 -O2 -I include -x c++ examples/01_gemm.cu && ./a.out        (the host alone)
//     nvcc -std=c++20 -arch=sm_90a -I include examples/01_gemm.cu && ./a.out     (both)
#include <kiln/gemm.hpp>

#include "buffers.hpp"

using namespace kiln;

template <class Executor>
bool multiply(const Executor& ex, const char* where) {
  constexpr int m = 100, n = 72, k = 50;
  example::array<Executor, bf16> x(m * k), weight(n * k);
  example::array<Executor, float> y(m * n);
  x.fill([](int i) { return example::small_integer(i, 1); });
  weight.fill([](int i) { return example::small_integer(i, 2); });

  // A view is a pointer with extents and strides; it owns nothing. `view_on<Executor>` is host_view or device_view.
  const auto a = view_on<Executor>(x.data(), m, k);
  // The weight is stored [n, k], as frameworks do. Transposing changes the view alone; the kernel reads it as it lies.
  const auto b = transposed(view_on<Executor>(weight.data(), n, k));
  const auto d = view_on<Executor>(y.data(), m, n);

  // Every call returns a status; nothing was launched or written if it is not ok.
  const status s = gemm(ex, a, b, store(d, acc));
  example::require(s);

  // The same product as a plan: checked once, run as often as one likes, and able to say what it does.
  const auto plan = plan_gemm(a, b, store(d, acc));
  std::printf("%s: %s\n", where, plan.explain().text().c_str());
  example::require(plan.run(ex));
  example::wait(ex);

  // Small integers: all sums are exact, so the result is equal and not just near.
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += float{x[i * k + l]} * float{weight[j * k + l]};
      if (y[i * n + j] != sum)
        return std::printf("d(%d, %d) is %g, not %g\n", i, j, double{y[i * n + j]}, double{sum}), false;
    }
  }
  std::printf("%s: d(0, 0) = %g, d(99, 71) = %g\n", where, double{y[0]}, double{y[m * n - 1]});

  // A wrong shape is told before anything is launched.
  const status wrong = gemm(ex, a, slice(b, 0, 0, 48), store(d, acc));
  std::printf("%s: a wrong call says `%s`\n", where, wrong.message().c_str());
  return wrong.code() == errc::bad_shape;
}

int main() {
  return example::on_each_executor([](const auto& ex, const char* where) { return multiply(ex, where); });
}
