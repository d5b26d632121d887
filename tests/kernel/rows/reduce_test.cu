// Reductions along rows and columns, argmax, and blocks whose last warp is not whole.
#include <algorithm>
#include <kiln/argmax.hpp>
#include <kiln/kernel/rows/softmax.hpp>
#include <kiln/reduce.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(row_reductions);

struct reference {
  std::vector<double> value, bound;
};

template <reduction Op, class Y>
void add_reference(reference& r, const std::vector<double>& x) {
  double sum = 0, size = 0, top = -INFINITY, low = INFINITY, amax = 0;
  for (double v : x)
    sum += v, size += std::abs(v), top = std::max(top, v), low = std::min(low, v), amax = std::max(amax, std::abs(v));
  const auto n = static_cast<double>(x.size());
  const double y = Op == reduction::sum    ? sum
                   : Op == reduction::mean ? sum / n
                   : Op == reduction::max  ? top
                   : Op == reduction::min  ? low
                                           : amax;
  const bool adds = Op == reduction::sum || Op == reduction::mean;
  r.value.push_back(y);
  r.bound.push_back((adds ? unit * (depth(n) + 1) * size / (Op == reduction::mean ? n : 1) : 0) + store_error<Y>(y));
}

// On the device only two reductions take all kernels that a public call chooses from: the choice does not depend on the
// reduction nor on the type, and each kernel costs its time to compile. The others take the one that serves any row.
template <reduction Op, class E, class X, class Y>
status row_reduce_in(const E& ex, const X& x, const Y& out) {
  using from = typename X::value_type;
  constexpr bool common = (Op == reduction::sum || Op == reduction::max) && sizeof(from) > 1;
  if constexpr (common || E::on_host) {
    return row_reduce<Op>(ex, x, out);
  } else {
    if (out.empty()) return {};
    rows::row_reduce_program<from, typename Y::value_type, Op> program{rows::input_of(x), rows::each_row(out)};
    return rows::run_pinned<rows::endless_single, 1>(ex, "row_reduce", program, rows::count(x), rows::length(x));
  }
}

template <reduction Op, class X, class Y, class Test>
void check_both(Test& test, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of<X>()) + ", " + std::to_string(rows) + " x " + std::to_string(cols) + ", reduction " +
               std::to_string(static_cast<int>(Op)));
  using E = std::decay_t<decltype(test.executor())>;
  const auto x = uniform<X>(rows * cols, seed);
  const auto xv = view_on<E>(test.input(x).data(), rows, cols);
  auto &along = test.template output<Y>(rows), &down = test.template output<Y>(cols);
  ASSERT_TRUE(row_reduce_in<Op>(test.executor(), xv, view_on<E>(along.data(), rows)).ok());
  ASSERT_TRUE(column_reduce<Op>(test.executor(), xv, view_on<E>(down.data(), cols)).ok());
  reference r, s;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> v;
    for (std::size_t c = 0; c < cols; ++c) v.push_back(as_double(x[i * cols + c]));
    add_reference<Op, Y>(r, v);
  }
  for (std::size_t c = 0; c < cols; ++c) {
    std::vector<double> v;
    for (std::size_t i = 0; i < rows; ++i) v.push_back(as_double(x[i * cols + c]));
    add_reference<Op, Y>(s, v);
  }
  // Columns are summed by at least 4 threads, each in turn.
  for (double& b : s.bound) b *= 4;
  EXPECT_TRUE(near(along.values(), r.value, r.bound));
  EXPECT_TRUE(near(down.values(), s.value, s.bound));
}

TYPED_TEST(row_reductions, agree_with_float64_along_both_axes) {
  std::uint64_t seed = 60;
  for (auto [rows, cols] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {1, 65}, {65, 1}, {7, 33}, {33, 128}, {100, 1025}, {2, 9001}, {1030, 6}}) {
    check_both<reduction::sum, float, float>(*this, rows, cols, ++seed);
    check_both<reduction::mean, bf16, float>(*this, rows, cols, ++seed);
    check_both<reduction::max, f16, f16>(*this, rows, cols, ++seed);
    check_both<reduction::min, float, float>(*this, rows, cols, ++seed);
    check_both<reduction::amax, bf16, float>(*this, rows, cols, ++seed);
  }
}

