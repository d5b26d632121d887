// Quantised views: which scale serves which element, and what an element stands for.
#include <gtest/gtest.h>

#include <kiln/view/quantised.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "tests/support/fill.hpp"

namespace {

using namespace kiln;

constexpr int m = 3, n = 7;

class quantised_views : public ::testing::Test {
 protected:
  std::vector<std::int8_t> payload = test::uniform<std::int8_t>(m * n, 1);
  std::vector<float> scales = test::uniform<float>(m * n, 2);
  std::vector<std::int8_t> zeros = test::small_integers<std::int8_t>(m * n, 3, -20, 20);
  float at(int i, int j) const { return static_cast<float>(payload[static_cast<std::size_t>(i * n + j)]); }
  template <class View, class Expected>
  void expect_all(const View& v, Expected expected) const {
    ASSERT_EQ(v.extent(0), m);
    ASSERT_EQ(v.extent(1), n);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) EXPECT_EQ(v(i, j), expected(i, j)) << i << ", " << j;
  }
  float s(int i) const { return scales[static_cast<std::size_t>(i)]; }
};

TEST_F(quantised_views, one_scale_for_the_tensor_a_row_or_a_column) {
  const auto q = host_view(payload.data(), m, n);
  expect_all(quantised(q, per_tensor_scale(host_view(scales.data(), 1))),
             [&](int i, int j) { return s(0) * at(i, j); });
  const auto rows = quantised(q, per_row_scales(host_view(scales.data(), m)));
  expect_all(rows, [&](int i, int j) { return s(i) * at(i, j); });
  expect_all(quantised(q, per_column_scales(host_view(scales.data(), n))),
             [&](int i, int j) { return s(j) * at(i, j); });
  static_assert(decltype(rows)::served == granularity::row && !decltype(rows)::affine);
  EXPECT_EQ(rows.scales().data, scales.data());
  EXPECT_EQ(rows.payload().data, payload.data());
  EXPECT_EQ(rows.stored(2, 6), static_cast<int>(payload[20]));
  EXPECT_TRUE(check_quantised("a", rows).ok());
}

TEST_F(quantised_views, groups_along_either_axis_with_a_short_last_group) {
  const auto q = host_view(payload.data(), m, n);
  const auto along_1 = quantised(q, per_group_scales<1>(host_view(scales.data(), m, 3), 3));
  expect_all(along_1, [&](int i, int j) { return s(i * 3 + j / 3) * at(i, j); });
  EXPECT_TRUE(check_quantised("w", along_1).ok());
  const auto along_0 = quantised(q, per_group_scales<0>(host_view(scales.data(), 2, n), 2));
  expect_all(along_0, [&](int i, int j) { return s(i / 2 * n + j) * at(i, j); });
  EXPECT_EQ(along_0.group(), 2);
}

TEST_F(quantised_views, a_group_may_be_larger_than_the_axis) {
  const auto q = host_view(payload.data(), m, n);
  for (const index_t group : {index_t{7}, index_t{1} << 40, (limits<index_t>::max)()}) {
    const auto v = quantised(q, per_group_scales<1>(host_view(scales.data(), m, 1), group));
    EXPECT_TRUE(check_quantised("w", v).ok());
    expect_all(v, [&](int i, int j) { return s(i) * at(i, j); });
  }
}

TEST_F(quantised_views, zero_points_are_subtracted_before_the_scale) {
  const auto q = host_view(payload.data(), m, n);
  const auto v = quantised(q, per_row_scales(host_view(scales.data(), m)).with_zero_points(host_view(zeros.data(), m)));
  static_assert(decltype(v)::affine);
  expect_all(v,
             [&](int i, int j) { return s(i) * (at(i, j) - static_cast<float>(zeros[static_cast<std::size_t>(i)])); });
  EXPECT_EQ(v.zero_points().data, zeros.data());
}

