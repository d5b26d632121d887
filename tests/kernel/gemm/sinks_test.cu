// Two products over one A, several outputs, and reductions whose parts meet in the workspace.
#include <kiln/arch/host/driver.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

/// Runs with as much workspace as the call asks for.
template <class E>
class gemm_sinks : public with_views<E> {
 protected:
  template <class Config = automatic, class... Arguments>
  status run(const Arguments&... arguments) {
    return run_with_workspace<E>(*this, plan_gemm<Config>(arguments...));
  }
};
TYPED_TEST_SUITE(gemm_sinks, executors, executor_names);

/// silu(A B0) * (A B1), against float64. The error of silu in float32 is within 1e-6 of its value and 1e-7.
template <class T, class Out, class Config = automatic, class Fixture, class Run>
void expect_swiglu(Fixture& test, const product_extents& e, std::uint64_t seed, Run&& run) {
  SCOPED_TRACE(::testing::Message() << e);
  const auto a = uniform<T>(static_cast<std::size_t>(e.batch * e.m * e.k), seed),
             w = uniform<T>(static_cast<std::size_t>(2 * e.n * e.k), seed + 1);
  (void)test;
  const auto d = run(a, w);
  std::vector<T> gate, up;
  for (index_t q = 0; q < e.batch; ++q)
    for (index_t l = 0; l < e.k; ++l)
      for (index_t j = 0; j < e.n; ++j)
        gate.push_back(w[static_cast<std::size_t>(j * e.k + l)]),
            up.push_back(w[static_cast<std::size_t>((e.n + j) * e.k + l)]);
  const auto x = product_of(e, a, gate), y = product_of(e, a, up);
  mismatches wrong;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const double silu = x.value[i] / (1 + std::exp(-x.value[i])), exact = silu * y.value[i];
    const double x_error = sum_error<T, T, host_executor>(e.k, x.magnitude[i]),
                 y_error = sum_error<T, T, host_executor>(e.k, y.magnitude[i]);
    const double silu_error = 1.1 * x_error + 1e-6 * std::abs(silu) + 1e-7;  // silu's slope is below 1.1
    const double error =
        silu_error * (std::abs(y.value[i]) + y_error) + std::abs(silu) * y_error + 0x1p-24 * std::abs(exact);
    if (!is_near(d[i], exact, error))
      wrong.add("D", 0, static_cast<index_t>(i) / e.n, static_cast<index_t>(i) % e.n, as_double(d[i]), exact, error);
  }
}

// EPI-12, the halves of one weight.
TYPED_TEST(gemm_sinks, swiglu_of_two_products) {
  const auto swiglu = [&](auto type, auto result_type, const product_extents& e, std::uint64_t seed, auto pinned) {
    using T = decltype(type);
    using Out = decltype(result_type);
    expect_swiglu<T, Out>(*this, e, seed, [&](const auto& a, const auto& w) {
      const auto weights = this->in(w, 2 * e.n, e.k);
      const auto [d, result] = this->template out<Out>(e.batch, e.m, e.n);
      const status s = this->template run<decltype(pinned)>(
          this->in(a, e.batch, e.m, e.k),
          dual(transposed(slice(weights, 0, 0, e.n)), transposed(slice(weights, 0, e.n, 2 * e.n))),
          store(d, silu(acc_<0>) * acc_<1>));
      EXPECT_TRUE(s.ok()) << s.message();
      return result->values();
    });
  };
  for (const product_extents e : {product_extents{1, 1, 1}, {7, 33, 65}, {65, 40, 72, 2}}) {
    swiglu(float{}, float{}, e, 101, automatic{});
    swiglu(bf16{}, bf16{}, e, 102, automatic{});
  }
  swiglu(f16{}, float{}, {33, 65, 100}, 103, config<tile<32, 32, 64>, warp_tile<16, 16>, stages<2>>{});
  if constexpr (!TypeParam::on_host) swiglu(bf16{}, bf16{}, {300, 520, 392}, 104, automatic{});
  if (no_hopper_here<TypeParam>().empty())
    swiglu(bf16{}, f16{}, {130, 70, 72, 2}, 105, config<tile<128, 32, 64>, stages<2>, warp_specialized>{});
  // A width that is no multiple of 64, over two tiles.
  if (no_hopper_here<TypeParam>().empty())
    swiglu(bf16{}, bf16{}, {130, 200, 72}, 106, config<tile<128, 96, 64>, stages<2>, warp_specialized>{});
}

template <class T>
using sum_of = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

/// Small integers: every partial sum is exact, so that each reduction has one right answer. The largest value of a row
/// stands in the tests of lists.
template <class E>
class gemm_reductions : public gemm_sinks<E> {
 protected:
  template <class N>
  struct results {
    std::vector<N> d, row_sums, row_sizes, column_lows, column_sums;
  };

  /// `a` by rows, `b` by columns.
  template <class T, class Config, class Sum = sum_of<T>>
  results<Sum> reduced(const product_extents& e, const std::vector<T>& a, const std::vector<T>& b) {
    const auto [d, values] = this->template out<Sum>(e.batch, e.m, e.n);
    const auto [s, row_sums] = this->template out<Sum>(e.batch, e.m);
    const auto [z, row_sizes] = this->template out<Sum>(e.batch, e.m);
    const auto [l, lows] = this->template out<Sum>(e.batch, e.n);
    const auto [c, sums] = this->template out<Sum>(e.batch, e.n);
    const status done = this->template run<Config>(
        this->in(a, e.batch, e.m, e.k), transposed(this->in(b, e.batch, e.n, e.k)), store(d, acc),
        reduce_rows<reduction::sum>(s, acc * 2), reduce_rows<reduction::amax>(z, acc),
        reduce_columns<reduction::min>(l, acc), reduce_columns<reduction::sum>(c, acc));
    EXPECT_TRUE(done.ok()) << done.message();
    return {values->values(), row_sums->values(), row_sizes->values(), lows->values(), sums->values()};
  }