// A float32 accumulator of equal numbers drifts with each rounding, and stops growing after 2^24 of them. Strides of 0
// give many rows, and columns, without their memory; 179 / 256 is exact in bf16.
TYPED_TEST(row_reductions, long_sums_neither_drift_nor_stop) {
  const auto value = this->input(std::vector<bf16>{bf16(0.69921875f)}).data();
  const auto one = this->input(std::vector<float>{1}).data();
  auto& out = this->template output<float>(4);
  const index_t n = index_t{1} << 25, most = index_t{5} << 24;
  ASSERT_TRUE(column_reduce<reduction::mean>(this->executor(), strided_on<TypeParam>(value, {n, 1}, {0, 0}),
                                             view_on<TypeParam>(out.data(), 1))
                  .ok());
  ASSERT_TRUE(row_reduce_in<reduction::mean>(this->executor(), strided_on<TypeParam>(value, {1, n}, {0, 0}),
                                             view_on<TypeParam>(out.data() + 1, 1))
                  .ok());
  ASSERT_TRUE(column_reduce<reduction::sum>(this->executor(), strided_on<TypeParam>(one, {most, 1}, {0, 0}),
                                            view_on<TypeParam>(out.data() + 2, 1))
                  .ok());
  ASSERT_TRUE(row_reduce_in<reduction::sum>(this->executor(), strided_on<TypeParam>(one, {1, n}, {0, 0}),
                                            view_on<TypeParam>(out.data() + 3, 1))
                  .ok());
  const auto y = as_double(out.values());
  const double mean = 0.69921875, error = unit * (depth(static_cast<double>(n)) + 1) * mean + store_error<float>(mean);
  EXPECT_NEAR(y[0], mean, 4 * error);  // columns are summed by at least 4 threads
  EXPECT_NEAR(y[1], mean, error);
  EXPECT_EQ(y[2], static_cast<double>(most));  // 2^24 times 5, of which each of 4 accumulators has more than 2^24
  EXPECT_EQ(y[3], static_cast<double>(n));
}

/// Of one row of exact values.
template <reduction Op, class X, class Y, class E, class Test>
double reduced(Test& test, const std::vector<double>& row) {
  std::vector<X> x;
  for (double v : row) x.push_back(value_of<X>(v));
  auto& out = test.template output<Y>(1);
  const auto xv = view_on<E>(test.input(x).data(), 1, x.size());
  const auto to = view_on<E>(out.data(), 1);
  EXPECT_TRUE(row_reduce_in<Op>(test.executor(), xv, to).ok());
  return as_double(out.values()[0]);
}

// ROW-05: identities of maxima and minima; e4m3 has no infinity to start from.
TYPED_TEST(row_reductions, extremes_start_from_infinities) {
  EXPECT_EQ((reduced<reduction::max, f16, f16, TypeParam>(*this, {-200, -201, -202})), -200);
  EXPECT_EQ((reduced<reduction::max, f16, f16, TypeParam>(*this, {-INFINITY, -INFINITY})), -INFINITY);
  EXPECT_EQ((reduced<reduction::min, float, float, TypeParam>(*this, {INFINITY, INFINITY})), INFINITY);
  EXPECT_EQ((reduced<reduction::min, float, float, TypeParam>(*this, {3e38, 2e38})), static_cast<double>(2e38f));
}

TYPED_TEST(row_reductions, eight_bit_floats_are_reduced_as_the_numbers_they_are) {
  EXPECT_EQ((reduced<reduction::max, e4m3, e4m3, TypeParam>(*this, {-8, -9, -10, -11, -12})), -8);
  EXPECT_EQ((reduced<reduction::max, e4m3, e4m3, TypeParam>(*this, std::vector<double>(101, -448))), -448);
  // 200 lies between 192 and 224.
  EXPECT_EQ((reduced<reduction::sum, e5m2, e5m2, TypeParam>(*this, std::vector<double>(100, 2))), 192);
  const std::vector<e4m3> x{e4m3(-8.0f), e4m3(1.0f), e4m3(-9.0f), e4m3(0.5f), e4m3(-10.0f), e4m3(2.0f)};
  auto& out = this->template output<float>(2);
  ASSERT_TRUE(column_reduce<reduction::max>(this->executor(), view_on<TypeParam>(this->input(x).data(), 3, 2),
                                            view_on<TypeParam>(out.data(), 2))
                  .ok());
  EXPECT_EQ(out.values(), (std::vector<float>{-8, 2}));
}

