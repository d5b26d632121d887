// Reductions along rows and columns, argmax, and blocks whose last warp is not whole.
#include <kiln/argmax.hpp>
#include <kiln/reduce.hpp>
#include <kiln/softmax.hpp>

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

template <reduction Op, class X, class Y, class Test>
void check_both(Test& test, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of<X>()) + ", " + std::to_string(rows) + " x " + std::to_string(cols) + ", reduction " +
               std::to_string(static_cast<int>(Op)));
  using E = std::decay_t<decltype(test.executor())>;
  const auto x = uniform<X>(rows * cols, seed);
  const auto xv = view_on<E>(test.input(x).data(), rows, cols);
  auto &along = test.template output<Y>(rows), &down = test.template output<Y>(cols);
  ASSERT_TRUE(row_reduce<Op>(test.executor(), xv, view_on<E>(along.data(), rows)).ok());
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

// ROW-05: identities of maxima and minima.
TYPED_TEST(row_reductions, extremes_start_from_infinities) {
  auto& out = this->template output<f16>(1);
  const auto to = view_on<TypeParam>(out.data(), 1);
  const std::vector<f16> negative{f16(-200.0f), f16(-201.0f), f16(-202.0f)}, infinite(2, limits<f16>::infinity());
  ASSERT_TRUE(
      row_reduce<reduction::max>(this->executor(), view_on<TypeParam>(this->input(negative).data(), 1, 3), to).ok());
  EXPECT_EQ(as_double(out.values()[0]), -200);
  ASSERT_TRUE(
      row_reduce<reduction::min>(this->executor(), view_on<TypeParam>(this->input(infinite).data(), 1, 2), to).ok());
  EXPECT_EQ(as_double(out.values()[0]), INFINITY);
}

TYPED_TEST(row_reductions, nan_wins_and_nothing_gives_the_identity) {
  auto& out = this->template output<float>(2);
  const auto to = view_on<TypeParam>(out.data(), 2);
  const auto x = view_on<TypeParam>(this->input(std::vector<float>{1, NAN, 3, 4, 5, 6}).data(), 2, 3);
  const auto check = [&](auto op, double of_row, double of_nothing) {
    constexpr reduction reduce = decltype(op)::value;
    ASSERT_TRUE(row_reduce<reduce>(this->executor(), x, to).ok());
    EXPECT_TRUE(std::isnan(out.values()[0]));
    EXPECT_EQ(static_cast<double>(out.values()[1]), of_row);
    ASSERT_TRUE(
        row_reduce<reduce>(this->executor(), view_on<TypeParam>(this->input(std::vector<float>{1}).data(), 2, 0), to)
            .ok());
    for (float v : out.values())
      EXPECT_TRUE(static_cast<double>(v) == of_nothing || (std::isnan(v) && std::isnan(of_nothing)));
    ASSERT_TRUE(
        column_reduce<reduce>(this->executor(), view_on<TypeParam>(this->input(std::vector<float>{1}).data(), 0, 2), to)
            .ok());
    for (float v : out.values())
      EXPECT_TRUE(static_cast<double>(v) == of_nothing || (std::isnan(v) && std::isnan(of_nothing)));
  };
  check(std::integral_constant<reduction, reduction::sum>{}, 15, 0);
  check(std::integral_constant<reduction, reduction::mean>{}, 5, NAN);
  check(std::integral_constant<reduction, reduction::max>{}, 6, -INFINITY);
  check(std::integral_constant<reduction, reduction::min>{}, 4, INFINITY);
  check(std::integral_constant<reduction, reduction::amax>{}, 6, 0);
}

// ROW-17: the last warp of a block is not whole.
template <int Threads, int Items, class Test>
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
  const auto x = uniform<float>(3 * 180, 70);
  auto &out = test.template output<float>(3 * 180), &expected = test.template output<float>(3 * 180);
  const auto xv = view_on<E>(test.input(x).data(), 3, 180);
  const auto yv = view_on<E>(out.data(), 3, 180);
  rows::softmax_program<float, float> program{rows::input_of(xv), rows::operand_of(yv), 1, false, false};
  ASSERT_TRUE((rows::run_pinned<pinned, 1>(test.executor(), "softmax", program, 3, 180).ok()));
  ASSERT_TRUE(softmax(test.executor(), xv, view_on<E>(expected.data(), 3, 180)).ok());
  const auto a = out.values(), b = expected.values();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(static_cast<double>(a[i]), static_cast<double>(b[i]),
                2 * depth(180) * unit * static_cast<double>(b[i]));
}
TYPED_TEST(row_reductions, odd_block_sizes_are_right_held_and_read_again) {
  check_block<129, 2>(*this);
  check_block<159, 2>(*this);
  check_block<180, 1>(*this);
  check_block<192, 1>(*this);
  check_block<129, 0>(*this);
  check_block<192, 0>(*this);
}

