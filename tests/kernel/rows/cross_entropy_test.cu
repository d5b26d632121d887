// Cross-entropy and log-sum-exp against float64; targets that are ignored, smoothed, or no class at all.
#include <kiln/cross_entropy.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(cross_entropy_rows);

struct reference {
  std::vector<double> loss, loss_bound, log_sum, log_sum_bound;
};

template <class X>
reference reference_of(const std::vector<X>& x, const std::vector<std::int32_t>& targets, double smoothing) {
  reference r;
  const std::size_t cols = x.size() / targets.size();
  const auto n = static_cast<double>(cols);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto at = [&](std::size_t c) { return as_double(x[i * cols + c]); };
    double top = -INFINITY, sum = 0, mean = 0;
    for (std::size_t c = 0; c < cols; ++c) top = std::max(top, at(c));
    for (std::size_t c = 0; c < cols; ++c) {
      sum += std::exp(at(c) - top);
      mean += at(c) / n;
    }
    const double distance = top - at(static_cast<std::size_t>(targets[i]));
    const double loss = std::log(sum) + (1 - smoothing) * distance + smoothing * (top - mean);
    // A step of the running sum rounds an exponential (2 ulp, and its argument), a product and an addition.
    const double of_log = unit * (7 * depth(n) + 4 * std::log(sum));
    // Each term is a difference to the largest value, and all have one sign.
    const double of_mean = unit * (depth(n) + 4) * (top - mean);
    r.loss.push_back(loss);
    r.loss_bound.push_back(of_log + unit * 4 * (distance + loss) + smoothing * of_mean + 0x1p-126);
    r.log_sum.push_back(top + std::log(sum));
    r.log_sum_bound.push_back(of_log + unit * std::abs(r.log_sum.back()));
  }
  return r;
}

// On the device f16 and targets of 64 bits take one kernel instead of the seven that a public call chooses from: the
// choice does not depend on the types, and each kernel costs its time to compile. That one takes aligned rows, or a
// single one.
template <class E, class X, class Id, class L>
status cross_entropy_in(const E& ex, const X& x, const Id& targets, const L& loss, const L& log_sum,
                        cross_entropy_options options, std::int32_t* flag) {
  using from = typename X::value_type;
  using id = typename Id::value_type;
  if constexpr ((!std::is_same_v<from, f16> && sizeof(id) == 4) || E::on_host) {
    return cross_entropy(ex, x, targets, loss, log_sum, options, flag);
  } else {
    using program = rows::cross_entropy_program<from, id>;
    return rows::run_pinned<rows::one_block, rows::chunk_width<program>>(
        ex, "cross_entropy",
        program{rows::input_of(x), rows::each_row(targets), rows::each_row(loss), rows::each_row(log_sum),
                options.ignore_index, options.label_smoothing, flag},
        rows::count(x), rows::length(x));
  }
}

template <class X, class Test>
void check_shape(Test& test, std::size_t rows, std::size_t cols, double offset, float smoothing, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of<X>()) + ", " + std::to_string(rows) + " x " + std::to_string(cols));
  using E = std::decay_t<decltype(test.executor())>;
  std::vector<X> x = uniform<X>(rows * cols, seed);
  for (auto& v : x) v = value_of<X>(8 * as_double(v) + offset);
  std::vector<std::int32_t> targets;
  for (std::size_t r = 0; r < rows; ++r) targets.push_back(static_cast<std::int32_t>(hash(seed, r) % cols));
  auto &loss = test.template output<float>(rows), &log_sum = test.template output<float>(rows);
  const status s = cross_entropy_in(test.executor(), view_on<E>(test.input(x).data(), rows, cols),
                                    view_on<E>(test.input(targets).data(), rows), view_on<E>(loss.data(), rows),
                                    view_on<E>(log_sum.data(), rows), {.label_smoothing = smoothing}, nullptr);
  ASSERT_TRUE(s.ok()) << s.message();
  const auto r = reference_of(x, targets, static_cast<double>(smoothing));
  EXPECT_TRUE(near(loss.values(), r.loss, r.loss_bound)) << "loss";
  EXPECT_TRUE(near(log_sum.values(), r.log_sum, r.log_sum_bound)) << "log_sum";
}

