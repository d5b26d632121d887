// Ranges and histograms over many batches, and the scales made of them.
#include <algorithm>
#include <limits>
#include <kiln/calibrate.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint8_t;

template <class E>
class calibration : public on_executor<E> {
 public:
  template <class T>
  auto in(const std::vector<T>& values, index_t m, index_t n) {
    return view_on<E>(this->input(values).data(), m, n);
  }
  template <class T>
  auto out(std::size_t n) {
    return this->template output<T>(n, prefill::x55).data();
  }
};
TYPED_TEST_SUITE(calibration, executors, executor_names);

/// Guarded memory of n ranges.
template <class Fixture, class E>
struct ranges {
  guarded_output<float, typename E::space>&low, &high;
  guarded_output<int64_t, typename E::space>& ignored;
  index_t n;
  ranges(Fixture& test, std::size_t count)
      : low(test.template output<float>(count)),
        high(test.template output<float>(count)),
        ignored(test.template output<int64_t>(count, prefill::x55)),
        n(static_cast<index_t>(count)) {}
  auto tensor() const {
    return per_tensor_range(view_on<E>(low.data(), n), view_on<E>(high.data(), n), view_on<E>(ignored.data(), n));
  }
  auto rows() const {
    return per_row_ranges(view_on<E>(low.data(), n), view_on<E>(high.data(), n), view_on<E>(ignored.data(), n));
  }
  auto columns() const {
    return per_column_ranges(view_on<E>(low.data(), n), view_on<E>(high.data(), n), view_on<E>(ignored.data(), n));
  }
};
template <class Fixture>
auto ranges_for(Fixture& test, std::size_t count) {
  return ranges<Fixture, std::decay_t<decltype(test.executor())>>(test, count);
}

/// Three batches with a few values that are not finite, and what should be seen of them.
struct batches {
  static constexpr index_t m = 21, n = 70;
  std::vector<std::vector<float>> all;
  batches() {
    for (std::uint64_t b = 0; b < 3; ++b) {
      auto x = uniform<float>(m * n, 40 + b);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] *= 1 + static_cast<float>(i % 13) + static_cast<float>(i / n);
      x[3 * n + 5] = INFINITY, x[7 * n + 69] = -INFINITY, x[b * n] = NAN;
      all.push_back(x);
    }
  }
  struct seen {
    std::vector<float> low, high;
    std::vector<int64_t> ignored;
  };
  template <class Of>
  seen expected(std::size_t count, Of of) const {
    seen s{std::vector<float>(count), std::vector<float>(count), std::vector<int64_t>(count)};
    for (const auto& x : all)
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t at = of(i / n, i % n);
        if (!std::isfinite(x[i]))
          ++s.ignored[at];
        else
          s.low[at] = std::min(s.low[at], x[i]), s.high[at] = std::max(s.high[at], x[i]);
      }
    return s;
  }
};

template <class Fixture, class Ranges, class Seen, class Of>
void check_ranges(Fixture& test, const Ranges& memory, const Seen& seen, Of of) {
  const batches data;
  ASSERT_TRUE(forget(test.executor(), seen).ok());
  for (const auto& x : data.all) {
    const status s = observe(test.executor(), test.in(x, batches::m, batches::n), seen);
    ASSERT_TRUE(s.ok()) << s.message();
  }
  const auto want = data.expected(static_cast<std::size_t>(memory.n), of);
  EXPECT_EQ(memory.low.values(), want.low);
  EXPECT_EQ(memory.high.values(), want.high);
  EXPECT_EQ(memory.ignored.values(), want.ignored);
}