TEST_F(quantised_views, transposing_moves_scales_with_the_payload) {
  const auto q = host_view(payload.data(), m, n);
  const auto expect_flipped = [&](const auto& v) {
    const auto t = transposed(v);
    EXPECT_TRUE(check_quantised("w", t).ok());
    EXPECT_TRUE(t.extent(0) == n && t.extent(1) == m);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) EXPECT_EQ(t(j, i), v(i, j));
    return t;
  };
  const auto t = expect_flipped(quantised(q, per_row_scales(host_view(scales.data(), m))));
  static_assert(decltype(t)::served == granularity::column && decltype(t)::unit_axis == 0);
  expect_flipped(quantised(q, per_column_scales(host_view(scales.data(), n))));
  expect_flipped(quantised(q, per_tensor_scale(host_view(scales.data(), 1))));
  const auto g = expect_flipped(quantised(
      q, per_group_scales<1>(host_view(scales.data(), m, 4), 2).with_zero_points(host_view(zeros.data(), m, 4))));
  static_assert(decltype(g)::served == granularity::group_0);
}

TEST_F(quantised_views, int4_pairs_lie_along_the_unit_axis) {
  std::vector<int4x2> packed(m * 4);
  const auto value = [](int i, int j) { return (i * 5 + j * 3) % 16 - 8; };
  for (int i = 0; i < m; ++i)
    for (int b = 0; b < 4; ++b)
      packed[static_cast<std::size_t>(i * 4 + b)] = int4x2::make(value(i, 2 * b), value(i, 2 * b + 1));
  const auto v =
      quantised_int4(host_view(packed.data(), m, 4), n, per_group_scales<1>(host_view(scales.data(), m, 2), 4));
  static_assert(decltype(v)::packed);
  expect_all(v, [&](int i, int j) { return s(i * 2 + j / 4) * static_cast<float>(value(i, j)); });
  const auto t = transposed(v);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) EXPECT_EQ(t.stored(j, i), value(i, j));
  EXPECT_TRUE(check_quantised("w", t).ok());
  EXPECT_EQ(check_quantised(
                "w", quantised_int4(host_view(packed.data(), m, 4), 9, per_row_scales(host_view(scales.data(), m))))
                .code(),
            errc::bad_shape)
      << "nine elements do not fit four bytes";
}

TEST_F(quantised_views, fp8_payloads_are_floats) {
  const auto codes = test::uniform<e4m3>(m * n, 5);
  const auto v = quantised(host_view(codes.data(), m, n), per_row_scales(host_view(scales.data(), m)));
  static_assert(std::is_same_v<decltype(v.stored(0, 0)), float>);
  expect_all(v, [&](int i, int j) { return s(i) * static_cast<float>(codes[static_cast<std::size_t>(i * n + j)]); });
}

TEST_F(quantised_views, scales_of_the_wrong_shape_are_named) {
  const auto q = host_view(payload.data(), m, n);
  const auto expect = [](const status& got, errc code, const char* text) {
    EXPECT_EQ(got.code(), code);
    EXPECT_NE(got.message().find(text), std::string::npos) << got.message();
  };
  expect(check_quantised("w", quantised(q, per_row_scales(host_view(scales.data(), n)))), errc::bad_shape,
         "operand `w`: axis 0 of its scales has extent 7, needs 3");
  expect(check_quantised("w", quantised(q, per_group_scales<1>(host_view(scales.data(), m, 2), 3))), errc::bad_shape,
         "axis 1 of its scales has extent 2, needs 3");
  expect(check_quantised("w", quantised(q, per_group_scales<1>(host_view(scales.data(), m, 2), 0))), errc::bad_option,
         "groups of 0 elements");
  expect(check_quantised("w", quantised(q, per_row_scales(host_view(static_cast<float*>(nullptr), m)))),
         errc::null_pointer, "its scales are null");
  expect(
      check_quantised(
          "w", quantised(q, per_row_scales(host_view(scales.data(), m)).with_zero_points(host_view(zeros.data(), 2)))),
      errc::bad_shape, "axis 0 of its zero points has extent 2, needs 3");
  float* const apart = reinterpret_cast<float*>(reinterpret_cast<char*>(scales.data()) + 2);
  expect(check_quantised("w", quantised(q, per_row_scales(host_view(apart, m)))), errc::bad_alignment,
         "operand `w`: its scales are at an address that is 2 bytes past a multiple of their element's 4");
  expect(check_quantised("w", quantised(slice(q, 0, 3, 1), per_row_scales(host_view(scales.data(), m)))),
         errc::bad_shape, "axis 0 has extent -1");
}

}  // namespace
