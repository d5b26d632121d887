// Scales of groups and columns, symmetric: shapes, sizes of groups, strides, 8-bit floats that do not saturate.
#include <kiln/quantise.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

using std::int8_t;

template <class E>
class quantise_groups : public on_executor<E> {
 public:
  template <class T>
  auto in(const std::vector<T>& values, index_t m, index_t n) {
    return view_on<E>(this->input(values).data(), m, n);
  }
  /// Codes and scales of a matrix in groups along axis `Axis`.
  struct results {
    std::vector<int8_t> q;
    std::vector<float> scales;
  };
  template <int Axis, class X>
  results in_groups(const std::vector<X>& x, index_t m, index_t n, index_t group) {
    const index_t sm = Axis == 0 ? (m - 1) / group + 1 : m, sn = Axis == 1 ? (n - 1) / group + 1 : n;
    auto& q = this->template output<int8_t>(x.size(), prefill::x55);
    auto& scales = this->template output<float>(static_cast<std::size_t>(sm * sn));
    const status s = quantise(this->executor(), in(x, m, n), view_on<E>(q.data(), m, n),
                              per_group_scales<Axis>(view_on<E>(scales.data(), sm, sn), group));
    EXPECT_TRUE(s.ok()) << s.message();
    return {q.values(), scales.values()};
  }
};
TYPED_TEST_SUITE(quantise_groups, executors, executor_names);

/// Every group has its own amax, and codes are exactly the rounded quotients.
template <int Axis, class Fixture>
void check(Fixture& test, index_t m, index_t n, index_t group) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << ", groups of " << group << " along axis " << Axis);
  auto x = uniform<float>(static_cast<std::size_t>(m * n), 11);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= 1 + static_cast<float>(i % 97);
  const auto got = test.template in_groups<Axis>(x, m, n, group);
  const index_t wide = Axis == 1 ? (n - 1) / group + 1 : n;
  const auto of = [&](index_t i, index_t j) {
    return static_cast<std::size_t>(Axis == 1 ? i * wide + j / group : i / group * wide + j);
  };
  std::vector<float> amax(got.scales.size());
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j)
      amax[of(i, j)] = std::max(amax[of(i, j)], std::abs(x[static_cast<std::size_t>(i * n + j)]));
  for (std::size_t g = 0; g < amax.size(); ++g) ASSERT_EQ(got.scales[g], amax[g] / 127) << g;
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j);
      ASSERT_EQ(static_cast<float>(got.q[at]), std::nearbyint(x[at] / got.scales[of(i, j)])) << i << ", " << j;
    }
}
TYPED_TEST(quantise_groups, groups_of_any_size_along_either_axis) {
  for (const index_t group : {index_t{1}, index_t{3}, index_t{32}, index_t{64}, index_t{130}, index_t{4000}}) {
    check<1>(*this, 5, 129, group);
    check<1>(*this, 3, 256, group);
    check<0>(*this, 70, 18, group);
    check<0>(*this, 65, 31, group);
  }
}

// QNT-02: the last group has 36 values of its own.
TYPED_TEST(quantise_groups, the_last_group_is_shorter) {
  std::vector<float> x(100, 0.5f);
  x[0] = 2;
  const auto got = this->template in_groups<1>(x, 1, 100, 64);
  EXPECT_EQ(got.scales, (std::vector<float>{2.0f / 127, 0.5f / 127}));
  EXPECT_EQ(got.q[99], 127);

  auto& q = this->template output<int8_t>(100, prefill::x55);  // a vector is one row
  auto& scales = this->template output<float>(2);
  ASSERT_TRUE(quantise(this->executor(), view_on<TypeParam>(this->input(x).data(), 100),
                       view_on<TypeParam>(q.data(), 100),
                       per_group_scales<1>(view_on<TypeParam>(scales.data(), 1, 2), 64))
                  .ok());
  EXPECT_EQ(scales.values(), got.scales);
  EXPECT_EQ(q.values(), got.q);
}

// QNT-01
TYPED_TEST(quantise_groups, groups_of_zeros_have_scale_one) {
  std::vector<float> x(26, 0.0f);
  for (std::size_t c = 0; c < 13; ++c) x[13 + c] = static_cast<float>(c + 1);
  const auto got = this->template in_groups<1>(x, 1, 26, 13);
  EXPECT_EQ(got.scales, (std::vector<float>{1, 13.0f / 127}));
  for (std::size_t c = 0; c < 13; ++c) EXPECT_EQ(got.q[c], 0);
  EXPECT_EQ(got.q[25], 127);
}

