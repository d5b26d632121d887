// Conversions from and to mdspan, of CUDA's library and of the standard's where the compiler has it.
#include <kiln/mdspan.hpp>
#include <kiln/view/reshape.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace {

using namespace kiln;

/// As much of an mdspan as a view asks for: column-major with a pitch.
struct pitched_columns {
  using element_type = float;
  using layout_type = pitched_columns;
  using data_handle_type = float*;
  using rank_type = std::size_t;
  static constexpr std::size_t rank() { return 2; }
  static constexpr bool is_always_strided() { return true; }
  float* p;
  float* data_handle() const { return p; }
  int extent(std::size_t a) const { return a == 0 ? 3 : 4; }
  int stride(std::size_t a) const { return a == 0 ? 1 : 5; }
};

TEST(mdspan, anything_of_its_interface_becomes_a_view_with_free_strides) {
  std::vector<float> data(20);
  const auto v = host_view(pitched_columns{data.data()});
  static_assert(decltype(v)::rank == 2 && decltype(v)::unit_axis == no_unit);
  EXPECT_EQ(v.extent(1), 4);
  EXPECT_EQ(&v(2, 3), &data[17]);
}

#if KILN_HAS_CUDA_MDSPAN
namespace cs = ::cuda::std;

TEST(mdspan, layouts_of_cuda_name_the_unit_axis) {
  std::vector<float> data(24);
  const auto right = device_view(cs::mdspan(data.data(), 4, 6));
  static_assert(std::is_same_v<decltype(right), const tensor<float, 2, device_space, 1>>);
  EXPECT_EQ(right.offset(3, 5), 23);
  using left_span = cs::mdspan<const float, cs::dextents<int, 2>, cs::layout_left>;
  const auto left = host_view(left_span(data.data(), 4, 6));
  static_assert(std::is_same_v<decltype(left), const tensor<const float, 2, host_space, 0>>);
  EXPECT_EQ(left.offset(3, 5), 23);
  EXPECT_EQ(left.stride(1), 4);
}

TEST(mdspan, views_become_strided_spans_and_come_back) {
  std::vector<int> data(60);
  const auto v = slice(permuted<2, 0, 1>(host_view(data.data(), 3, 4, 5)), 0, 1, 4);
  const auto s = to_mdspan(v);
  static_assert(decltype(s)::rank() == 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(&s(i, j, k), &v(i, j, k));
  const auto back = host_view(s);
  static_assert(decltype(back)::unit_axis == no_unit);
  EXPECT_EQ(&back(2, 1, 3), &v(2, 1, 3));
}
#endif

#if KILN_HAS_STD_MDSPAN
TEST(mdspan, spans_of_the_standard_library) {
  std::vector<float> data(24);
  const auto v = host_view(std::mdspan(data.data(), 4, 6));
  static_assert(decltype(v)::unit_axis == 1);
  const auto s = to_std_mdspan(transposed(v));
  EXPECT_EQ(s.stride(0), 1);
  EXPECT_EQ(s.extent(0), 6u);
}
#endif

}  // namespace