TYPED_TEST(cross_entropy_rows, agrees_with_float64_at_every_length) {
  std::uint64_t seed = 100;
  for (std::size_t cols : sizes{1, 2, 7, 33, 128, 129, 1024, 1025, 8200, 40001, 151552}) {
    const std::size_t rows = cols > 2000 ? 2 : 35;
    check_shape<bf16>(*this, rows, cols, 0, 0, ++seed);
    check_shape<float>(*this, rows, cols, 0, 0.1f, ++seed);
  }
  check_shape<f16>(*this, 5, 1000, 0, 0.25f, ++seed);
}

// Logits far from zero cost no digits of the loss, smoothed or not.
TYPED_TEST(cross_entropy_rows, large_offset_keeps_its_digits) {
  for (float smoothing : {0.0f, 0.5f, 1.0f}) check_shape<float>(*this, 3, 1000, 4096, smoothing, 140);
}

/// Loss of rows of float logits; the flag behind it.
template <class E, class Id = std::int32_t, class Test>
std::vector<double> loss_of(Test& test, const std::vector<float>& x, const std::vector<Id>& targets,
                            cross_entropy_options options = {}, std::vector<double>* log_sums = nullptr) {
  const std::size_t rows = targets.size();
  auto &loss = test.template output<float>(rows), &log_sum = test.template output<float>(rows);
  guarded_output<std::int32_t, typename E::space> flag(std::vector<std::int32_t>{0});
  const auto xv = view_on<E>(test.input(x).data(), rows, x.size() / rows);
  const auto tv = view_on<E>(test.input(targets).data(), rows);
  const auto lv = view_on<E>(loss.data(), rows);
  const status s =
      cross_entropy_in(test.executor(), xv, tv, lv, view_on<E>(log_sum.data(), rows), options, flag.data());
  EXPECT_TRUE(s.ok()) << s.message();
  if (log_sums != nullptr) *log_sums = as_double(log_sum.values());
  auto r = as_double(loss.values());
  r.push_back(flag.values()[0]);
  return r;
}

// No byte is read at a target that is no class: around the logits lies memory that may not be read.
TYPED_TEST(cross_entropy_rows, targets_outside_the_classes_are_nan_and_flagged) {
  for (std::int32_t bad : {-1, 3, 4, -2147483647 - 1, 2147483647}) {
    const auto y = loss_of<TypeParam>(*this, {1, 2, 3, 1, 1, 1, 3, 2, 1}, std::vector<std::int32_t>{0, bad, 0});
    EXPECT_NEAR(y[0], std::log(std::exp(-2) + std::exp(-1) + 1) + 2, 1e-6) << bad;
    EXPECT_TRUE(std::isnan(y[1])) << bad;
    EXPECT_NEAR(y[2], std::log(std::exp(-2) + std::exp(-1) + 1), 1e-6) << bad;
    EXPECT_EQ(y[3], 1) << bad;
  }
  const auto wide =
      loss_of<TypeParam>(*this, {1, 1, 1, 1, 1, 1, 1, 1}, std::vector<std::int64_t>{std::int64_t{1} << 32, 1});
  EXPECT_TRUE(std::isnan(wide[0]));
  EXPECT_NEAR(wide[1], std::log(4.0), 1e-6);
  EXPECT_EQ(wide[2], 1);
}