// QNT-15: one outlier at the end of each group, groups far larger than a block of threads, and larger than the row.
TYPED_TEST(quantise_groups, the_last_value_of_a_large_group_counts) {
  constexpr std::size_t n = 4096 * 64;
  const auto noise = uniform<float>(n, 5);
  for (index_t group = 32; group <= 4096; group *= 2) {
    auto x = noise;
    for (std::size_t i = static_cast<std::size_t>(group) - 1; i < n; i += static_cast<std::size_t>(group)) x[i] = 100;
    const auto got = this->template in_groups<1>(x, 1, n, group);
    ASSERT_EQ(got.scales.size(), n / static_cast<std::size_t>(group));
    for (float s : got.scales) ASSERT_EQ(s, 100.0f / 127) << group;
    for (std::size_t i = 0; i < n; i += 61)
      ASSERT_EQ(static_cast<float>(got.q[i]), std::nearbyint(x[i] / (100.0f / 127)));
  }
  std::vector<float> x(16, 1.0f);
  x[15] = -3;
  const auto got = this->template in_groups<1>(x, 1, 16, 1024);
  EXPECT_EQ(got.scales, (std::vector<float>{3.0f / 127}));
  EXPECT_EQ(got.q[15], -127);
}

// QNT-19
TYPED_TEST(quantise_groups, senseless_group_sizes_are_refused_and_huge_ones_are_one_group) {
  auto& q = this->template output<int8_t>(1, prefill::x55);
  auto& scales = this->template output<float>(1);
  const auto x = this->in(std::vector<float>{-3}, 1, 1);
  const auto qv = view_on<TypeParam>(q.data(), 1, 1);
  const auto sv = view_on<TypeParam>(scales.data(), 1, 1);
  for (const index_t group : {index_t{0}, index_t{-1}, limits<index_t>::lowest()}) {
    const status along = quantise(this->executor(), x, qv, per_group_scales<1>(sv, group)),
                 across = quantise(this->executor(), x, qv, given(per_group_scales<0>(sv, group)));
    for (const status* s : {&along, &across}) {
      EXPECT_EQ(s->code(), errc::bad_option) << s->message();
      EXPECT_NE(s->message().find("groups of " + std::to_string(group)), std::string::npos) << s->message();
    }
  }
  EXPECT_TRUE(q.untouched() && scales.untouched());
  for (const index_t group : {index_t{1} << 40, (limits<index_t>::max)()}) {
    for (const status& s : {quantise(this->executor(), x, qv, per_group_scales<1>(sv, group)),
                            quantise(this->executor(), x, qv, per_group_scales<0>(sv, group)),
                            quantise(this->executor(), x, qv, given(per_group_scales<1>(sv, group))),
                            quantise(this->executor(), x, qv, given(per_group_scales<0>(sv, group)))})
      EXPECT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(scales.values()[0], 3.0f / 127);
    EXPECT_EQ(q.values()[0], -127);
  }
  const status s = quantise(this->executor(), x, qv, per_group_scales<1>(view_on<TypeParam>(scales.data(), 1, 2), 1));
  EXPECT_EQ(s.code(), errc::bad_shape);
  EXPECT_NE(s.message().find("axis 1 has extent 2, needs 1"), std::string::npos) << s.message();
}

/// QNT-18: a slice, with NaN around it, gives what its packed copy gives; scales may be strided, too.
TYPED_TEST(quantise_groups, sliced_operands_equal_their_packed_copy) {
  constexpr index_t m = 4, n = 64, pitch = 128, group = 24, wide = 3;
  const auto packed = uniform<float>(m * n, 21);
  std::vector<float> spread(m * pitch, NAN);
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j)
      spread[static_cast<std::size_t>(i * pitch + j)] = packed[static_cast<std::size_t>(i * n + j)];
  const auto want = this->template in_groups<1>(packed, m, n, group);
  auto& q = this->template output<int8_t>(m * pitch, prefill::x55);
  auto& scales = this->template output<float>(m * wide * 2);
  const auto x = pitched_on<TypeParam>(this->input(spread).data(), m, n, pitch);
  const auto qv = pitched_on<TypeParam>(q.data(), m, n, pitch);
  const auto set = per_group_scales<1>(strided_on<TypeParam>(scales.data(), {m, wide}, {wide * 2, 2}), group);
  const auto expect = [&] {
    const auto codes = q.values();
    for (index_t i = 0; i < m; ++i)
      for (index_t j = 0; j < n; ++j)
        EXPECT_EQ(codes[static_cast<std::size_t>(i * pitch + j)], want.q[static_cast<std::size_t>(i * n + j)]);
    EXPECT_TRUE(q.wrote_only([](std::size_t i) { return i % 128 < 64; }));
    for (std::size_t g = 0; g < want.scales.size(); ++g) EXPECT_EQ(scales.values()[2 * g], want.scales[g]);
    EXPECT_TRUE(scales.wrote_only([](std::size_t i) { return i % 2 == 0; }));
  };
  ASSERT_TRUE(quantise(this->executor(), x, qv, set).ok());
  expect();
  ASSERT_TRUE(quantise(this->executor(), x, qv, given(set)).ok());
  expect();
}

/// What comes back is the view's value, rounded once.
TYPED_TEST(quantise_groups, what_comes_back_is_the_value_of_the_view) {
  constexpr index_t m = 9, n = 50, group = 16, wide = 4;
  const auto codes = uniform<int8_t>(m * n, 41);
  auto scales = uniform<float>(m * wide, 42);
  const auto host_set = per_group_scales<1>(host_view(scales.data(), m, wide), group);
  const auto want = quantised(host_view(codes.data(), m, n), host_set);
  auto& y = this->template output<bf16>(m * n);
  const status s = dequantise(this->executor(), this->in(codes, m, n), view_on<TypeParam>(y.data(), m, n),
                              per_group_scales<1>(this->in(scales, m, wide), group));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto got = y.values();
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) EXPECT_EQ(got[static_cast<std::size_t>(i * n + j)].bits, bf16(want(i, j)).bits);
}