TYPED_TEST(row_reductions, nan_wins_and_nothing_gives_the_identity) {
  const auto check = [&]<reduction Op, class X>(std::integral_constant<reduction, Op>, X, double of_row,
                                                double of_nothing) {
    using Y = std::conditional_t<std::is_same_v<X, f16>, f16, float>;
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    EXPECT_TRUE(std::isnan(reduced<Op, X, Y, TypeParam>(*this, {1, NAN, 3})));
    EXPECT_EQ((reduced<Op, X, Y, TypeParam>(*this, {4, 5, 6})), of_row);
    // ROW-23
    auto& out = this->template output<Y>(2);
    const auto to = view_on<TypeParam>(out.data(), 2);
    const auto* x = this->input(std::vector<X>{value_of<X>(1)}).data();
    ASSERT_TRUE(row_reduce_in<Op>(this->executor(), view_on<TypeParam>(x, 2, 0), to).ok());
    for (Y v : out.values()) EXPECT_TRUE(same(as_double(v), of_nothing));
    const auto strided_nothing = view_on<TypeParam>(static_cast<const X*>(nullptr), {2, 0}, {7, 1});
    ASSERT_TRUE(row_reduce_in<Op>(this->executor(), strided_nothing, to).ok());
    for (Y v : out.values()) EXPECT_TRUE(same(as_double(v), of_nothing));
    ASSERT_TRUE(column_reduce<Op>(this->executor(), view_on<TypeParam>(x, 0, 2), to).ok());
    for (Y v : out.values()) EXPECT_TRUE(same(as_double(v), of_nothing));
    auto& none = this->template output<Y>(2);
    const auto empty = view_on<TypeParam>(none.data(), 0);
    for (index_t n : {0, 7}) {
      EXPECT_TRUE(row_reduce_in<Op>(this->executor(), view_on<TypeParam>(x, 0, n), empty).ok());
      EXPECT_TRUE(column_reduce<Op>(this->executor(), view_on<TypeParam>(x, n, 0), empty).ok());
    }
    EXPECT_TRUE(none.untouched());
  };
  check(std::integral_constant<reduction, reduction::sum>{}, 0.0f, 15, 0);
  check(std::integral_constant<reduction, reduction::mean>{}, bf16{}, 5, NAN);
  check(std::integral_constant<reduction, reduction::max>{}, f16{}, 6, -INFINITY);
  check(std::integral_constant<reduction, reduction::min>{}, 0.0f, 4, INFINITY);
  check(std::integral_constant<reduction, reduction::amax>{}, bf16{}, 6, 0);
}

// ROW-07: along rows and along columns; ROW-19: rows and columns of a slice with strides of its own.
TYPED_TEST(row_reductions, counts_beyond_65535_and_strides_of_their_own) {
  const std::size_t n = 65537;
  const auto x = values_of<float>(n * 4, [](std::size_t i) { return static_cast<double>(i % 4 + i / 4 % 5); });
  const auto xv = view_on<TypeParam>(this->input(x).data(), n, 4);
  auto& out = this->template output<float>(n);
  const auto check = [&](const char* what, int factor) {
    const auto y = out.values();
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], static_cast<float>(6 + factor * static_cast<int>(i % 5))) << what << i;
  };
  ASSERT_TRUE(row_reduce<reduction::sum>(this->executor(), xv, view_on<TypeParam>(out.data(), n)).ok());
  check("row ", 4);
  const index_t extents[] = {4, static_cast<index_t>(n)}, strides[] = {1, 4};
  ASSERT_TRUE(column_reduce<reduction::sum>(this->executor(), strided_on<TypeParam>(xv.data, extents, strides),
                                            view_on<TypeParam>(out.data(), n))
                  .ok());
  check("column ", 4);

  const auto buffer = uniform<float>(3 * 2 * 24, 75);
  const auto part = strided_on<TypeParam>(this->input(buffer).data() + 1, {3, 2, 5}, {48, 5, 1});
  auto &along = this->template output<float>(12), &down = this->template output<float>(5);
  ASSERT_TRUE(row_reduce<reduction::sum>(this->executor(), part, strided_on<TypeParam>(along.data(), {6}, {2})).ok());
  ASSERT_TRUE(column_reduce<reduction::sum>(this->executor(), part, view_on<TypeParam>(down.data(), 5)).ok());
  EXPECT_TRUE(along.wrote_only([](std::size_t i) { return i % 2 == 0; }));
  std::vector<double> columns(5, 0.0);
  for (std::size_t r = 0; r < 6; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < 5; ++c) {
      const double v = as_double(buffer[1 + r / 2 * 48 + r % 2 * 5 + c]);
      sum += v, columns[c] += v;
    }
    EXPECT_NEAR(static_cast<double>(along.values()[2 * r]), sum, 5 * 5 * unit);
  }
  for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(static_cast<double>(down.values()[c]), columns[c], 6 * 6 * unit);
}

