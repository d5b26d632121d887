// Functors and nodes of one's own in an expression. BLD-04: the forms that work with and without --extended-lambda.
#include <limits>

#include "tests/epilogue/evaluate.hpp"

namespace kiln::test {
namespace {

// Functors at namespace scope, marked KILN_FN.
struct cube {
  KILN_FN float operator()(float x) const { return x * x * x; }
};
struct scaled_sum {
  float by;
  KILN_FN float operator()(float x, float y) const { return by * (x + y); }
};
struct where_am_i {
  KILN_FN float operator()(float x, coord at) const { return x + static_cast<float>(100 * at.row + at.col); }
};
struct sign {
  KILN_FN std::int32_t operator()(float x) const { return x < 0 ? -1 : x > 0 ? 1 : 0; }
};
struct is_positive {
  KILN_FN bool operator()(float x) const { return x > 0; }
};
struct generic {
  template <class... X>
  KILN_FN auto operator()(X... x) const {
    return (x + ...);
  }
};
KILN_FN float halved(float x) { return x / 2; }
struct calls_a_function {
  KILN_FN float operator()(float x) const { return halved(x) + activation::relu(x); }
};

// An operator that reads a tensor: a node of one's own. Adds table[row, col / 2].
template <class View>
struct coarse_elem : node {
  View table;
  template <class A>
  using value = float;
  template <class Space>
  static constexpr bool runs_in() {
    return std::is_same_v<Space, typename View::space>;
  }

  template <int N, class A, int C>
  KILN_FN vec<float, N> eval(const accumulators<A, C, N>&, const place& at) const {
    vec<float, N> r{};
    for (int i = 0; i < at.count; ++i) r[i] = table(at.row, (at.col + i) / 2);
    return r;
  }
  status check(index_t, index_t m, index_t n, const char* where) const {
    if (table.extent(0) == m && table.extent(1) == ceil_div(n, index_t{2})) return {};
    return fail(errc::bad_shape, "`coarse_elem` in `", where, "` has ", table.extent(0), " rows, needs ", m);
  }
  template <class F>
  void each_tensor(F&& f) const {
    f(table, "coarse_elem");
  }
};

template <class E>
class mapped : public on_matrix<E> {};
TYPED_TEST_SUITE(mapped, executors, executor_names);
using floats = std::vector<float>;

TYPED_TEST(mapped, functor_gets_floats) {
  const floats x{-2, -1, 0, 1, 2, 3};
  EXPECT_EQ((this->template stored<float>(x, 2, 3, kiln::map(cube{}, acc))), (floats{-8, -1, 0, 1, 8, 27}));
  EXPECT_EQ((this->template stored<float>(x, 2, 3, kiln::map(scaled_sum{0.5f}, acc, acc * 3) + 1)),
            (floats{-3, -1, 1, 3, 5, 7}));
  EXPECT_EQ((this->template stored<float>(x, 2, 3, kiln::map(scaled_sum{2}, 1, acc))), (floats{-2, 0, 2, 4, 6, 8}));
  EXPECT_EQ((this->template stored<float>(x, 2, 3, kiln::map(generic{}, acc, acc, acc))), (floats{-6, -3, 0, 3, 6, 9}));
  EXPECT_EQ((this->template stored<float>(x, 2, 3, kiln::map(calls_a_function{}, acc))),
            (floats{-1, -0.5f, 0, 1.5f, 3, 4.5f}));
  // Also of integer accumulators.
  EXPECT_EQ((this->template stored<float>(std::vector<std::int32_t>{-2, 3}, 1, 2, kiln::map(cube{}, acc))),
            (floats{-8, 27}));
}

TYPED_TEST(mapped, functor_may_take_coordinates) {
  floats expected;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 7; ++j) expected.push_back(static_cast<float>(5 + 100 * i + j));
  EXPECT_EQ((this->template stored<float, 4>(floats(21, 5.0f), 3, 7, kiln::map(where_am_i{}, acc))), expected);
}

TYPED_TEST(mapped, functor_may_return_an_integer) {
  EXPECT_EQ((this->template stored<std::int32_t>(floats{-2, 0, 5}, 1, 3, kiln::map(sign{}, acc))),
            (std::vector<std::int32_t>{-1, 0, 1}));
  EXPECT_EQ((this->template stored<float>(floats{-2, 0, 5}, 1, 3, kiln::map(is_positive{}, acc) * 3)),
            (floats{0, 0, 3}));
}

TYPED_TEST(mapped, node_of_ones_own) {
  auto& t = this->template input<float>({1, 2, 3, 10, 20, 30});
  const coarse_elem<std::remove_const_t<decltype(this->view(t.data(), 2, 3))>> e{{}, this->view(t.data(), 2, 3)};
  EXPECT_EQ((this->template stored<float>(floats(10, 0.5f), 2, 5, acc + e)),
            (floats{1.5f, 1.5f, 2.5f, 2.5f, 3.5f, 10.5f, 10.5f, 20.5f, 20.5f, 30.5f}));
  auto& out = this->template output<float>(10);
  EXPECT_EQ(store(this->view(out.data(), 2, 5), relu(acc + e)).check(1, 2, 5).code(), errc::ok);
  EXPECT_EQ(store(this->view(out.data(), 1, 5), relu(acc + e)).check(1, 1, 5).code(), errc::bad_shape);
}

#if !defined(__CUDACC__)
// Where no device compiler is involved a plain lambda is a functor like any other.
TYPED_TEST(mapped, lambda_on_the_host) {
  const float by = 3;
  EXPECT_EQ((this->template stored<float>(floats{1, 2}, 1, 2, kiln::map([by](float x) { return by * x; }, acc))),
            (floats{3, 6}));
}
#endif

#if defined(__CUDACC__) && defined(__CUDACC_EXTENDED_LAMBDA__)
// nvcc allows extended lambdas in public functions alone, and a test's body is private.
template <class Test>
void extended_lambdas(Test& test) {
  const float by = 3;
  const auto both = [by] __host__ __device__(float x) { return by * x; };
  EXPECT_EQ((test.template stored<float>(floats{1, 2}, 1, 2, kiln::map(both, acc))), (floats{3, 6}));
  if constexpr (!std::is_same_v<typename Test::space, host_space>) {
    const auto device_only = [by] __device__(float x) { return by * x; };
    EXPECT_EQ((test.template stored<float>(floats{1, 2}, 1, 2, kiln::map(device_only, acc))), (floats{3, 6}));
  }
}
TYPED_TEST(mapped, extended_lambda) { extended_lambdas(*this); }
#endif

}  // namespace
}  // namespace kiln::test