TYPED_TEST(cross_entropy_rows, ignored_targets_have_loss_zero_whatever_their_row) {
  std::vector<double> log_sums;
  const auto y =
      loss_of<TypeParam>(*this, {1, 1, NAN, 1, 1, 1}, std::vector<std::int32_t>{-100, -100, 0}, {}, &log_sums);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_NEAR(y[2], std::log(2.0), 1e-6);
  EXPECT_EQ(y[3], 0);
  EXPECT_NEAR(log_sums[0], 1 + std::log(2.0), 1e-6);
  EXPECT_TRUE(std::isnan(log_sums[1]));
  // A class may be the ignored one, and then -100 is a wrong target.
  const auto z = loss_of<TypeParam>(*this, {1, 1, 1, 1}, std::vector<std::int32_t>{1, -100}, {.ignore_index = 1});
  EXPECT_EQ(z[0], 0);
  EXPECT_TRUE(std::isnan(z[1]));
  EXPECT_EQ(z[2], 1);
}

TYPED_TEST(cross_entropy_rows, infinities_and_nan_follow_the_documented_policy) {
  const float inf = INFINITY;
  std::vector<double> log_sums;
  const std::vector<float> x{-inf, 0, 0, -inf, 0, 0, inf, 0, inf, inf, 0, 0, -inf, -inf, -inf, NAN, 1, 2};
  const auto y = loss_of<TypeParam>(*this, x, std::vector<std::int32_t>{0, 1, 1, 0, 0, 1}, {}, &log_sums);
  EXPECT_EQ(y[0], INFINITY);
  EXPECT_NEAR(y[1], std::log(2.0), 1e-6);
  for (std::size_t r : sizes{2, 3, 4, 5}) EXPECT_TRUE(std::isnan(y[r])) << r;
  EXPECT_EQ(log_sums[2], INFINITY);
  EXPECT_EQ(log_sums[3], INFINITY);
  EXPECT_EQ(log_sums[4], -INFINITY);
  EXPECT_TRUE(std::isnan(log_sums[5]));
  EXPECT_EQ(y[6], 0) << "no target was wrong";
  // Smoothing spreads some of the target to a class that cannot be.
  for (float smoothing : {0.5f, 1.0f})
    for (std::int32_t target : {0, 1})
      EXPECT_EQ((loss_of<TypeParam>(*this, {-inf, 0, 0}, std::vector<std::int32_t>{target},
                                    {.label_smoothing = smoothing}))[0],
                INFINITY);
  // A class that is masked by the lowest number costs a loss that is large, and finite wherever it is one of float32.
  const float low = limits<float>::lowest(), most = -low;
  const auto of = [&](const std::vector<float>& row, std::int32_t target, float smoothing) {
    return loss_of<TypeParam>(*this, row, std::vector<std::int32_t>{target}, {.label_smoothing = smoothing})[0];
  };
  const double far = static_cast<double>(most), tenth = static_cast<double>(0.1f), near_one = 1e-6;
  EXPECT_NEAR(of({low, 1, 2, 3}, 2, 0.1f) / far, tenth / 4, near_one);
  EXPECT_NEAR(of({1, low, low, 3}, 0, 0.1f) / far, tenth / 2, near_one);
  EXPECT_NEAR(of({low, low, low, most}, 3, 0.5f) / far, 0.75, near_one);
  EXPECT_EQ(of({low, most}, 0, 0.0625f), INFINITY);
  EXPECT_NEAR(of({low, most, most, most}, 0, 0.75f) / far, 0.875, near_one);
  // ROW-03 and ROW-04: no exponential of a large argument.
  EXPECT_NEAR((loss_of<TypeParam>(*this, {1000, 1001, 1002}, std::vector<std::int32_t>{0}))[0], 2.407606, 1e-6);
  EXPECT_NEAR((loss_of<TypeParam>(*this, std::vector<float>(512, -1000.0f), std::vector<std::int32_t>{7}))[0],
              std::log(512.0), 1e-6);
}

