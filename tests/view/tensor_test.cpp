// What a view says of itself: extents, strides, offsets, and which layouts its type promises.
#include <gtest/gtest.h>

#include <kiln/view/overlap.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/tensor.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using namespace kiln;

TEST(tensor_view, packed_views_are_row_major_with_the_last_axis_unit) {
  std::vector<int> data(2 * 3 * 5);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  const auto v = host_view(data.data(), 2, 3, 5);
  static_assert(decltype(v)::rank == 3 && decltype(v)::unit_axis == 2);
  EXPECT_EQ(v.size(), 30);
  EXPECT_EQ(v.stride(0), 15);
  EXPECT_EQ(v.stride(1), 5);
  EXPECT_EQ(v.stride(2), 1);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 5; ++k) EXPECT_EQ(v(i, j, k), i * 15 + j * 5 + k);
}

TEST(tensor_view, memory_and_unit_axis_are_part_of_the_type) {
  float x = 0;
  const auto h = host_view(&x, 1, 1);
  const auto d = device_view(&x, 1, 1);
  static_assert(!std::is_convertible_v<decltype(h), std::remove_const_t<decltype(d)>>);
  static_assert(std::is_convertible_v<decltype(h), tensor<const float, 2, host_space, 1>>);
  static_assert(std::is_convertible_v<decltype(h), tensor<float, 2, host_space, no_unit>>);
  static_assert(std::is_convertible_v<decltype(h), tensor<const float, 2, host_space, no_unit>>);
  static_assert(!std::is_convertible_v<tensor<const float, 2>, tensor<float, 2>>);
  static_assert(!std::is_convertible_v<tensor<float, 2, host_space, no_unit>, tensor<float, 2>>);
  static_assert(!std::is_convertible_v<decltype(h), tensor<float, 2, host_space, 0>>);
  static_assert(std::is_same_v<decltype(view_on<host_executor>(&x, 4)), tensor<float, 1, host_space, 0>>);
  static_assert(std::is_trivially_copyable_v<std::remove_const_t<decltype(h)>>);
}

TEST(tensor_view, forgetting_the_unit_axis_keeps_its_stride) {
  std::vector<int> data(12, 0);
  const auto t = transposed(host_view(data.data(), 3, 4));
  static_assert(decltype(t)::unit_axis == 0);
  const tensor<const int, 2, host_space, no_unit> free = t;
  EXPECT_EQ(free.strides[0], 1);
  EXPECT_EQ(free.strides[1], 4);
  EXPECT_EQ(&free(3, 2), &t(3, 2));
}

TEST(tensor_view, free_strides_reach_every_element_backwards_too) {
  std::vector<int> data{0, 1, 2, 3, 4, 5};
  const auto v = host_view(data.data() + 5, {2, 3}, {-3, -1});
  static_assert(decltype(v)::unit_axis == no_unit);
  EXPECT_EQ(v(0, 0), 5);
  EXPECT_EQ(v(1, 2), 0);
  EXPECT_EQ(v(1, 0), 2);
}

TEST(tensor_view, transposed_and_permuted_carry_the_unit_axis_along) {
  std::vector<int> data(2 * 3 * 5);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  const auto v = host_view(data.data(), 2, 3, 5);
  const auto t = transposed(v);
  static_assert(decltype(t)::unit_axis == 1);
  const auto p = permuted<2, 0, 1>(v);
  static_assert(decltype(p)::unit_axis == 0);
  EXPECT_EQ(p.extent(0), 5);
  EXPECT_EQ(p.extent(1), 2);
  EXPECT_EQ(p.extent(2), 3);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 5; ++k) {
        EXPECT_EQ(&t(i, k, j), &v(i, j, k));
        EXPECT_EQ(&p(k, i, j), &v(i, j, k));
      }
}