/// Rows of a tensor of rank 3 are all but its last axis; columns are its last.
TYPED_TEST(quantise_groups, columns_of_a_batch) {
  constexpr index_t batch = 3, m = 5, n = 70;
  const auto x = uniform<float>(batch * m * n, 31);
  auto& q = this->template output<int8_t>(x.size(), prefill::x55);
  auto& scales = this->template output<float>(n);
  ASSERT_TRUE(quantise(this->executor(), view_on<TypeParam>(this->input(x).data(), batch, m, n),
                       view_on<TypeParam>(q.data(), batch, m, n),
                       per_column_scales(view_on<TypeParam>(scales.data(), n)))
                  .ok());
  const auto s = scales.values();
  const auto codes = q.values();
  for (std::size_t c = 0; c < n; ++c) {
    float amax = 0;
    for (std::size_t r = 0; r < batch * m; ++r) amax = std::max(amax, std::abs(x[r * n + c]));
    ASSERT_EQ(s[c], amax / 127);
    for (std::size_t r = 0; r < batch * m; ++r)
      ASSERT_EQ(static_cast<float>(codes[r * n + c]), std::nearbyint(x[r * n + c] / s[c]));
  }
}

TYPED_TEST(quantise_groups, empty_shapes_succeed) {
  auto& q = this->template output<int8_t>(8, prefill::x55);
  auto& scales = this->template output<float>(4);
  const auto in = this->input(std::vector<float>(8, 2.0f)).data();
  const auto view = [&](index_t m, index_t n) { return view_on<TypeParam>(in, m, n); };
  const auto codes = [&](index_t m, index_t n) { return view_on<TypeParam>(q.data(), m, n); };
  EXPECT_TRUE(quantise(this->executor(), view(4, 0), codes(4, 0),
                       per_group_scales<1>(view_on<TypeParam>(scales.data(), 4, 0), 8))
                  .ok());
  EXPECT_TRUE(quantise(this->executor(), view(0, 4), codes(0, 4),
                       per_group_scales<0>(view_on<TypeParam>(scales.data(), 0, 4), 8))
                  .ok());
  EXPECT_TRUE(
      quantise(this->executor(), view(4, 0), codes(4, 0), per_column_scales(view_on<TypeParam>(scales.data(), 0)))
          .ok());
  EXPECT_TRUE(scales.untouched());
  EXPECT_TRUE(
      quantise(this->executor(), view(0, 4), codes(0, 4), per_column_scales(view_on<TypeParam>(scales.data(), 4)))
          .ok());
  for (float s : scales.values()) EXPECT_EQ(s, 1);  // the scale of nothing is that of zeros
  EXPECT_TRUE(q.untouched());
}

/// QNT-07: the same codes as the conversion that does not saturate, bit by bit, and the tables of the reports.
template <class Q, class Fixture>
void check_overflow(Fixture& test, std::vector<float> x, const std::vector<int>& expected) {
  using E = std::decay_t<decltype(test.executor())>;
  const std::size_t listed = x.size();
  for (float v : uniform<float>(600, 3)) x.push_back(v * (std::is_same_v<Q, e4m3> ? 600.0f : 70000.0f));
  x.push_back(-INFINITY), x.push_back(NAN);
  auto& q = test.template output<Q>(x.size());
  ASSERT_TRUE(quantise(test.executor(), view_on<E>(test.input(x).data(), x.size()), view_on<E>(q.data(), x.size()),
                       given(view_on<E>(test.input(std::vector<float>{1}).data(), 1)), {.beyond = overflow::to_nan})
                  .ok());
  const auto codes = q.values();
  for (std::size_t i = 0; i < listed; ++i) EXPECT_EQ(int{codes[i].bits}, expected[i]) << x[i];
  for (std::size_t i = listed; i < x.size(); ++i) {
    const Q want = convert<Q, overflow::to_nan>(x[i]);
    if (std::isnan(as_double(want)))
      EXPECT_TRUE(std::isnan(as_double(codes[i]))) << x[i];
    else
      EXPECT_EQ(int{codes[i].bits}, int{want.bits}) << x[i];
  }
}
TYPED_TEST(quantise_groups, floats_of_8_bits_overflow_to_nan_on_request) {
  check_overflow<e4m3>(*this, {448, 449, 464, 464.1f, 465, 480, 1e30f, INFINITY, -1000},
                       {0x7e, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xff});
  if constexpr (TypeParam::on_host)  // a set of kernels less for the device
    check_overflow<e5m2>(*this, {57344, 61439, 61440, 65536, INFINITY, -65536}, {0x7b, 0x7b, 0x7c, 0x7c, 0x7c, 0xfc});
}

}  // namespace
}  // namespace kiln::test