TYPED_TEST(cross_entropy_rows, any_strides_equal_the_packed_copy) {
  const auto x = uniform<bf16>(3 * 2 * 64, 150);
  const std::vector<std::int32_t> targets{5, -1, 0, -1, 45, -1, 3, -1, 7, -1, 8, -1};
  std::vector<bf16> packed;
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t c = 0; c < 46; ++c) packed.push_back(x[r * 64 + 1 + c]);
  auto &a = this->template output<float>(18), &b = this->template output<float>(6);
  const index_t extents[] = {3, 2, 46}, strides[] = {128, 64, 1}, six[] = {6}, two[] = {2}, three[] = {3};
  const auto tv = strided_on<TypeParam>(this->input(targets).data(), six, two);
  ASSERT_TRUE(cross_entropy(this->executor(), strided_on<TypeParam>(this->input(x).data() + 1, extents, strides), tv,
                            strided_on<TypeParam>(a.data(), six, three))
                  .ok());
  ASSERT_TRUE(cross_entropy(this->executor(), view_on<TypeParam>(this->input(packed).data(), 6, 46), tv,
                            view_on<TypeParam>(b.data(), 6))
                  .ok());
  EXPECT_TRUE(a.wrote_only([](std::size_t i) { return i % 3 == 0; }));
  const auto y = a.values(), z = b.values();
  for (std::size_t r = 0; r < 6; ++r)
    EXPECT_NEAR(static_cast<double>(y[3 * r]), static_cast<double>(z[r]), 2 * 7 * unit * depth(46)) << r;
}

// ROW-07: row counts beyond the limit of a grid's y and z.
TYPED_TEST(cross_entropy_rows, counts_beyond_65535_are_all_done) {
  const std::size_t rows = 65537;
  const auto x = values_of<float>(rows * 4, [](std::size_t i) { return static_cast<double>(i % 4); });
  const auto y = loss_of<TypeParam>(*this, x, std::vector<std::int32_t>(rows, 3));
  for (std::size_t r = 0; r < rows; ++r) ASSERT_NEAR(y[r], 0.44018969856119544, 1e-6) << r;
}

TYPED_TEST(cross_entropy_rows, wrong_arguments_are_named_and_empty_ones_succeed) {
  auto& out = this->template output<float>(4);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(12, 160)).data(), 4, 3);
  const auto t = view_on<TypeParam>(this->input(std::vector<std::int32_t>(4, 1)).data(), 4);
  const auto y = view_on<TypeParam>(out.data(), 4);
  EXPECT_EQ(cross_entropy(this->executor(), x, view_on<TypeParam>(t.data, 3), y).message(),
            "bad shape: cross_entropy: operand `targets`: has 3 elements, needs 4 (the rows of `logits`)");
  EXPECT_EQ(cross_entropy(this->executor(), x, t, view_on<TypeParam>(y.data, 1)).code(), errc::bad_shape);
  EXPECT_EQ(cross_entropy(this->executor(), x, t, y, view_on<TypeParam>(y.data, 4)).message(),
            "overlap: cross_entropy: operand `log_sum`: shares memory with `loss`, needs memory of its own");
  EXPECT_EQ(cross_entropy(this->executor(), view_on<TypeParam>(x.data, 4, 0), t, y).message(),
            "bad shape: cross_entropy: operand `logits`: has 0 columns, needs at least 1 class");
  EXPECT_EQ(
      cross_entropy(this->executor(), x, view_on<TypeParam>(static_cast<const std::int32_t*>(nullptr), 4), y).code(),
      errc::null_pointer);
  for (float bad : {-0.5f, 1.5f, NAN})
    EXPECT_EQ(cross_entropy(this->executor(), x, t, y, {.label_smoothing = bad}).code(), errc::bad_option);
  // ROW-23
  for (index_t cols : {0, 3})
    EXPECT_TRUE(cross_entropy(this->executor(), view_on<TypeParam>(x.data, 0, cols), view_on<TypeParam>(t.data, 0),
                              view_on<TypeParam>(y.data, 0))
                    .ok());
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(cross_entropy(this->executor(), x, t, y).ok());
}

}  // namespace
}  // namespace kiln::test