// VEW-05: negative axes and bounds.
TEST(tensor_view, negative_bounds_and_axes_count_from_the_end) {
  std::vector<int> data(100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  const auto v = host_view(data.data(), 10, 10);
  const auto s = pick<1>(slice(v, 0, 0, -1), 0);
  static_assert(decltype(s)::rank == 1 && decltype(s)::unit_axis == no_unit);
  EXPECT_EQ(s.extent(0), 9);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(s(i), 10 * i);
  EXPECT_EQ(&slice(v, -1, -3, -1)(4, 1), &v(4, 8));
  EXPECT_EQ(&pick<-1>(v, -2)(7), &v(7, 8));
  const auto a = permuted<-1, -2>(v);
  const auto b = permuted<1, 0>(v);
  static_assert(std::is_same_v<decltype(a), decltype(b)>);
  EXPECT_EQ(&a(2, 7), &b(2, 7));
}

// VEW-05: what is wrong is refused, not clipped. permuted<0, 0> does not compile:
// tests/compile_fail/view_permuted_twice.cpp.
TEST(tensor_view, wrong_slices_steps_and_picks_leave_a_view_that_calls_refuse) {
  std::vector<int> data(100);
  const auto v = host_view(data.data(), 10, 10);
  EXPECT_EQ(slice(v, 0, 7, 3).extent(0), -1);
  EXPECT_EQ(slice(v, 1, 0, 11).extent(1), -1);
  EXPECT_EQ(slice(v, 1, -11, 4).extent(1), -1);
  EXPECT_EQ(slice(v, 2, 0, 4).extent(0), -1);
  EXPECT_EQ(slice(v, -3, 0, 4).extent(0), -1);
  EXPECT_EQ(strided<0>(v, 0).extent(0), -1);
  EXPECT_EQ(pick<0>(v, 10).extent(0), -1);
  EXPECT_EQ(pick<0>(v, -11).extent(0), -1);
  EXPECT_EQ(slice(slice(v, 0, 7, 3), 0, 0, 1).extent(0), -1) << "a refused view stays refused";
  EXPECT_EQ(slice(v, 0, 4, 4).extent(0), 0) << "an empty slice is none of these";
  EXPECT_EQ(slice(host_view(data.data(), {1, 10}, {INT64_MAX, 1}), 0, 1, 1).data, data.data())
      << "and no step is taken to it";

  EXPECT_TRUE(check_slice(v, 0, 0, -1).ok());
  EXPECT_EQ(check_slice(v, 0, 7, 3).code(), errc::bad_shape);
  EXPECT_EQ(check_slice(v, 0, 0, 4, 0).code(), errc::bad_option);
  EXPECT_EQ(check_slice(v, 5, 0, 4).code(), errc::bad_option);
  EXPECT_NE(check_slice(v, 0, 7, 3).message().find("[7, 3) of axis 0 with extent 10"), std::string::npos);
}

TEST(tensor_view, refused_views_stay_refused_whatever_is_made_of_them) {
  std::vector<int> data(100);
  const auto v = host_view(data.data(), 10, 10);
  const auto bad = slice(v, 0, 7, 3);
  EXPECT_EQ(strided<0>(bad, 2).extent(0), -1);
  EXPECT_EQ(strided<1>(bad, 2).extent(0), -1);
  EXPECT_EQ(strided<0>(bad, 0).extent(0), -1);
  for (const kiln::index_t at : {INT64_MIN, kiln::index_t{-1}, kiln::index_t{0}, INT64_MAX}) {
    EXPECT_EQ(slice(bad, 0, at, 0).extent(0), -1) << at;
    EXPECT_EQ(slice(bad, 0, 0, at).extent(0), -1) << at;
    EXPECT_EQ(pick<0>(bad, at).extent(0), -1) << at;
    EXPECT_EQ(pick<1>(bad, at).extent(0), -1) << at;
    EXPECT_FALSE(check_slice(bad, 0, at, 0).ok()) << at;
  }
  EXPECT_EQ(slice(bad, 1, 2, 4).extent(0), -1);
  EXPECT_EQ(transposed(bad).extent(1), -1);
  EXPECT_EQ((permuted<1, 0>(bad).extent(1)), -1);
  EXPECT_EQ(broadcast<0>(bad, 3).extent(1), -1);
  EXPECT_EQ(broadcast<0>(v, -3).extent(0), -3);
  EXPECT_EQ(pitched(bad, 12).extent(0), -1);
  EXPECT_EQ(pitched(host_view(data.data(), 2, -1, 5), INT64_MAX).extent(1), -1);
  EXPECT_EQ(with_unit<1>(bad).extent(0), -1);
  EXPECT_EQ(with_unit<0>(bad).extent(0), -1);
}

TEST(tensor_view, views_of_null_stay_null) {
  float* const none = nullptr;
  const auto v = host_view(none, 8, 8);
  EXPECT_EQ(slice(v, 0, 2, 4).data, nullptr);
  EXPECT_EQ(pick<0>(v, -1).data, nullptr);
}

TEST(tensor_view, steps_of_any_size_do_not_overflow) {
  std::vector<int> data(12);
  for (const kiln::index_t step : {kiln::index_t{12}, (kiln::index_t{1} << 62) + 5, INT64_MAX}) {
    const auto v = strided<0>(host_view(data.data(), 12), step);
    EXPECT_EQ(v.extent(0), 1) << step;
    EXPECT_EQ(&v(0), data.data());
    EXPECT_EQ(strided<0>(host_view(data.data(), 0), step).extent(0), 0);
  }
  const auto far = host_view(data.data(), {12}, {index_t{1} << 62});
  EXPECT_EQ(strided<0>(far, 2).stride(0), INT64_MAX);
  EXPECT_EQ(ceil_div(INT64_MAX, kiln::index_t{2}), kiln::index_t{1} << 62);
  EXPECT_EQ(ceil_div(UINT64_MAX, std::uint64_t{256}), std::uint64_t{1} << 56);
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(ceil_div(6, 3), 2);
  EXPECT_EQ(ceil_div(0, 3), 0);
}

TEST(tensor_view, strided_takes_every_nth_and_rounds_up) {
  std::vector<int> data(7 * 5);
  const auto v = host_view(data.data(), 7, 5);
  const auto rows = strided<0>(v, 3);
  static_assert(decltype(rows)::unit_axis == 1);
  EXPECT_EQ(rows.extent(0), 3);
  EXPECT_EQ(&rows(2, 4), &v(6, 4));
  const auto columns = strided<-1>(v, 2);
  static_assert(decltype(columns)::unit_axis == no_unit);
  EXPECT_EQ(columns.extent(1), 3);
  EXPECT_EQ(&columns(6, 2), &v(6, 4));
}

TEST(tensor_view, pitched_spreads_rows_and_the_matrices_behind_them) {
  std::vector<int> data(2 * 3 * 8);
  const auto v = pitched(host_view(data.data(), 2, 3, 5), 8);
  EXPECT_EQ(v.offset(1, 2, 4), 24 + 16 + 4);
  const auto columns = pitched(transposed(host_view(data.data(), 3, 5)), 8);
  EXPECT_EQ(columns.offset(4, 2), 16 + 4);
  EXPECT_EQ(columns.extent(0), 5);
}

// ATT-16: a mask of one row for all heads and queries.
TEST(tensor_view, broadcast_axes_have_stride_zero) {
  const std::vector<int> mask{0, 1, 2, 3, 4, 10, 11, 12, 13, 14};
  const auto v = broadcast<1>(broadcast<1>(host_view(mask.data(), 2, 5), 3), 4);
  static_assert(decltype(v)::rank == 4 && decltype(v)::unit_axis == 3);
  const kiln::index_t strides[] = {5, 0, 0, 1};
  for (int a = 0; a < 4; ++a) EXPECT_EQ(v.stride(a), strides[a]);
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 4; ++h)
      for (int q = 0; q < 3; ++q)
        for (int k = 0; k < 5; ++k) EXPECT_EQ(v(b, h, q, k), 10 * b + k);
  const auto behind = broadcast<-1>(host_view(mask.data(), 2, 5), 6);
  static_assert(decltype(behind)::unit_axis == 1);
  EXPECT_EQ(behind.stride(2), 0);
  EXPECT_EQ(behind.extent(2), 6);
}