// Few columns and many rows: with a workspace, clusters leave parts of the sums there. All sums are exact.
TYPED_TEST(row_reductions, columns_of_many_rows_are_exact_with_and_without_a_workspace) {
  using E = TypeParam;
  const auto check = [&]<class X>(X, std::size_t rows, std::size_t cols) {
    SCOPED_TRACE(std::string(name_of<X>()) + ", " + std::to_string(rows) + " x " + std::to_string(cols));
    const auto x = small_integers<X>(rows * cols, 90 + cols, -4, 4);
    const auto xv = view_on<E>(this->input(x).data(), rows, cols);
    std::vector<float> sums(cols, 0.0f), tops(cols, -INFINITY);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto v = static_cast<float>(as_double(x[i]));
      sums[i % cols] += v, tops[i % cols] = std::max(tops[i % cols], v);
    }
    std::size_t bytes = 0;
#if defined(__CUDACC__)
    if constexpr (!E::on_host) bytes = column_reduce_workspace_size(xv);
#endif
    auto& scratch = this->template output<float>(bytes / sizeof(float) + 1);
    for (const bool with : {false, true}) {
      auto ex = this->executor();
      if (with) ex.scratch = {scratch.data(), bytes};
      auto &sum = this->template output<float>(cols), &top = this->template output<float>(cols);
      auto& mean = this->template output<float>(cols);
      ASSERT_TRUE(column_reduce<reduction::sum>(ex, xv, view_on<E>(sum.data(), cols)).ok());
      ASSERT_TRUE(column_reduce<reduction::max>(ex, xv, view_on<E>(top.data(), cols)).ok());
      ASSERT_TRUE(column_reduce<reduction::mean>(ex, xv, view_on<E>(mean.data(), cols)).ok());
      EXPECT_EQ(sum.values(), sums);
      EXPECT_EQ(top.values(), tops);
      for (std::size_t c = 0; c < cols; ++c) EXPECT_EQ(mean.values()[c], sums[c] / static_cast<float>(rows));
    }
    if (bytes > 0) {
      auto ex = this->executor();
      auto& sum = this->template output<float>(bytes / sizeof(float));
      ex.scratch = {sum.data(), bytes};
      const status s = column_reduce<reduction::sum>(ex, xv, view_on<E>(sum.data(), cols));
      EXPECT_EQ(s.code(), errc::overlap);
      EXPECT_NE(s.message().find("the workspace"), std::string::npos) << s.message();
      EXPECT_TRUE(sum.untouched());
    }
  };
  check(0.0f, 60000, 1);
  check(0.0f, 60001, 5);
  check(0.0f, 20000, 16);
  check(bf16{}, 30000, 40);
  check(bf16{}, 5000, 264);
  check(bf16{}, 3, 5000);
}

/// Softmax by one configuration against float64; values in [-1, 1).
template <class Config, int Width, class Test>
void check_softmax(Test& test, const std::vector<float>& x, std::size_t count, std::size_t length, index_t blocks = 0) {
  using E = std::decay_t<decltype(test.executor())>;
  auto& out = test.template output<float>(count * length);
  const auto xv = view_on<E>(test.input(x).data(), count, length);
  const auto yv = view_on<E>(out.data(), count, length);
  rows::softmax_program<float, float> program{rows::input_of(xv), rows::operand_of(yv), 1, false, false};
  ASSERT_TRUE((rows::run_pinned<Config, Width>(test.executor(), "softmax", program, static_cast<index_t>(count),
                                               static_cast<index_t>(length), blocks)
                   .ok()));
  const auto y = out.values();
  for (std::size_t r = 0; r < count; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < length; ++c) sum += std::exp(as_double(x[r * length + c]));
    for (std::size_t c = 0; c < length; ++c) {
      const double expected = std::exp(as_double(x[r * length + c])) / sum;
      EXPECT_NEAR(as_double(y[r * length + c]), expected, (depth(static_cast<double>(length)) + 20) * unit * expected)
          << r << ", " << c;
    }
  }
}