// The device's configurations run on the host too, and a grid smaller than the rows strides over them.
template <class Config, class Test>
void check_config(Test& test) {
  using E = std::decay_t<decltype(test.executor())>;
  const std::size_t count = 37, length = 24;
  const auto x = uniform<float>(count * length, 71);
  auto &out = test.template output<float>(count * length), &expected = test.template output<float>(count * length);
  const auto xv = view_on<E>(test.input(x).data(), count, length);
  const auto yv = view_on<E>(out.data(), count, length);
  rows::softmax_program<float, float> program{rows::input_of(xv), rows::operand_of(yv), 1, false, false};
  ASSERT_TRUE((rows::run_pinned<Config, 4>(test.executor(), "softmax", program, count, length, 2).ok()));
  ASSERT_TRUE(softmax(test.executor(), xv, view_on<E>(expected.data(), count, length)).ok());
  const auto a = out.values(), b = expected.values();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(static_cast<double>(a[i]), static_cast<double>(b[i]), 2 * depth(24) * unit * static_cast<double>(b[i]))
        << i;
}
TYPED_TEST(row_reductions, every_configuration_strides_over_the_rows) {
  check_config<rows::few_threads>(*this);
  check_config<rows::one_warp>(*this);
  check_config<rows::one_block>(*this);
  check_config<rows::wide_block>(*this);
  check_config<rows::endless_block>(*this);
}

// ROW-08 and ROW-22 without their memory: offsets just below and above 2^31 and 2^32.
TEST(row_offsets, are_64_bit) {
  const bf16* none = nullptr;
  const auto tall = rows::input_of(host_view(none, 524290, 4096));
  EXPECT_EQ(tall.offset(524287), 2147479552);
  EXPECT_EQ(tall.offset(524288), 2147483648);
  EXPECT_EQ(tall.offset(524289), 2147487744);
  const auto pairs = rows::input_of(host_view(none, 2200000000, 2));
  EXPECT_EQ(pairs.offset(1073741823), 2147483646);
  EXPECT_EQ(pairs.offset(1073741824), 2147483648);
  EXPECT_EQ(pairs.offset(2147483648), 4294967296);
  EXPECT_EQ(pairs.offset(2199999999), 4399999998);
  // Axes that do not join: [3, 5e9, 7, 2] with gaps.
  const index_t extents[] = {3, 5000000000, 7, 2}, strides[] = {200000000000, 30, 3, 1};
  const auto gaps = rows::input_of(host_view(none, extents, strides));
  EXPECT_EQ(gaps.offset((2 * 5000000000 + 4999999999) * 7 + 6), 2 * 200000000000 + 4999999999 * 30 + 6 * 3);
  EXPECT_EQ(gaps.offset(4294967297 * 7 + 5), 4294967297 * 30 + 5 * 3);
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
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {nan, nan}, 1, &flagged))[0], 0);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {1, nan, 2}, 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {1, -nan, inf}, 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {1, inf, 2}, 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {-inf, -inf}, 1, &flagged))[0], 0);
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {-inf, -5, -inf, -4}, 1, &flagged))[0], 3);
  EXPECT_EQ(flagged, 0);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {-0.0f, 0.0f}, 1, &flagged))[0], 0);
  EXPECT_EQ((argmax_of<float, TypeParam>(*this, {-3.4028235e38f, 3.4028235e38f}, 1, &flagged))[0], 1);
  EXPECT_EQ(flagged, 0);
}

TYPED_TEST(argmax_kernel, rows_without_columns_are_refused) {
  auto& out = this->template output<std::int32_t>(4);
  const auto x = this->input(std::vector<float>{1}).data();
  const status s = argmax(this->executor(), view_on<TypeParam>(x, 4, 0), view_on<TypeParam>(out.data(), 4));
  EXPECT_EQ(s.code(), errc::bad_shape);
  EXPECT_NE(s.message().find("`x`: has 0 columns"), std::string::npos) << s.message();
  EXPECT_TRUE(argmax(this->executor(), view_on<TypeParam>(x, 0, 9), view_on<TypeParam>(out.data(), 0)).ok());
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace kiln::test
