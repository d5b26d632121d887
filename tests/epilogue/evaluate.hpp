#pragma once
/// Runs a sink over a matrix of given accumulators, N neighbours at a time, on either executor: an epilogue without a
/// product.
#include <gtest/gtest.h>

#include <kiln/epilogue/sinks.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {

/// Accumulators [product, batch, m, n], and the extents.
template <class A, int Products>
struct given {
  const A* from;
  index_t batch, m, n;
  bool vectors = false;

  /// Sets place number `i` of all places and its accumulators; what is behind the matrix is NaN, or a large integer.
  template <int N>
  KILN_FN accumulators<A, Products, N> read(index_t i, place& at) const {
    const index_t in_row = ceil_div(n, index_t{N});
    at.col = i % in_row * N, at.row = i / in_row % m, at.batch = i / in_row / m;
    at.count = static_cast<int>(min_of(index_t{N}, n - at.col));
    at.vectors = vectors && at.row % 2 == 0;  // both ways in one run
    accumulators<A, Products, N> r;
    for (int p = 0; p < Products; ++p)
      for (int e = 0; e < N; ++e) {
        if (e < at.count)
          r.v[p][e] = from[((p * batch + at.batch) * m + at.row) * n + at.col + e];
        else if constexpr (std::is_integral_v<A>)
          r.v[p][e] = 0x7f7f7f7f;
        else
          r.v[p][e] = limits<A>::quiet_nan();
      }
    return r;
  }
  template <int N>
  KILN_FN index_t places() const {
    return batch * m * ceil_div(n, index_t{N});
  }
};

#if defined(__CUDACC__)
template <int N, class Given, class Sink>
__global__ void put_kernel(Given g, Sink sink) {
  const index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= g.template places<N>()) return;
  place at{};
  const auto a = g.template read<N>(i, at);
  sink.put(a, at);
}
#endif

template <int N, class E, class A, int Products, class Sink>
void put_all(const E&, given<A, Products> g, const Sink& sink) {
  g.vectors = sink.template vectors<N>();
  require_sinks<A, Products, typename E::space, Sink>();
  if constexpr (E::on_host) {
    for (index_t i = 0; i < g.template places<N>(); ++i) {
      place at{};
      const auto a = g.template read<N>(i, at);
      sink.put(a, at);
    }
  } else {
#if defined(__CUDACC__)
    const index_t blocks = ceil_div(g.template places<N>(), index_t{128});
    if (blocks != 0) put_kernel<N><<<static_cast<unsigned>(blocks), 128>>>(g, sink);
#endif
  }
}

/// A fixture with views on its executor's memory.
template <class E>
class on_matrix : public on_executor<E> {
 public:
  template <class T, class... I>
  static auto view(T* p, I... extents) {
    return view_on<E>(p, extents...);
  }

  /// Stores `expr` of these accumulators into a packed matrix of T and returns it.
  template <class T, int N = 4, int Products = 1, class A, class X>
  std::vector<T> stored(const std::vector<A>& accs, index_t m, index_t n, const X& expr, index_t batch = 1) {
    auto& in = this->input(accs);
    auto& out = this->template output<T>(static_cast<std::size_t>(batch * m * n),
                                         std::is_integral_v<T> ? prefill::x55 : prefill::nan);
    const auto sink = store(view(out.data(), batch, m, n), expr);
    const status s = check_sinks(batch, m, n, sink);
    EXPECT_TRUE(s.ok()) << s.message();
    if (s.ok()) put_all<N>(this->executor(), given<A, Products>{in.data(), batch, m, n}, sink);
    return out.values();
  }
};

}  // namespace kiln::test