// ROW-17: the last warp of a block is not whole.
template <int Threads, int Items, bool More = false, class Test>
void check_block(Test& test) {
  SCOPED_TRACE(std::to_string(Threads) + " threads, " + std::to_string(Items) + " items");
  using E = std::decay_t<decltype(test.executor())>;
  using pinned = rows::config<Threads, 1, Items>;
  const auto reduce = [&]<reduction Op>(std::integral_constant<reduction, Op>, const std::vector<float>& x) {
    auto& out = test.template output<float>(1);
    const auto xv = view_on<E>(test.input(x).data(), 1, x.size());
    rows::row_reduce_program<float, float, Op> program{rows::input_of(xv), rows::each_row(view_on<E>(out.data(), 1))};
    EXPECT_TRUE(
        (rows::run_pinned<pinned, 1>(test.executor(), "row_reduce", program, 1, static_cast<index_t>(x.size())).ok()));
    return static_cast<double>(out.values()[0]);
  };
  constexpr std::integral_constant<reduction, reduction::sum> sum{};
  constexpr std::integral_constant<reduction, reduction::max> maximum{};
  EXPECT_EQ(reduce(sum, std::vector<float>(180, 1.0f)), 180);
  EXPECT_EQ(reduce(maximum, std::vector<float>(180, -1.0f)), -1);
  // Every single place counts.
  std::vector<float> powers(180, 0.0f);
  for (std::size_t at = 0; at < 180; ++at) {
    powers[at] = 1;
    EXPECT_EQ(reduce(sum, powers), 1) << at;
    EXPECT_EQ(reduce(maximum, powers), 1) << at;
    powers[at] = 0;
  }
  if constexpr (More) {  // two reductions in one row, and one of 8 bytes
    const auto x = uniform<float>(3 * 180, 70);
    check_softmax<pinned, 1>(test, x, 3, 180);
    const auto xv = view_on<E>(test.input(x).data(), 3, 180);
    auto& where = test.template output<std::int32_t>(3, prefill::x55);
    rows::argmax_program<float> largest{rows::input_of(xv), rows::each_row(view_on<E>(where.data(), 3)), nullptr};
    ASSERT_TRUE((rows::run_pinned<pinned, 1>(test.executor(), "argmax", largest, 3, 180).ok()));
    for (std::ptrdiff_t r = 0; r < 3; ++r) {
      const auto first = x.begin() + 180 * r;
      EXPECT_EQ(where.values()[static_cast<std::size_t>(r)], std::max_element(first, first + 180) - first);
    }
  }
}
TYPED_TEST(row_reductions, odd_block_sizes_are_right_held_and_read_again) {
  check_block<129, 2, true>(*this);
  check_block<159, 2>(*this);
  check_block<180, 1>(*this);
  check_block<192, 1>(*this);
  check_block<129, 0>(*this);
  check_block<192, 0, true>(*this);
}

// The device's configurations run on the host too, and a grid smaller than the rows strides over them.
template <class Config, class Test>
void check_config(Test& test, std::size_t length = 24) {
  const std::size_t count = 37;
  const auto x = uniform<float>(count * length, 71);
  check_softmax<Config, 4>(test, x, count, length, 2);
}
TYPED_TEST(row_reductions, every_configuration_strides_over_the_rows) {
  check_config<rows::few_threads>(*this);
  check_config<rows::one_warp>(*this);
  check_config<rows::one_block>(*this);
  check_config<rows::wide_block>(*this);
  check_config<rows::endless_block>(*this);
  // Rows of whole chunks, half of what is held, and all of it.
  check_config<rows::whole_chunks<rows::config<32, 2, 1>>>(*this, 64);
  check_config<rows::whole_chunks<rows::blocks_of<64, 2>>>(*this, 256);
  check_config<rows::whole_chunks<rows::blocks_of<64, 2>>>(*this, 512);
}