TYPED_TEST(calibration, ranges_of_tensor_rows_and_columns_over_batches) {
  const auto all = ranges_for(*this, 1), rows = ranges_for(*this, batches::m), columns = ranges_for(*this, batches::n);
  check_ranges(*this, all, all.tensor(), [](std::size_t, std::size_t) { return 0u; });
  check_ranges(*this, rows, rows.rows(), [](std::size_t i, std::size_t) { return i; });
  check_ranges(*this, columns, columns.columns(), [](std::size_t, std::size_t j) { return j; });

  // The scales are those that quantise would compute of all batches at once.
  using E = TypeParam;
  auto& s = this->template output<float>(batches::m);
  auto& z = this->template output<uint8_t>(batches::m, prefill::x55);
  const auto symmetric = per_row_scales(view_on<E>(s.data(), batches::m));
  ASSERT_TRUE(make_scales<int8_t>(this->executor(), rows.rows(), symmetric).ok());
  const auto low = rows.low.values(), high = rows.high.values();
  for (std::size_t i = 0; i < batches::m; ++i) EXPECT_EQ(s.values()[i], std::max(-low[i], high[i]) / 127);
  ASSERT_TRUE(
      make_scales<uint8_t>(this->executor(), rows.rows(), symmetric.with_zero_points(view_on<E>(z.data(), batches::m)))
          .ok());
  for (std::size_t i = 0; i < batches::m; ++i) {
    const double scale = as_double(s.values()[i]);
    EXPECT_NEAR(scale, (as_double(high[i]) - as_double(low[i])) / 255, 2 * unit * scale);
    EXPECT_NEAR(static_cast<double>(z.values()[i]), -as_double(low[i]) / scale, 0.5 + 1e-4);
  }
  auto& t = this->template output<float>(batches::n);
  ASSERT_TRUE(
      make_scales<e4m3>(this->executor(), columns.columns(), per_column_scales(view_on<E>(t.data(), batches::n))).ok());
  for (std::size_t j = 0; j < batches::n; ++j)
    EXPECT_EQ(t.values()[j], std::max(-columns.low.values()[j], columns.high.values()[j]) / 448);
}

/// Groups along either axis; the last one is shorter, or the only one.
TYPED_TEST(calibration, ranges_of_groups_over_batches) {
  using E = TypeParam;
  constexpr index_t m = batches::m, n = batches::n;
  const auto check = [&](auto axis, index_t group) {
    constexpr int along = decltype(axis)::value;
    const index_t sm = along == 0 ? (m - 1) / group + 1 : m, sn = along == 1 ? (n - 1) / group + 1 : n;
    const auto memory = ranges_for(*this, static_cast<std::size_t>(sm * sn));
    const auto seen =
        per_group_ranges<along>(view_on<E>(memory.low.data(), sm, sn), view_on<E>(memory.high.data(), sm, sn),
                                view_on<E>(memory.ignored.data(), sm, sn), group);
    check_ranges(*this, memory, seen, [&](std::size_t i, std::size_t j) {
      const auto g = static_cast<std::size_t>(group), wide = static_cast<std::size_t>(sn);
      return along == 0 ? i / g * wide + j : i * wide + j / g;
    });
    auto& s = this->template output<float>(static_cast<std::size_t>(sm * sn));
    const auto sv = view_on<E>(s.data(), sm, sn);
    ASSERT_TRUE(make_scales<int8_t>(this->executor(), seen, per_group_scales<along>(sv, group)).ok());
    for (std::size_t i = 0; i < s.size(); ++i)
      ASSERT_EQ(s.values()[i], std::max(-memory.low.values()[i], memory.high.values()[i]) / 127);
    const status other = make_scales<int8_t>(this->executor(), seen, per_group_scales<along>(sv, group + 1));
    EXPECT_EQ(other.code(), errc::bad_option) << other.message();
  };
  for (const index_t group : {16, 100}) {
    check(std::integral_constant<int, 0>{}, group);
    check(std::integral_constant<int, 1>{}, group);
  }
}

