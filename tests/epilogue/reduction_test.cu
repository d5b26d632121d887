// Reduction sinks: what is folded, how, and what the result over nothing is. Here a row is folded by one thread.
#include <cmath>
#include <limits>

#include "tests/epilogue/evaluate.hpp"

namespace kiln::test {
namespace {

/// Folds row (or column) `line` in places of N.
template <int N, class A, class Sink>
KILN_FN void fold_line(const given<A, 1>& g, const Sink& sink, index_t line) {
  constexpr bool rows = Sink::over == reduced_axis::columns;
  const index_t lines = rows ? g.m : g.n, batch = line / lines, of = line % lines;
  auto total = Sink::template identity<typename Sink::template partial<A>>();
  for (index_t i = 0; i < g.template places<N>(); ++i) {
    place at{};
    const auto a = g.template read<N>(i, at);
    if (at.batch != batch) continue;
    if constexpr (rows) {
      if (at.row == of) total = Sink::combine(total, sink.fold(a, at));
    } else {
      const auto x = sink.values(a, at);
      for (int e = 0; e < at.count; ++e)
        if (at.col + e == of) total = Sink::combine(total, x[e]);
    }
  }
  sink.write(batch, of, total);
}

#if defined(__CUDACC__)
template <int N, class A, class Sink>
__global__ void fold_kernel(given<A, 1> g, Sink sink, index_t lines) {
  const index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < lines) fold_line<N>(g, sink, i);
}
#endif

template <class E>
class reductions : public on_matrix<E> {
 public:
  template <class T, int N, class A, class Make>
  std::vector<double> reduced(const std::vector<A>& accs, index_t batch, index_t m, index_t n, index_t lines,
                              const Make& make) {
    auto& in = this->input(accs);
    auto& out = this->template output<T>(static_cast<std::size_t>(batch * lines),
                                         std::is_integral_v<T> ? prefill::x55 : prefill::nan);
    const auto sink = make(this->view(out.data(), batch, lines));
    using sink_type = std::remove_const_t<decltype(sink)>;
    require_sinks<A, 1, typename E::space, sink_type>();
    const status s = check_sinks(batch, m, n, sink);
    EXPECT_TRUE(s.ok()) << s.message();
    const given<A, 1> g{in.data(), batch, m, n};
    if constexpr (E::on_host) {
      for (index_t i = 0; i < batch * lines; ++i) fold_line<N>(g, sink, i);
    } else {
#if defined(__CUDACC__)
      if (batch * lines != 0)
        fold_kernel<N><<<static_cast<unsigned>(ceil_div(batch * lines, index_t{64})), 64>>>(g, sink, batch * lines);
#endif
    }
    return as_double(out.values());
  }
};
TYPED_TEST_SUITE(reductions, executors, executor_names);

/// Reference in float64 over integers, so every order gives the same sum.
std::vector<double> reference(const std::vector<double>& x, index_t batch, index_t m, index_t n, bool rows,
                              double start, double (*fold)(double, double)) {
  std::vector<double> r(static_cast<std::size_t>(batch * (rows ? m : n)), start);
  for (index_t b = 0; b < batch; ++b)
    for (index_t i = 0; i < m; ++i)
      for (index_t j = 0; j < n; ++j) {
        double& to = r[static_cast<std::size_t>(rows ? b * m + i : b * n + j)];
        to = fold(to, x[static_cast<std::size_t>((b * m + i) * n + j)]);
      }
  return r;
}
double add(double x, double y) { return x + y; }
double larger_of(double x, double y) { return x < y ? y : x; }
double smaller_of(double x, double y) { return y < x ? y : x; }
double larger_size(double x, double y) { return larger_of(x, std::abs(y)); }
constexpr double inf = std::numeric_limits<double>::infinity();

template <class A, int N, class Test>
void every_operation(Test& test, index_t batch, index_t m, index_t n) {
  const auto accs = small_integers<A>(static_cast<std::size_t>(batch * m * n), 21, -90, 70);
  std::vector<double> x = as_double(accs);
  for (double& v : x) v = 2 * v + 1;
  const auto e = acc * 2 + 1;
  const double high = std::is_integral_v<A> ? 2147483647.0 : inf, low = std::is_integral_v<A> ? -2147483648.0 : -inf;
  using T = A;
  const auto rows = [&](auto op) {
    return test.template reduced<T, N>(accs, batch, m, n, m,
                                       [&](auto v) { return reduce_rows<decltype(op)::value>(v, e); });
  };
  const auto columns = [&](auto op) {
    return test.template reduced<T, N>(accs, batch, m, n, n,
                                       [&](auto v) { return reduce_columns<decltype(op)::value>(v, e); });
  };
  EXPECT_EQ(rows(std::integral_constant<reduction, reduction::sum>{}), reference(x, batch, m, n, true, 0, add));
  EXPECT_EQ(rows(std::integral_constant<reduction, reduction::max>{}), reference(x, batch, m, n, true, low, larger_of));
  EXPECT_EQ(rows(std::integral_constant<reduction, reduction::min>{}),
            reference(x, batch, m, n, true, high, smaller_of));
  EXPECT_EQ(rows(std::integral_constant<reduction, reduction::amax>{}),
            reference(x, batch, m, n, true, 0, larger_size));
  EXPECT_EQ(columns(std::integral_constant<reduction, reduction::sum>{}), reference(x, batch, m, n, false, 0, add));
  EXPECT_EQ(columns(std::integral_constant<reduction, reduction::max>{}),
            reference(x, batch, m, n, false, low, larger_of));
  EXPECT_EQ(columns(std::integral_constant<reduction, reduction::min>{}),
            reference(x, batch, m, n, false, high, smaller_of));
  EXPECT_EQ(columns(std::integral_constant<reduction, reduction::amax>{}),
            reference(x, batch, m, n, false, 0, larger_size));
}
TYPED_TEST(reductions, of_rows_and_columns) {
  every_operation<float, 4>(*this, 2, 5, 7);
  every_operation<float, 1>(*this, 1, 1, 1);
  every_operation<std::int32_t, 2>(*this, 2, 3, 9);
}

// Over nothing: the identity.
TYPED_TEST(reductions, over_nothing_give_the_identity) {
  every_operation<float, 4>(*this, 1, 3, 0);
  every_operation<float, 4>(*this, 1, 0, 3);
  every_operation<std::int32_t, 4>(*this, 1, 3, 0);
}

TYPED_TEST(reductions, nan_wins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{1, nan, 3, 4, 5, -6};
  const auto check = [&](auto make) {
    const auto y = this->template reduced<float, 4>(x, 1, 2, 3, 2, make);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_FALSE(std::isnan(y[1]));
  };
  check([](auto v) { return reduce_rows<reduction::max>(v, acc); });
  check([](auto v) { return reduce_rows<reduction::min>(v, acc); });
  check([](auto v) { return reduce_rows<reduction::amax>(v, acc); });
}

// A maximum of negative values is negative in every type, and saturates where the type has no infinity.
TYPED_TEST(reductions, into_narrow_types) {
  const std::vector<float> x{-200, -201, -202, -203, -204};
  EXPECT_EQ((this->template reduced<f16, 2>(x, 1, 1, 5, 1, [](auto v) { return reduce_rows<reduction::max>(v, acc); })),
            std::vector<double>{-200});
  EXPECT_EQ(
      (this->template reduced<e4m3, 2>(x, 1, 1, 5, 1, [](auto v) { return reduce_rows<reduction::sum>(v, acc); })),
      std::vector<double>{-448});
  EXPECT_EQ(
      (this->template reduced<bf16, 2>(x, 1, 1, 5, 1, [](auto v) { return reduce_rows<reduction::amax>(v, acc); })),
      std::vector<double>{204});
  EXPECT_EQ(
      (this->template reduced<std::int32_t, 2>(std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()}, 1,
                                               1, 1, 1, [](auto v) { return reduce_rows<reduction::amax>(v, acc); })),
      std::vector<double>{2147483647.0});
}

}  // namespace
}  // namespace kiln::test