  template <class T, class Config = automatic>
  void expect(const product_extents& e, std::uint64_t seed) {
    SCOPED_TRACE(::testing::Message() << e);
    const auto a = small_integers<T>(static_cast<std::size_t>(e.batch * e.m * e.k), seed, -2, 2),
               b = small_integers<T>(static_cast<std::size_t>(e.batch * e.n * e.k), seed + 1, -2, 2);
    const auto m = static_cast<std::size_t>(e.m), n = static_cast<std::size_t>(e.n), k = static_cast<std::size_t>(e.k),
               batch = static_cast<std::size_t>(e.batch);
    std::vector<T> turned(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) turned[i / (n * k) * n * k + i % k * n + i / k % n] = b[i];
    const auto want = product_of(e, a, turned);
    std::vector<double> row_sums(batch * m), row_sizes(batch * m), lows(batch * n, INFINITY), sums(batch * n);
    for (std::size_t i = 0; i < want.value.size(); ++i) {
      const double x = want.value[i];
      const std::size_t row = i / n, col = i / (m * n) * n + i % n;
      row_sums[row] += 2 * x, row_sizes[row] = std::max(row_sizes[row], std::abs(x)),
                              lows[col] = std::min(lows[col], x), sums[col] += x;
    }
    const auto seen = reduced<T, Config>(e, a, b);
    const auto expect_same = [](const auto& values, const std::vector<double>& exact, const char* what) {
      for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_EQ(as_double(values[i]), exact[i]) << what << " " << i;
    };
    expect_same(seen.d, want.value, "element");
    expect_same(seen.row_sums, row_sums, "sum of row");
    expect_same(seen.row_sizes, row_sizes, "size of row");
    expect_same(seen.column_lows, lows, "minimum of column");
    expect_same(seen.column_sums, sums, "sum of column");
  }
};
TYPED_TEST_SUITE(gemm_reductions, executors, executor_names);

constexpr std::initializer_list<product_extents> odd = {
    {1, 1, 1}, {7, 33, 65}, {65, 7, 33, 3}, {100, 70, 0}, {33, 129, 20}};

TYPED_TEST(gemm_reductions, over_rows_and_columns) {
  for (const product_extents& e : odd) {
    this->template expect<float>(e, 111);
    this->template expect<f16>(e, 112);
  }
  if constexpr (!TypeParam::on_host) {
    this->template expect<f16>({700, 520, 64}, 114);
    this->template expect<float>({257, 300, 40, 2}, 115);
  }
}

TYPED_TEST(gemm_reductions, of_integers_in_a_pinned_configuration) {
  for (const product_extents& e : odd)
    this->template expect<std::int8_t, config<tile<64, 64, 64>, warp_tile<32, 32>, stages<2>>>(e, 113);
}

TYPED_TEST(gemm_reductions, of_integers_in_warp_specialized) {
  if (const auto why = no_hopper_here<TypeParam>(); !why.empty()) GTEST_SKIP() << why;
  this->template expect<std::int8_t, config<tile<128, 64, 128>, stages<2>, warp_specialized>>({130, 72, 48, 2}, 117);
}

// Sums of floats depend on their order; the order is the same in every run.
TYPED_TEST(gemm_reductions, give_the_same_bits_every_time) {
  constexpr index_t m = 150, n = 170, k = 90;
  const auto a = uniform<float>(m * k, 1), b = uniform<float>(n * k, 2);
  const auto bits = [](const std::vector<float>& values) {
    std::vector<std::uint32_t> r;
    for (const float v : values) r.push_back(kiln::bit_cast<std::uint32_t>(v));
    return r;
  };
  std::vector<std::uint32_t> rows, columns;
  for (int i = 0; i < (TypeParam::on_host ? 2 : 20); ++i) {
    const auto seen = this->template reduced<float, automatic>({m, n, k}, a, b);
    if (i == 0) rows = bits(seen.row_sums), columns = bits(seen.column_sums);
    EXPECT_EQ(bits(seen.row_sums), rows);
    EXPECT_EQ(bits(seen.column_sums), columns);
  }
}

// A result whose own extent is not 0 is written, also where there is nothing to reduce.
TYPED_TEST(gemm_sinks, reductions_of_no_elements) {
  using E = TypeParam;
  auto& a = this->template input<float>(std::vector<float>(6, 1));
  auto& b = this->template input<float>(std::vector<float>(6, 1));
  auto &rows = this->template output<float>(3), &columns = this->template output<float>(2);
  const auto none = view_on<E>(b.data(), 2, 0);
  ASSERT_TRUE(gemm(this->executor(), view_on<E>(a.data(), 3, 2), none,
                   reduce_rows<reduction::sum>(view_on<E>(rows.data(), 3), acc))
                  .ok());
  EXPECT_EQ(rows.values(), std::vector<float>(3, 0));
  ASSERT_TRUE(gemm(this->executor(), view_on<E>(a.data(), 0, 3), view_on<E>(b.data(), 3, 2),
                   reduce_columns<reduction::max>(view_on<E>(columns.data(), 2), acc))
                  .ok());
  EXPECT_EQ(columns.values(), std::vector<float>(2, -std::numeric_limits<float>::infinity()));
}

}  // namespace
}  // namespace kiln::test
