#pragma once
/// A view of a tensor: a pointer, extents and strides. It owns nothing and is passed by value.
///
/// Where the memory lies and which axis has stride one are part of the type, so a call compiles the kernels for its own
/// layout alone, and a host view does not reach the device by mistake. Extents, other strides and alignment are run-time
/// values; strides count elements; offsets are 64-bit. A stride of zero repeats an axis.
#include <concepts>
#include <type_traits>

#include <kiln/core/executor.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#if defined(KILN_DEBUG)
#include <cstdio>
#include <cstdlib>
#endif

namespace kiln {

/// Unit axis of a view in which no axis is known to have stride one.
inline constexpr int no_unit = -1;

#if defined(KILN_DEBUG)
inline namespace checked_views {  // views of both modes in one program are different types
#endif

template <class T, int Rank, class Space = host_space, int Unit = Rank - 1>
struct tensor {
  static_assert(Rank >= 1, "a view has at least one axis");
  static_assert(Unit >= no_unit && Unit < Rank, "the unit-stride axis is one of the view's axes, or no_unit");
  using element = T;
  using value_type = std::remove_const_t<T>;
  using space = Space;
  static constexpr int rank = Rank;
  static constexpr int unit_axis = Unit;

  T* data = nullptr;
  index extents[Rank] = {};
  index strides[Rank] = {};
#if defined(KILN_DEBUG)
  const char* name = "view";
#endif

  KILN_FN constexpr index extent(int axis) const { return extents[axis]; }
  KILN_FN constexpr index stride(int axis) const { return axis == Unit ? 1 : strides[axis]; }
  KILN_FN constexpr index size() const {
    index n = 1;
    for (int a = 0; a < Rank; ++a) n *= extents[a];
    return n;
  }
  KILN_FN constexpr bool empty() const { return size() == 0; }

  /// Elements from `data` to the element at these coordinates.
  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  KILN_FN constexpr index offset(I... at) const {
    const index c[Rank] = {static_cast<index>(at)...};
    index o = 0;
    for (int a = 0; a < Rank; ++a) o += c[a] * stride(a);
    return o;
  }
  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  KILN_FN constexpr T& operator()(I... at) const {
#if defined(KILN_DEBUG)
    check(at...);
#endif
    return data[offset(at...)];
  }

  /// The same view with constant elements, or with its unit axis forgotten.
  KILN_FN constexpr operator tensor<const T, Rank, Space, Unit>() const  // NOLINT: widening
    requires(!std::is_const_v<T>)
  {
    return rebind<const T, Unit>();
  }
  KILN_FN constexpr operator tensor<T, Rank, Space, no_unit>() const  // NOLINT: widening
    requires(Unit != no_unit)
  {
    return rebind<T, no_unit>();
  }

 private:
  template <class U, int NewUnit>
  KILN_FN constexpr tensor<U, Rank, Space, NewUnit> rebind() const {
    tensor<U, Rank, Space, NewUnit> t;
    t.data = data;
    for (int a = 0; a < Rank; ++a) t.extents[a] = extents[a], t.strides[a] = stride(a);
#if defined(KILN_DEBUG)
    t.name = name;
#endif
    return t;
  }

#if defined(KILN_DEBUG)
  template <class... I>
  KILN_FN void check(I... at) const {
    const index c[Rank] = {static_cast<index>(at)...};
    for (int a = 0; a < Rank; ++a) {
      if (c[a] >= 0 && c[a] < extents[a]) continue;
      std::printf("kiln: `%s`: coordinate %lld on axis %d, extent %lld\n", name, static_cast<long long>(c[a]), a,
                  static_cast<long long>(extents[a]));
#if defined(__CUDA_ARCH__)
      __trap();
#else
      std::abort();
#endif
    }
  }
#endif
};

#if defined(KILN_DEBUG)
}  // inline namespace checked_views
#endif

/// Gives a view the name that checks report; costs nothing outside KILN_DEBUG.
template <class T, int R, class S, int U>
KILN_FN constexpr tensor<T, R, S, U> named(tensor<T, R, S, U> v, [[maybe_unused]] const char* name) {
#if defined(KILN_DEBUG)
  v.name = name;
#endif
  return v;
}

template <class T>
inline constexpr bool is_tensor_v = false;
template <class T, int R, class S, int U>
inline constexpr bool is_tensor_v<tensor<T, R, S, U>> = true;

template <class T, class Space = host_space, int Unit = 1>
using matrix = tensor<T, 2, Space, Unit>;
template <class T, class Space = host_space>
using vector_view = tensor<T, 1, Space, 0>;

namespace detail {

template <class T>
using element_t = std::conditional_t<std::is_const_v<T>, const native_t<std::remove_const_t<T>>, native_t<std::remove_const_t<T>>>;

template <class Space, class T, class... I>
constexpr auto packed_view(T* data, I... extents) {
  constexpr int rank = sizeof...(I);
  tensor<element_t<T>, rank, Space> t;
  t.data = reinterpret_cast<element_t<T>*>(data);
  const index e[rank] = {static_cast<index>(extents)...};
  index step = 1;
  for (int a = rank - 1; a >= 0; --a) {
    t.extents[a] = e[a];
    t.strides[a] = step;
    step *= e[a];
  }
  return t;
}

template <class Space, class T, int Rank>
constexpr auto strided_view(T* data, const index (&extents)[Rank], const index (&strides)[Rank]) {
  tensor<element_t<T>, Rank, Space, no_unit> t;
  t.data = reinterpret_cast<element_t<T>*>(data);
  for (int a = 0; a < Rank; ++a) t.extents[a] = extents[a], t.strides[a] = strides[a];
  return t;
}

}  // namespace detail

/// Row-major packed views: the last axis has stride one. CUDA's __half, __nv_bfloat16 and fp8 types are taken as Kiln's.
template <class T, std::integral... I>
constexpr auto host_view(T* data, I... extents) {
  return detail::packed_view<host_space>(data, extents...);
}
template <class T, std::integral... I>
constexpr auto device_view(T* data, I... extents) {
  return detail::packed_view<device_space>(data, extents...);
}

/// Views with any strides, in elements, of which none is known to be one: these take the generic kernels.
template <class T, int Rank>
constexpr auto host_view(T* data, const index (&extents)[Rank], const index (&strides)[Rank]) {
  return detail::strided_view<host_space>(data, extents, strides);
}
template <class T, int Rank>
constexpr auto device_view(T* data, const index (&extents)[Rank], const index (&strides)[Rank]) {
  return detail::strided_view<device_space>(data, extents, strides);
}

/// A view in the memory of executor `Executor`, for code that is generic over executors.
template <executor Executor, class T, std::integral... I>
constexpr auto view_on(T* data, I... extents) {
  return detail::packed_view<typename Executor::space>(data, extents...);
}

}  // namespace kiln
