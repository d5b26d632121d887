#pragma once
/// Views from mdspans and mdspans from views. Opt-in: <cuda/std/mdspan> alone takes seconds to compile with nvcc.
///
///     auto a = device_view(cuda::std::mdspan(p, m, n));   // or std::mdspan, where the library has it
///     auto s = to_mdspan(a);                              // cuda::std::mdspan with layout_stride
///     auto t = to_std_mdspan(a);
#include <kiln/view/tensor.hpp>
#include <type_traits>

#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
#define KILN_HAS_CUDA_MDSPAN 1
#else
#define KILN_HAS_CUDA_MDSPAN 0
#endif
#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <array>
#include <mdspan>
#define KILN_HAS_STD_MDSPAN 1
#else
#define KILN_HAS_STD_MDSPAN 0
#endif

namespace kiln {

/// std::mdspan, cuda::std::mdspan and whatever has their interface with plain pointers.
template <class M>
concept mdspan_like = requires(const M& m) {
  typename M::element_type;
  typename M::layout_type;
  requires std::is_pointer_v<typename M::data_handle_type>;
  M::rank();
  m.data_handle();
  m.extent(0);
  m.stride(0);
};

namespace detail {

/// The unit axis that a layout promises: the last of layout_right, the first of layout_left, none of any other.
template <class M>
constexpr int unit_axis_of() {
  [[maybe_unused]] constexpr int rank = static_cast<int>(M::rank());
  using layout [[maybe_unused]] = typename M::layout_type;
#if KILN_HAS_CUDA_MDSPAN
  if (std::is_same_v<layout, ::cuda::std::layout_right>) return rank - 1;
  if (std::is_same_v<layout, ::cuda::std::layout_left>) return 0;
#endif
#if KILN_HAS_STD_MDSPAN
  if (std::is_same_v<layout, std::layout_right>) return rank - 1;
  if (std::is_same_v<layout, std::layout_left>) return 0;
#endif
  return no_unit;
}

KILN_VIEWS_BEGIN
template <class Space, class M>
constexpr auto view_of(const M& m) {
  static_assert(M::rank() >= 1, "a view has at least one axis: an mdspan of rank 0 does not convert");
  static_assert(M::is_always_strided(), "the mdspan's layout needs to have strides");
  static_assert(is_plain_element<typename M::element_type>());
  constexpr int rank = static_cast<int>(M::rank());
  tensor<element_t<typename M::element_type>, rank, Space, unit_axis_of<M>()> t;
  t.data = native_pointer(m.data_handle());
  for (int a = 0; a < rank; ++a) {
    const auto axis = static_cast<typename M::rank_type>(a);
    t.extents[a] = static_cast<index_t>(m.extent(axis)), t.strides[a] = static_cast<index_t>(m.stride(axis));
  }
  return t;
}
KILN_VIEWS_END

}  // namespace detail

KILN_VIEWS_BEGIN

/// A view of the same elements. The caller says where the memory lies; an mdspan does not.
template <mdspan_like M>
constexpr auto host_view(const M& m) {
  return detail::view_of<host_space>(m);
}
template <mdspan_like M>
constexpr auto device_view(const M& m) {
  return detail::view_of<device_space>(m);
}

KILN_VIEWS_END

#if KILN_HAS_CUDA_MDSPAN
/// Strides stay as they are, 0 for a broadcast axis too; the memory's place is forgotten.
template <class T, int R, class S, int U>
constexpr auto to_mdspan(const tensor<T, R, S, U>& v) {
  using extents = ::cuda::std::dextents<index_t, static_cast<::cuda::std::size_t>(R)>;
  using layout = ::cuda::std::layout_stride;
  ::cuda::std::array<index_t, static_cast<::cuda::std::size_t>(R)> shape{}, strides{};
  for (int a = 0; a < R; ++a)
    shape[static_cast<::cuda::std::size_t>(a)] = v.extents[a],
    strides[static_cast<::cuda::std::size_t>(a)] = v.stride(a);
  return ::cuda::std::mdspan<T, extents, layout>(v.data, layout::mapping<extents>(extents(shape), strides));
}
#endif

#if KILN_HAS_STD_MDSPAN
template <class T, int R, class S, int U>
constexpr auto to_std_mdspan(const tensor<T, R, S, U>& v) {
  using extents = std::dextents<index_t, static_cast<std::size_t>(R)>;
  using layout = std::layout_stride;
  std::array<index_t, static_cast<std::size_t>(R)> shape{}, strides{};
  for (int a = 0; a < R; ++a)
    shape[static_cast<std::size_t>(a)] = v.extents[a], strides[static_cast<std::size_t>(a)] = v.stride(a);
  return std::mdspan<T, extents, layout>(v.data, layout::mapping<extents>(extents(shape), strides));
}
#endif

}  // namespace kiln
