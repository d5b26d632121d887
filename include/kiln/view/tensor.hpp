#pragma once
/// A view of a tensor: a pointer, extents and strides. It owns nothing and is passed by value.
///
/// Where the memory lies and which axis has stride one are part of the type, so a call compiles the kernels for its own
/// layout alone, and a host view does not reach the device by mistake. Extents, other strides and alignment are
/// run-time values; strides count elements; offsets are 64-bit. A stride of zero repeats an axis.
#include <concepts>
#include <kiln/core/executor.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <kiln/view/mode.hpp>
#include <type_traits>
#if defined(KILN_DEBUG)
#include <kiln/view/bounds.hpp>
#endif

namespace kiln {

/// Unit axis of a view in which no axis is known to have stride one.
inline constexpr int no_unit = -1;

KILN_VIEWS_BEGIN

#if defined(KILN_DEBUG)
/// What a failed check calls the view. The text lies in the view itself, so that device code can print it.
struct view_name {
  // A literal written over in a constant expression is more than g++ 12 survives.
  char text[24] = {'v', 'i', 'e', 'w'};
};
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
  index_t extents[Rank] = {};
  index_t strides[Rank] = {};
#if defined(KILN_DEBUG)
  view_name name{};
#endif

  KILN_FN constexpr index_t extent(int axis) const { return extents[axis]; }
  KILN_FN constexpr index_t stride(int axis) const { return axis == Unit ? 1 : strides[axis]; }
  /// Elements; -1 in a view that calls refuse, the largest index where the product is none.
  KILN_FN constexpr index_t size() const { return box_size(extents, Rank); }
  KILN_FN constexpr bool empty() const { return any_is_zero(extents, Rank); }

  /// Elements from `data` to the element at these coordinates.
  template <std::integral... Index>
    requires(sizeof...(Index) == Rank)
  KILN_FN constexpr index_t offset(Index... at) const {
    const index_t c[Rank] = {static_cast<index_t>(at)...};
    index_t o = 0;
    for (int a = 0; a < Rank; ++a) o += c[a] * stride(a);
    return o;
  }
  template <std::integral... Index>
    requires(sizeof...(Index) == Rank)
  KILN_FN constexpr T& operator()(Index... at) const {
#if defined(KILN_DEBUG)
    check(at...);
#endif
    return data[offset(at...)];
  }

  /// The same view with constant elements, with its unit axis forgotten, or both.
  template <class To, int NewUnit>
    requires((std::is_same_v<To, T> || std::is_same_v<To, const T>) && (NewUnit == Unit || NewUnit == no_unit) &&
           !(std::is_same_v<To, T> && NewUnit == Unit))
  KILN_FN constexpr
  operator tensor<To, Rank, Space, NewUnit>() const {  // NOLINT: widening
    tensor<To, Rank, Space, NewUnit> t;
    t.data = data;
    for (int a = 0; a < Rank; ++a) t.extents[a] = extents[a], t.strides[a] = stride(a);
#if defined(KILN_DEBUG)
    t.name = name;
#endif
    return t;
  }

#if defined(KILN_DEBUG)
 private:
  template <class... Index>
  KILN_FN constexpr void check(Index... at) const {
    const index_t c[Rank] = {static_cast<index_t>(at)...};
    for (int a = 0; a < Rank; ++a) {
      if (c[a] >= 0 && c[a] < extents[a]) continue;
      detail::out_of_bounds(name.text, Rank, c, a, extents[a]);
    }
  }
#endif
};

KILN_VIEWS_END

#if defined(KILN_DEBUG)
namespace detail {
KILN_FN constexpr view_name make_name(const char* text) {
  view_name n{};
  int i = 0;
  for (; i < static_cast<int>(sizeof n.text) - 1 && text[i] != '\0'; ++i) n.text[i] = text[i];
  n.text[i] = '\0';
  return n;
}
}  // namespace detail
#endif

/// Gives a view the name that checks report; costs nothing outside KILN_DEBUG.
template <class T, int R, class S, int U>
KILN_FN constexpr tensor<T, R, S, U> named(tensor<T, R, S, U> v, [[maybe_unused]] const char* name) {
#if defined(KILN_DEBUG)
  v.name = detail::make_name(name);
#endif
  return v;
}