// QNT-14, QNT-12, QNT-13
TYPED_TEST(calibration, extreme_constant_and_one_sided_values) {
  using E = TypeParam;
  const auto seen = ranges_for(*this, 1);
  auto& scale = this->template output<float>(1);
  auto& zero = this->template output<int32_t>(1);
  const auto symmetric = per_tensor_scale(view_on<E>(scale.data(), 1));
  const auto affine = symmetric.with_zero_points(view_on<E>(zero.data(), 1));
  const auto check = [&](std::vector<float> x, float low, float high, int64_t ignored) {
    ASSERT_TRUE(forget(this->executor(), seen.tensor()).ok());
    ASSERT_TRUE(observe(this->executor(), view_on<E>(this->input(x).data(), x.size()), seen.tensor()).ok());
    EXPECT_EQ(seen.low.values()[0], low);
    EXPECT_EQ(seen.high.values()[0], high);
    EXPECT_EQ(seen.ignored.values()[0], ignored);
    ASSERT_TRUE(make_scales<int8_t>(this->executor(), seen.tensor(), symmetric).ok());
    const float amax = std::max(-low, high);
    EXPECT_EQ(scale.values()[0], amax == 0 ? 1 : amax / 127);
    ASSERT_TRUE(make_scales<uint8_t>(this->executor(), seen.tensor(), affine).ok());
    const float s = scale.values()[0];
    EXPECT_TRUE(std::isfinite(s) && s > 0);
    const float all = high / 255 - low / 255, most = std::numeric_limits<float>::max() / 128;
    if (all > most)
      EXPECT_TRUE(s <= most && s >= most * (1 - 0x1p-8f)) << s;
    else if (high > low)
      EXPECT_FLOAT_EQ(s, all);
    else
      EXPECT_EQ(s, 1);
    EXPECT_NEAR(static_cast<float>(zero.values()[0]), -low / s, 0.5001f);
    EXPECT_TRUE(zero.values()[0] >= 0 && zero.values()[0] <= 255);
  };
  check({1, 2, INFINITY, -INFINITY, NAN, 3.4e38f}, 0, 3.4e38f, 3);
  check({1, -3.4e38f, 3.4e38f, NAN}, -3.4e38f, 3.4e38f, 1);
  check({5, 5, 5}, 0, 5, 0);
  check({-5}, -5, 0, 0);
  check({1, 2, 3}, 0, 3, 0);
  check({-3, -1}, -3, 0, 0);
  check({0, 0}, 0, 0, 0);
  check({NAN, INFINITY}, 0, 0, 2);
}

/// The row maxima of an epilogue are a batch.
TYPED_TEST(calibration, row_maxima_are_a_batch) {
  using E = TypeParam;
  const auto rows = ranges_for(*this, 3), all = ranges_for(*this, 1);
  auto& s = this->template output<float>(3);
  ASSERT_TRUE(forget(this->executor(), rows.rows()).ok());
  ASSERT_TRUE(forget(this->executor(), all.tensor()).ok());
  for (const auto& amax : {std::vector<float>{1, 8, 2}, std::vector<float>{3, 4, 2}}) {
    ASSERT_TRUE(observe(this->executor(), this->in(amax, 3, 1), rows.rows()).ok());
    ASSERT_TRUE(observe(this->executor(), view_on<E>(this->input(amax).data(), 3), all.tensor()).ok());
  }
  ASSERT_TRUE(make_scales<int8_t>(this->executor(), rows.rows(), per_row_scales(view_on<E>(s.data(), 3))).ok());
  EXPECT_EQ(s.values(), (std::vector<float>{3.0f / 127, 8.0f / 127, 2.0f / 127}));
  ASSERT_TRUE(make_scales<int8_t>(this->executor(), all.tensor(), per_tensor_scale(view_on<E>(s.data(), 1))).ok());
  EXPECT_EQ(s.values()[0], 8.0f / 127);
}

TYPED_TEST(calibration, wrong_arguments_are_refused) {
  using E = TypeParam;
  const auto rows = ranges_for(*this, 3);
  auto& s = this->template output<float>(4);
  const auto x = this->in(std::vector<float>(8, 1.0f), 4, 2);
  const auto expect = [&](const status& got, errc code, const char* text) {
    EXPECT_EQ(name_of(got.code()), name_of(code)) << got.message();
    EXPECT_NE(got.message().find(text), std::string::npos) << got.message();
  };
  expect(observe(this->executor(), x, rows.rows()), errc::bad_shape, "operand `low`: has 3 elements, needs 4");
  expect(observe(this->executor(), x, rows.columns()), errc::bad_shape, "operand `low`: has 3 elements, needs 2");
  expect(forget(this->executor(), rows.tensor()), errc::bad_shape, "operand `low`: has 3 elements, needs 1");
  expect(make_scales<int8_t>(this->executor(), rows.rows(), per_row_scales(view_on<E>(s.data(), 4))), errc::bad_shape,
         "operand `scales`: axis 0 has extent 4, needs 3");
  expect(make_scales<int8_t>(this->executor(), rows.rows(), per_row_scales(view_on<E>(rows.low.data(), 3))),
         errc::overlap, "operand `scales`: shares memory with `low`");
  EXPECT_TRUE(rows.low.untouched() && rows.high.untouched() && rows.ignored.untouched() && s.untouched());
}

}  // namespace
}  // namespace kiln::test