/// Whether clusters can run where the test does.
template <class E>
bool has_clusters() {
#if defined(__CUDACC__)
  if constexpr (!E::on_host)
    return runs_hopper_code(
        rows::row_kernel<rows::blocks_of<64, 1, 2>, 4, rows::softmax_program<float, float>>);
#endif
  return true;
}
TYPED_TEST(row_reductions, clusters_share_rows) {
  if (!has_clusters<TypeParam>()) GTEST_SKIP() << "the GPU or the code for it has no clusters";
  const auto check = [&]<class Config>(Config, std::size_t length) {
    const auto x = uniform<float>(7 * length, 72);
    check_softmax<Config, 4>(*this, x, 7, length);
    check_softmax<Config, 4>(*this, x, 7, length, Config::blocks * 2);  // two clusters stride over the rows
  };
  check(rows::whole_chunks<rows::blocks_of<64, 1, 2>>{}, 512);
  check(rows::whole_chunks<rows::blocks_of<64, 1, 2>>{}, 300);
  check(rows::whole_chunks<rows::blocks_of<64, 1, 2>>{}, 100);  // one block has none of the row
  check(rows::whole_chunks<rows::blocks_of<64, 2, 8>>{}, 4096);
  check(rows::blocks_of<96, 0, 4>{}, 5000);
}

KILN_ON_EXECUTORS(argmax_kernel);

template <class X, class E, class Test>
std::vector<std::int32_t> argmax_of(Test& test, const std::vector<X>& x, std::size_t rows, int* flagged = nullptr) {
  auto& out = test.template output<std::int32_t>(rows, prefill::x55);
  guarded_output<std::int32_t, typename E::space> flag(std::vector<std::int32_t>{0});
  const status s = argmax(test.executor(), view_on<E>(test.input(x).data(), rows, x.size() / rows),
                          view_on<E>(out.data(), rows), flag.data());
  EXPECT_TRUE(s.ok()) << s.message();
  if (flagged != nullptr) *flagged = flag.values()[0];
  return out.values();
}

TYPED_TEST(argmax_kernel, finds_the_first_largest_at_every_length) {
  for (std::size_t cols : sizes{1, 2, 7, 33, 128, 129, 1024, 5000, 9001, 70000}) {
    const std::size_t rows = cols > 2000 ? 3 : 17;
    const auto x = small_integers<bf16>(rows * cols, 80 + cols, -100, 100);  // many ties
    const auto got = argmax_of<bf16, TypeParam>(*this, x, rows);
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < cols; ++c)
        if (as_double(x[r * cols + c]) > as_double(x[r * cols + best])) best = c;
      EXPECT_EQ(got[r], static_cast<std::int32_t>(best)) << cols << ", row " << r;
    }
  }
}

// GLM-11: NaN is the largest, and is flagged.
TYPED_TEST(argmax_kernel, nan_wins_and_is_flagged) {
  int flagged = 0;
  const float nan = NAN, inf = INFINITY;
  const auto of = [](const std::vector<float>& values) {
    std::vector<bf16> x;
    for (float v : values) x.push_back(bf16(v));
    return x;
  };
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({nan, nan}), 1, &flagged))[0], 0);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({1, nan, 2}), 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({1, -nan, inf}), 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({1, inf, 2}), 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({-inf, -inf}), 1, &flagged))[0], 0);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({-inf, -5, -inf, -4}), 1, &flagged))[0], 3);
  EXPECT_EQ(flagged, 0);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({-0.0f, 0.0f}), 1, &flagged))[0], 0);
  EXPECT_EQ((argmax_of<bf16, TypeParam>(*this, of({-3.3e38f, 3.3e38f}), 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 0);
}

TYPED_TEST(argmax_kernel, rows_without_columns_are_refused) {
  auto& out = this->template output<std::int32_t>(4);
  const auto x = this->input(std::vector<bf16>{bf16(1.0f)}).data();
  const status s = argmax(this->executor(), view_on<TypeParam>(x, 4, 0), view_on<TypeParam>(out.data(), 4));
  EXPECT_EQ(s.code(), errc::bad_shape);
  EXPECT_NE(s.message().find("`x`: has 0 columns"), std::string::npos) << s.message();
  EXPECT_TRUE(argmax(this->executor(), view_on<TypeParam>(x, 0, 9), view_on<TypeParam>(out.data(), 0)).ok());
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace kiln::test