/// Promises that an axis has stride one, which a view with free strides does not know of itself: the call then compiles
/// the kernels of that layout. An axis of at most one element may have any stride. A false promise gives a view of
/// negative extents, which every call refuses.
template <int Axis, class T, int R, class S, int U>
KILN_FN constexpr auto with_unit(const tensor<T, R, S, U>& v) {
  constexpr int axis = Axis < 0 ? Axis + R : Axis;
  static_assert(axis >= 0 && axis < R, "with_unit needs an axis of the view");
  tensor<T, R, S, axis> t;
  t.data = v.data;
  for (int a = 0; a < R; ++a) t.extents[a] = v.extents[a], t.strides[a] = v.stride(a);
  if (v.stride(axis) != 1 && v.extents[axis] > 1) t.extents[axis] = -1;
  t.strides[axis] = 1;
#if defined(KILN_DEBUG)
  t.name = v.name;
#endif
  return t;
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
using element_t =
    std::conditional_t<std::is_const_v<T>, const native_t<std::remove_const_t<T>>, native_t<std::remove_const_t<T>>>;

/// A pointer to CUDA's 16-bit and 8-bit floats as one to Kiln's.
template <class T>
constexpr element_t<T>* native_pointer(T* data) {
  if constexpr (std::is_same_v<T, element_t<T>>)
    return data;
  else
    return reinterpret_cast<element_t<T>*>(data);
}

/// Whether calls may keep and move elements as bytes.
template <class T>
constexpr bool is_plain_element() {
  using type = native_t<std::remove_const_t<T>>;
  constexpr bool plain = std::is_trivially_copyable_v<type> && std::is_default_constructible_v<type> &&
                         !std::is_volatile_v<type>;
  static_assert(plain,
                "a view's elements are moved as bytes: their type needs to be trivially copyable, with a default "
                "constructor, and not volatile");
  return plain;
}

KILN_VIEWS_BEGIN
template <class Space, class T, class... Index>
constexpr auto packed_view(T* data, Index... extents) {
  constexpr int rank = sizeof...(Index);
  if constexpr (is_plain_element<T>()) {
    tensor<element_t<T>, rank, Space> t;
    t.data = native_pointer(data);
    const index_t e[rank] = {static_cast<index_t>(extents)...};
    index_t step = 1;
    for (int a = rank - 1; a >= 0; --a) {
      t.extents[a] = e[a];
      t.strides[a] = step;
      step = saturated_product(step, e[a]);
    }
    return t;
  } else {
    return tensor<float, rank, Space>{};
  }
}

template <class Space, class T, int Rank>
constexpr auto strided_view(T* data, const index_t (&extents)[Rank], const index_t (&strides)[Rank]) {
  if constexpr (is_plain_element<T>()) {
    tensor<element_t<T>, Rank, Space, no_unit> t;
    t.data = native_pointer(data);
    for (int a = 0; a < Rank; ++a) t.extents[a] = extents[a], t.strides[a] = strides[a];
    return t;
  } else {
    return tensor<float, Rank, Space, no_unit>{};
  }
}
KILN_VIEWS_END

/// Stands for a view of a void*, or of what are no extents, and says so.
template <class Space, class T, class... X>
constexpr tensor<float, 1, Space> no_view() {
  constexpr bool of_nothing = std::is_void_v<T>, fractions = (std::floating_point<X> || ...);
  static_assert(!of_nothing, "host_view and device_view take a pointer to the elements: void* does not say their type");
  static_assert(of_nothing || !fractions, "host_view(pointer, extents...): extents are whole numbers");
  static_assert(of_nothing || fractions,
                "host_view and device_view take (pointer, extents...), whole numbers, or (pointer, {extents...}, "
                "{strides...}), lists or arrays of index_t of one length");
  return {};
}

}  // namespace detail

KILN_VIEWS_BEGIN

/// Row-major packed views: the last axis has stride one. CUDA's __half, __nv_bfloat16 and fp8 types are taken as
/// Kiln's.
template <class T, std::integral... Index>
  requires(!std::is_void_v<T>)
constexpr auto host_view(T* data, Index... extents) {
  return detail::packed_view<host_space>(data, extents...);
}
template <class T, std::integral... Index>
  requires(!std::is_void_v<T>)
constexpr auto device_view(T* data, Index... extents) {
  return detail::packed_view<device_space>(data, extents...);
}

template <class T, class... X>
  requires(std::is_void_v<T> || !(std::integral<X> && ...))
constexpr auto host_view(T*, const X&...) {
  return detail::no_view<host_space, T, X...>();
}
template <class T, class... X>
  requires(std::is_void_v<T> || !(std::integral<X> && ...))
constexpr auto device_view(T*, const X&...) {
  return detail::no_view<device_space, T, X...>();
}

/// What owns its elements, such as a std::vector, is no pointer to them.
template <class Owner, class... Index>
  requires(!std::is_pointer_v<std::decay_t<Owner>>)
constexpr tensor<float, 1, host_space, 0> host_view(const Owner&, const Index&...) {
  static_assert(std::is_pointer_v<Owner>, "host_view takes a pointer to the first element: host_view(v.data(), m, n)");
  return {nullptr, {0}, {1}};
}
template <class Owner, class... Index>
  requires(!std::is_pointer_v<std::decay_t<Owner>>)
constexpr tensor<float, 1, device_space, 0> device_view(const Owner&, const Index&...) {
  static_assert(std::is_pointer_v<Owner>,
                "device_view takes a pointer to the first element, in the device's memory: device_view(p, m, n)");
  return {nullptr, {0}, {1}};
}

/// Views with any strides, in elements, of which none is known to be one: these take the generic kernels.
template <class T, int Rank, int Strides>
constexpr auto host_view(T* data, const index_t (&extents)[Rank], const index_t (&strides)[Strides]) {
  if constexpr (Rank == Strides && !std::is_void_v<T>)
    return detail::strided_view<host_space>(data, extents, strides);
  else
    return detail::no_view<host_space, T>();
}
template <class T, int Rank, int Strides>
constexpr auto device_view(T* data, const index_t (&extents)[Rank], const index_t (&strides)[Strides]) {
  if constexpr (Rank == Strides && !std::is_void_v<T>)
    return detail::strided_view<device_space>(data, extents, strides);
  else
    return detail::no_view<device_space, T>();
}

/// A view in the memory of executor `Executor`, for code that is generic over executors.
template <executor Executor, class T, std::integral... Index>
constexpr auto view_on(T* data, Index... extents) {
  return detail::packed_view<typename Executor::space>(data, extents...);
}
template <executor Executor, class T, int Rank>
constexpr auto view_on(T* data, const index_t (&extents)[Rank], const index_t (&strides)[Rank]) {
  return detail::strided_view<typename Executor::space>(data, extents, strides);
}

KILN_VIEWS_END
}  // namespace kiln
