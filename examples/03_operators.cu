// Operators of one's own in an epilogue: a functor, a functor that sees where its element lies, and a node that reads
// tensors.
#include <cmath>
#include <kiln/gemm.hpp>

#include "buffers.hpp"

using namespace kiln;

// A functor stands at namespace scope, its call operator is const and marked KILN_FN, and it is called with floats.
struct soft_cap {
  float cap;
  KILN_FN float operator()(float x) const { return cap * activation::tanh(x / cap); }
};

// If it takes a coord behind the floats, it gets the element's row and column in the whole result.
struct keep_lower_triangle {
  KILN_FN float operator()(float x, coord at) const { return at.col <= at.row ? x : 0.0f; }
};

// A node reads what it likes: here the bias of each row is that of the row's expert. `eval` gives the values of N
// neighbours of a row, of which `at.count` are inside the matrix.
template <class Table, class Experts>
struct bias_of_expert : node {
  Table table;      ///< [experts, n] float
  Experts experts;  ///< [m] int32

  template <class A>
  using value = float;
  template <class Space>
  static constexpr bool runs_in() {
    return std::is_same_v<Space, typename Table::space> && std::is_same_v<Space, typename Experts::space>;
  }
  template <int N, class A, int C>
  KILN_FN vec<float, N> eval(const accumulators<A, C, N>&, const place& at) const {
    vec<float, N> r{};
    KILN_UNROLL
    for (int i = 0; i < N; ++i)
      if (i < at.count) r[i] = table(experts(at.row), at.col + i);
    return r;
  }
  // What can be wrong is told before the launch, and an output that overlaps what is read is found.
  status check(kiln::index_t, kiln::index_t m, kiln::index_t n, const char* where) const {
    if (experts.extent(0) != m)
      return fail(errc::bad_shape, "`experts` in `", where, "` has ", experts.extent(0), " values, needs ", m);
    if (table.extent(1) != n)
      return fail(errc::bad_shape, "`table` in `", where, "` has ", table.extent(1), " columns, needs ", n);
    return {};
  }
  template <class F>
  void each_tensor(F&& f) const {
    f(table, "table"), f(experts, "experts");
  }
};
template <class Table, class Experts>
auto expert_bias(const Table& table, const Experts& experts) {
  return bias_of_expert<Table, Experts>{{}, table, experts};
}

template <class Executor>
bool run(const Executor& ex, const char* where) {
  constexpr int m = 50, n = 50, k = 24, experts = 3;
  example::array<Executor, float> x(m * k), weight(k * n), table(experts * n), y(m * n);
  example::array<Executor, std::int32_t> chosen(m);
  x.fill([](int i) { return example::small_integer(i, 1); });
  weight.fill([](int i) { return example::small_integer(i, 2); });
  table.fill([](int i) { return example::small_integer(i, 3); });
  chosen.fill([](int i) { return i * 7 % experts; });

  const auto biased =
      acc + expert_bias(view_on<Executor>(table.data(), experts, n), view_on<Executor>(chosen.data(), m));
  example::require(gemm(
      ex, view_on<Executor>(x.data(), m, k), view_on<Executor>(weight.data(), k, n),
      store(view_on<Executor>(y.data(), m, n), kiln::map(keep_lower_triangle{}, kiln::map(soft_cap{30}, biased)))));
  example::wait(ex);

  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = table[chosen[i] * n + j];
      for (int l = 0; l < k; ++l) sum += double{x[i * k + l]} * double{weight[l * n + j]};
      const double expected = j <= i ? 30 * std::tanh(sum / 30) : 0;
      // tanh is right to 7e-7; the quotient, which moves tanh by no more than its own relative error, and the product
      // round once.
      if (std::fabs(double{y[i * n + j]} - expected) > std::fabs(expected) * (7e-7 + 2 * 0x1p-24))
        return std::printf("(%d, %d) is %.9g, not %.9g\n", i, j, double{y[i * n + j]}, expected), false;
    }
  }
  std::printf("%s: y(49, 0) = %g, y(49, 49) = %g, y(0, 49) = %g\n", where, double{y[49 * n]}, double{y[49 * n + 49]},
              double{y[49]});
  return true;
}

int main() {
  return example::on_each_executor([](const auto& ex, const char* where) { return run(ex, where); });
}