// VEW-08, ATT-16, ATT-20: offsets beyond 2^31, exact.
TEST(tensor_view, offsets_are_64_bit) {
  float* const none = nullptr;
  EXPECT_EQ(host_view(none, {31, 12180, 12184}, {148401120, 12184, 1}).offset(30, 12179, 12183),
            30 * kiln::index_t{148401120} + 12179 * kiln::index_t{12184} + 12183);
  EXPECT_EQ(host_view(none, {32, 4}, {148401120, 1}).offset(31, 0), kiln::index_t{4600434720});
  EXPECT_EQ(host_view(none, {3, 8}, {(kiln::index_t{1} << 31) + 64, 1}).offset(2, 7),
            (kiln::index_t{1} << 32) + 128 + 7);
  const auto cache = host_view(none, 1048577, 32, 128);
  EXPECT_EQ(cache.offset(1048576, 0, 0), kiln::index_t{4294967296});
  EXPECT_EQ(cache.size(), kiln::index_t{1048577} * 4096);
  EXPECT_EQ(host_view(none, kiln::index_t{1} << 40, 3).offset((kiln::index_t{1} << 40) - 1, 2),
            (kiln::index_t{3} << 40) - 1);
}

// VEW-06: the stride of an axis with one element says nothing.
TEST(tensor_view, with_unit_ignores_the_stride_of_an_axis_of_one) {
  std::vector<float> data(16384);
  const auto v = host_view(data.data(), {1, 2048}, {16384, 1});
  const auto rows = with_unit<1>(v);
  static_assert(decltype(rows)::unit_axis == 1);
  EXPECT_EQ(rows.extent(1), 2048);
  EXPECT_EQ(rows.offset(0, 2047), 2047);
  const auto columns = with_unit<0>(v);
  EXPECT_EQ(columns.extent(0), 1);
  EXPECT_EQ(columns.stride(0), 1);
  EXPECT_EQ(columns.offset(0, 2047), 2047);
  EXPECT_EQ(with_unit<0>(host_view(data.data(), {2, 2048}, {4096, 1})).extent(0), -1) << "a false promise is refused";
}

