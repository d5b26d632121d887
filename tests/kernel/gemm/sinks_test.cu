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
    const auto plan = plan_gemm<Config>(arguments...);
    if constexpr (E::on_host) {
      return plan.run(watched(E{}));
    } else {
      auto& scratch = this->template output<unsigned char>(plan.workspace_size());
      return plan.run(E{nullptr, {scratch.data(), scratch.size()}});
    }
  }
};
TYPED_TEST_SUITE(gemm_sinks, executors, executor_names);

/// silu(A B0) * (A B1), against float64. The error of silu in float32 is within 1e-6 of its value and 1e-7.
template <class T, class Out, class Config = automatic, class Fixture, class Run>
void expect_swiglu(Fixture& test, const product_extents& e, std::uint64_t seed, Run&& run) {
  SCOPED_TRACE(::testing::Message() << e);
  const auto a = uniform<T>(static_cast<std::size_t>(e.batch * e.m * e.k), seed), w = uniform<T>(static_cast<std::size_t>(2 * e.n * e.k), seed + 1);
  (void)test;
  const auto d = run(a, w);
  std::vector<T> gate, up;
  for (index_t q = 0; q < e.batch; ++q)
    for (index_t l = 0; l < e.k; ++l)
      for (index_t j = 0; j < e.n; ++j) gate.push_back(w[static_cast<std::size_t>(j * e.k + l)]), up.push_back(w[static_cast<std::size_t>((e.n + j) * e.k + l)]);
  const auto x = product_of(e, a, gate), y = product_of(e, a, up);
  mismatches wrong;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const double silu = x.value[i] / (1 + std::exp(-x.value[i])), exact = silu * y.value[i];
    const double x_error = sum_error<T, T, host_executor>(e.k, x.magnitude[i]), y_error = sum_error<T, T, host_executor>(e.k, y.magnitude[i]);
    const double silu_error = 1.1 * x_error + 1e-6 * std::abs(silu) + 1e-7;  // silu's slope is below 1.1
    const double error = silu_error * (std::abs(y.value[i]) + y_error) + std::abs(silu) * y_error + 0x1p-24 * std::abs(exact);
    if (!is_near(d[i], exact, error)) wrong.add("D", 0, static_cast<index_t>(i) / e.n, static_cast<index_t>(i) % e.n, as_double(d[i]), exact, error);
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
      const status s = this->template run<decltype(pinned)>(this->in(a, e.batch, e.m, e.k), dual(transposed(slice(weights, 0, 0, e.n)), transposed(slice(weights, 0, e.n, 2 * e.n))),
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
  if (no_hopper_here<TypeParam>().empty()) swiglu(bf16{}, f16{}, {130, 70, 72, 2}, 105, config<tile<128, 32, 64>, stages<2>, warp_specialized>{});
  // A width that is no multiple of 64, over two tiles.
  if (no_hopper_here<TypeParam>().empty()) swiglu(bf16{}, bf16{}, {130, 200, 72}, 106, config<tile<128, 96, 64>, stages<2>, warp_specialized>{});
}

/// Small integers: every partial sum is exact, so that each reduction has one right answer.
template <class T, class Config, class Fixture>
void expect_reductions(Fixture& test, const product_extents& e, std::uint64_t seed, auto&& run) {
  SCOPED_TRACE(::testing::Message() << e);
  const auto a = small_integers<T>(static_cast<std::size_t>(e.batch * e.m * e.k), seed, -2, 2), b = small_integers<T>(static_cast<std::size_t>(e.batch * e.k * e.n), seed + 1, -2, 2);
  (void)test;
  const auto m = static_cast<std::size_t>(e.m), n = static_cast<std::size_t>(e.n), batch = static_cast<std::size_t>(e.batch);
  const auto want = product_of(e, a, b);
  std::vector<double> sums(batch * m), tops(batch * m, -INFINITY), lows(batch * n, INFINITY), sizes(batch * n);
  for (std::size_t i = 0; i < want.value.size(); ++i) {
    const double x = want.value[i];
    const std::size_t row = i / n, col = i / (m * n) * n + i % n;
    sums[row] += 2 * x, tops[row] = std::max(tops[row], x), lows[col] = std::min(lows[col], x), sizes[col] = std::max(sizes[col], std::abs(x));
  }
  const auto [d, row_sums, row_tops, column_lows, column_sizes] = run(a, b);
  for (std::size_t i = 0; i < d.size(); ++i) ASSERT_EQ(as_double(d[i]), want.value[i]) << i;
  for (std::size_t i = 0; i < batch * m; ++i) {
    ASSERT_EQ(as_double(row_sums[i]), sums[i]) << "row " << i;
    ASSERT_EQ(as_double(row_tops[i]), tops[i]) << "row " << i;
  }
  for (std::size_t i = 0; i < batch * n; ++i) {
    ASSERT_EQ(as_double(column_lows[i]), lows[i]) << "column " << i;
    ASSERT_EQ(as_double(column_sizes[i]), sizes[i]) << "column " << i;
  }
}

template <class E>
class gemm_reductions : public gemm_sinks<E> {
 protected:
  template <class T, class Config = automatic>
  void expect(const product_extents& e, std::uint64_t seed) {
    using number = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
    expect_reductions<T, Config>(*this, e, seed, [&](const auto& a, const auto& b) {
      const auto [d, values] = this->template out<number>(e.batch, e.m, e.n);
      const auto [s, sums] = this->template out<number>(e.batch, e.m);
      const auto [t, tops] = this->template out<number>(e.batch, e.m);
      const auto [l, lows] = this->template out<number>(e.batch, e.n);
      const auto [z, sizes] = this->template out<number>(e.batch, e.n);
      const status result = this->template run<Config>(this->in(a, e.batch, e.m, e.k), this->in(b, e.batch, e.k, e.n), store(d, acc), reduce_rows<reduction::sum>(s, acc * 2),
                                                       reduce_rows<reduction::max>(t, acc), reduce_columns<reduction::min>(l, acc), reduce_columns<reduction::amax>(z, acc));
      EXPECT_TRUE(result.ok()) << result.message();
      return std::tuple{values->values(), sums->values(), tops->values(), lows->values(), sizes->values()};
    });
  }
};
TYPED_TEST_SUITE(gemm_reductions, executors, executor_names);

TYPED_TEST(gemm_reductions, over_rows_and_columns) {
  for (const product_extents e : {product_extents{1, 1, 1}, {7, 33, 65}, {65, 7, 33, 3}, {100, 70, 0}, {33, 129, 20}}) {
    this->template expect<float>(e, 111);
    this->template expect<f16>(e, 112);
    this->template expect<std::int8_t>(e, 113);
  }
  if constexpr (!TypeParam::on_host) {
    this->template expect<f16>({700, 520, 64}, 114);
    this->template expect<float>({257, 300, 40, 2}, 115);
  }
}

TYPED_TEST(gemm_reductions, in_a_pinned_configuration) {
  this->template expect<bf16, config<tile<64, 64, 32>, warp_tile<32, 32>, stages<2>>>({100, 70, 40, 2}, 116);
}

TYPED_TEST(gemm_reductions, in_warp_specialized) {
  if (const auto why = no_hopper_here<TypeParam>(); !why.empty()) GTEST_SKIP() << why;
  this->template expect<bf16, config<tile<128, 64, 64>, stages<2>, warp_specialized>>({130, 72, 40, 2}, 117);
}

// Sums of floats depend on their order; the order is the same in every run.
TYPED_TEST(gemm_reductions, give_the_same_bits_every_time) {
  constexpr index_t m = 150, n = 170, k = 90;
  const auto a = this->in(uniform<float>(m * k, 1), m, k), b = this->in(uniform<float>(k * n, 2), k, n);
  std::vector<std::uint32_t> rows, columns;
  for (int i = 0; i < (TypeParam::on_host ? 2 : 20); ++i) {
    const auto [r, row_sums] = this->template out<float>(m);
    const auto [c, column_sums] = this->template out<float>(n);
    ASSERT_TRUE(this->run(a, b, reduce_rows<reduction::sum>(r, acc), reduce_columns<reduction::sum>(c, acc)).ok());
    const auto bits = [](const std::vector<float>& values) {
      std::vector<std::uint32_t> r_bits;
      for (const float v : values) r_bits.push_back(kiln::bit_cast<std::uint32_t>(v));
      return r_bits;
    };
    if (i == 0) rows = bits(row_sums->values()), columns = bits(column_sums->values());
    EXPECT_EQ(bits(row_sums->values()), rows);
    EXPECT_EQ(bits(column_sums->values()), columns);
  }
}

}  // namespace
}  // namespace kiln::test