TEST(tensor_view, views_are_constant_expressions) {
  constexpr kiln::index_t offset = [] {
    float data[12] = {};
    const auto v = transposed(host_view(&data[0], 3, 4));
    return slice(v, 0, 1, 3).offset(1, 2) + kiln::index_t{&slice(v, 0, 1, 3)(0, 0) - &data[0]};
  }();
  static_assert(offset == 1 + 8 + 1);
}

TEST(tensor_view, empty_views_have_no_elements) {
  float* const none = nullptr;
  EXPECT_TRUE(host_view(none, 0, 7).empty());
  EXPECT_TRUE(host_view(none, 7, 0).empty());
  EXPECT_EQ(host_view(none, 7, 0).size(), 0);
}

TEST(tensor_view, sizes_saturate_and_are_not_positive_for_negative_extents) {
  float* const none = nullptr;
  const auto huge = host_view(none, kiln::index_t{1} << 32, kiln::index_t{1} << 32);
  EXPECT_FALSE(huge.empty());
  EXPECT_EQ(huge.size(), INT64_MAX);
  EXPECT_EQ(host_view(none, INT64_MAX, INT64_MAX, INT64_MAX).size(), INT64_MAX);
  EXPECT_EQ(host_view(none, INT64_MAX, INT64_MAX, 0).size(), 0);
  EXPECT_LT(host_view(none, -1, -1).size(), 0);
  EXPECT_LT(host_view(none, INT64_MIN, INT64_MIN, 3).size(), 0);
  EXPECT_FALSE(host_view(none, -1, -1).empty());
  float x = 0;
  const auto lies = host_view(&x, kiln::index_t{1} << 40, kiln::index_t{1} << 40);
  EXPECT_EQ(overlaps(lies, transposed(lies)), overlap::partial);
  EXPECT_FALSE(overlaps_itself(lies));
  EXPECT_EQ(overlaps(host_view(&x, {2}, {INT64_MIN}), host_view(&x, {2}, {INT64_MAX})), overlap::partial);
  EXPECT_EQ(overlaps(host_view(&x, -1, -1), host_view(&x, 1, 1)), overlap::none);
}

}  // namespace
