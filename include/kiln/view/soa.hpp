#pragma once
/// Records as a structure of arrays, used like an array of structs. A view owns nothing.
///
///     struct position { using type = float[3]; };  // three arrays
///     struct velocity { using type = float[3]; };
///     struct mass { using type = float; };
///
///     auto p = host_soa<position, velocity, const mass>({x, y, z}, {u, v, w}, m, n);
///     get<position>(p[i]) += dt * get<velocity>(p[i]);
///     for (auto [at, speed, m] : p) at += dt * speed;      // references, all fields in step
///
/// view/aos.hpp has the twin over an array of structs. Fields and what they may be: view/field.hpp; references:
/// view/reference.hpp.
#include <concepts>
#include <cstddef>
#include <kiln/core/executor.hpp>
#include <kiln/core/types.hpp>
#include <kiln/view/element.hpp>
#include <kiln/view/field.hpp>
#include <kiln/view/tensor.hpp>
#include <type_traits>
#include <utility>

namespace kiln {

namespace detail {
/// A pointer to a field's array, of CUDA's floats, too.
template <class T, class X>
constexpr T* array_of([[maybe_unused]] X* array) {
  constexpr bool fits = std::is_convertible_v<element_t<X>*, T*>;
  static_assert(fits, "an array of a view of fields has the field's type, and is const only for a const field");
  if constexpr (fits)
    return native_pointer(array);
  else
    return nullptr;
}
}  // namespace detail

/// Pointers to the N arrays of a field with components.
template <class T, int N>
struct component_arrays {
  T* at[N] = {};

  template <class... X>
    requires(sizeof...(X) == N)
  constexpr component_arrays(X*... arrays)
      : at{detail::array_of<T>(arrays)...} {}  // NOLINT: {x, y, z} is the notation
  template <class... X>
    requires(sizeof...(X) > 1 && sizeof...(X) != N)
  constexpr component_arrays(X*...) {
    static_assert(sizeof...(X) == N, "a field of N components takes N pointers in braces: {x, y, z} for float[3]");
  }
  template <class U>
  requires std::is_same_v<const U, T>
  constexpr component_arrays(const component_arrays<U, N>& other) {  // NOLINT: widening
    for (int c = 0; c < N; ++c) at[c] = other.at[c];
  }

 private:
  template <int M, class U>
  friend constexpr auto stacked(U* first, index_t pitch);
  constexpr component_arrays() = default;
};

/// N arrays in one piece of memory, `pitch` elements from the begin of one to the begin of the next.
template <int N, class T>
constexpr auto stacked(T* first, index_t pitch) {
  component_arrays<detail::element_t<T>, N> arrays;
  for (int c = 0; c < N; ++c) arrays.at[c] = first == nullptr ? nullptr : detail::native_pointer(first) + c * pitch;
  return arrays;
}

namespace detail {

template <class Field>
struct single_array {
  using T = typename field<Field>::stored;
  T* at[1];
  template <class X>
  constexpr single_array(X* array) : at{array_of<T>(array)} {}  // NOLINT: a pointer is the notation
  constexpr single_array(std::nullptr_t) : at{nullptr} {}          // NOLINT
};

/// What a factory takes for a field: one pointer, or one per component in braces.
template <class Field>
using array_argument =
    std::conditional_t<field<Field>::is_array,
                       component_arrays<typename field<Field>::stored, field<Field>::components>, single_array<Field>>;

template <std::size_t Index, class Field>
struct array_leaf {
  typename field<Field>::stored* at[field<Field>::components] = {};
};
template <class Indices, class... Fields>
struct array_leaves;
template <std::size_t... Index, class... Fields>
struct array_leaves<std::index_sequence<Index...>, Fields...> : array_leaf<Index, Fields>... {};

template <std::size_t Index, class Field>
KILN_FN constexpr auto& leaf(array_leaf<Index, Field>& l) {
  return l.at;
}
template <std::size_t Index, class Field>
KILN_FN constexpr const auto& leaf(const array_leaf<Index, Field>& l) {
  return l.at;
}

}  // namespace detail

KILN_VIEWS_BEGIN

template <class Space, class... Fields>
struct soa_view {
  using space = Space;
  using fields = field_list<Fields...>;

  index_t count = 0;
  detail::array_leaves<typename fields::indices, Fields...> arrays{};
#if defined(KILN_DEBUG)
  view_name name{};
#endif

  KILN_FN constexpr index_t size() const { return count; }

  /// Component c of field Index of element i.
  template <std::size_t Index>
  KILN_FN constexpr auto* at(index_t i, int c = 0) const {
    return detail::leaf<Index>(arrays)[c] + i;
  }
  KILN_FN constexpr element<soa_view> operator[](index_t i) const {
#if defined(KILN_DEBUG)
    if (i < 0 || i >= count) detail::out_of_bounds(name.text, 1, &i, 0, count);
#endif
    return {*this, i};
  }

  constexpr element_iterator<soa_view> begin() const requires std::same_as<Space, host_space> { return {*this, 0}; }
  constexpr element_iterator<soa_view> end() const requires std::same_as<Space, host_space> { return {*this, count}; }
};

KILN_VIEWS_END

/// In host memory.
template <class... Fields>
using soa = soa_view<host_space, Fields...>;

template <class T>
inline constexpr bool is_soa_v = false;
template <class Space, class... Fields>
inline constexpr bool is_soa_v<soa_view<Space, Fields...>> = true;

namespace detail {
KILN_VIEWS_BEGIN
template <class Space, class... Fields, std::size_t... Index>
constexpr auto make_soa(std::index_sequence<Index...>, index_t n, const array_argument<Fields>&... arguments) {
  soa_view<Space, Fields...> v;
  v.count = n;
  const auto set = [](auto& to, const auto& from) {
    for (std::size_t c = 0; c < sizeof(to) / sizeof(to[0]); ++c) to[c] = from.at[c];
  };
  (set(leaf<Index>(v.arrays), arguments), ...);
  return v;
}
KILN_VIEWS_END

/// Bytes up to the end of array number `arrays`, each array starting on a multiple of 256 bytes.
template <class... Fields>
constexpr std::size_t packed_arrays(index_t n, std::size_t fields) {
  const std::size_t sizes[] = {sizeof(typename field<Fields>::type)...};
  const int components[] = {field<Fields>::components...};
  index_t bytes = 0;
  if (n <= 0) return 0;
  for (std::size_t f = 0; f < fields; ++f) {
    const index_t array = saturated_sum(saturated_product(static_cast<index_t>(sizes[f]), n), 255) / 256;
    bytes = saturated_sum(bytes, saturated_product(256, saturated_product(array, components[f])));
  }
  return static_cast<std::size_t>(bytes);
}

KILN_VIEWS_BEGIN
template <class Space, class... Fields, std::size_t... Index>
constexpr auto make_soa_in(std::index_sequence<Index...>, void* memory, index_t n) {
  soa_view<Space, Fields...> v;
  v.count = n;
  const auto set = [&]<class T, std::size_t N>(T*(&to)[N], std::size_t begin) {
    const std::size_t pitch = n < 0 ? 0 : round_up(static_cast<std::size_t>(n) * sizeof(T), std::size_t{256});
    for (std::size_t c = 0; c < N; ++c)
      to[c] =
          memory == nullptr ? nullptr : reinterpret_cast<T*>(static_cast<unsigned char*>(memory) + begin + c * pitch);
  };
  (set(leaf<Index>(v.arrays), packed_arrays<Fields...>(n, Index)), ...);
  return v;
}
KILN_VIEWS_END

/// Stands for a view of too few arrays, or too many.
template <class Space, class... Fields>
constexpr soa_view<Space, Fields...> no_soa() {
  static_assert(std::is_void_v<Space>,
                "host_soa<fields...> and device_soa<fields...> take one pointer for each field, or {one for each of "
                "its components}, and then the number of elements");
  return {};
}
}  // namespace detail

KILN_VIEWS_BEGIN

/// One pointer per field in their order, `{x, y, z}` or `stacked<3>(p, pitch)` for a field of three components, then
/// the number of elements.
template <class... Fields>
constexpr auto host_soa(detail::array_argument<Fields>... arrays, index_t n) {
  return detail::make_soa<host_space, Fields...>(std::index_sequence_for<Fields...>{}, n, arrays...);
}
template <class... Fields>
constexpr auto device_soa(detail::array_argument<Fields>... arrays, index_t n) {
  return detail::make_soa<device_space, Fields...>(std::index_sequence_for<Fields...>{}, n, arrays...);
}
template <executor Executor, class... Fields>
constexpr auto soa_on(detail::array_argument<Fields>... arrays, index_t n) {
  return detail::make_soa<typename Executor::space, Fields...>(std::index_sequence_for<Fields...>{}, n, arrays...);
}

template <class... Fields, class... X>
  requires(sizeof...(X) != sizeof...(Fields) + 1)
constexpr auto host_soa(const X&...) {
  return detail::no_soa<host_space, Fields...>();
}
template <class... Fields, class... X>
  requires(sizeof...(X) != sizeof...(Fields) + 1)
constexpr auto device_soa(const X&...) {
  return detail::no_soa<device_space, Fields...>();
}

/// Bytes of one buffer that holds all arrays of n elements (2^63 - 1 where there are more), and views of such a buffer
/// (256-byte aligned).
template <class... Fields>
constexpr std::size_t soa_bytes(index_t n) {
  return detail::packed_arrays<Fields...>(n, sizeof...(Fields));
}
template <class... Fields>
constexpr auto host_soa_in(void* memory, index_t n) {
  return detail::make_soa_in<host_space, Fields...>(std::index_sequence_for<Fields...>{}, memory, n);
}
template <class... Fields>
constexpr auto device_soa_in(void* memory, index_t n) {
  return detail::make_soa_in<device_space, Fields...>(std::index_sequence_for<Fields...>{}, memory, n);
}

KILN_VIEWS_END

/// Of a tensor, with its axis.
template <class Space, class... Fields>
constexpr auto slice(soa_view<Space, Fields...> v, int, index_t, index_t) {
  static_assert(sizeof(Space) == 0, "slice of a view of fields takes (view, begin, end): it has one axis");
  return v;
}
/// Elements [begin, end). Negative bounds count from the end; bounds outside the view give a view of -1 elements, which
/// every call refuses.
template <class Space, class... Fields>
KILN_FN constexpr auto slice(soa_view<Space, Fields...> v, index_t begin, index_t end) {
  if (v.count < 0) return v;
  if (begin < 0) begin += v.count;
  if (end < 0) end += v.count;
  if (begin < 0 || end > v.count || begin > end) {
    v.count = -1;
    return v;
  }
  v.count = end - begin;
  const auto move = [begin](auto& arrays) {
    for (auto& a : arrays)
      if (a != nullptr) a += begin;
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) { (move(detail::leaf<Index>(v.arrays)), ...); }
  (std::index_sequence_for<Fields...>{});
  return v;
}

/// Some of the fields, in the order named; `select<const mass, position>(p)` also forbids writes to the mass.
template <class... Some, class Space, class... Fields>
KILN_FN constexpr auto select(const soa_view<Space, Fields...>& v) {
  using all = field_list<Fields...>;
  constexpr bool there = ((all::template count<typename field<Some>::tag> == 1) && ...);
  static_assert(there, "select names a field that the view does not have once");
  constexpr bool writable = [] {
    if constexpr (there)
      return ((field<Some>::is_const || !all::template at<all::template number<typename field<Some>::tag>>::is_const) &&
              ...);
    else
      return true;
  }();
  static_assert(writable, "select: a field that is const in the view stays const: select<const mass>(view)");
  if constexpr (there && writable) {
    soa_view<Space, Some...> r;
    r.count = v.count;
    const auto set = [](auto& to, const auto& from) {
      for (std::size_t c = 0; c < sizeof(to) / sizeof(to[0]); ++c) to[c] = from[c];
    };
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (set(detail::leaf<Index>(r.arrays),
           detail::leaf<all::template number<typename field<Some>::tag>>(v.arrays)),
       ...);
    }
    (std::index_sequence_for<Some...>{});
#if defined(KILN_DEBUG)
    r.name = v.name;
#endif
    return r;
  } else {
    return v;
  }
}

template <class... Some, class View>
  requires(std::is_class_v<View> && !is_soa_v<View>)
constexpr View select(const View& v) {
  static_assert(sizeof(View) == 0, "select takes a view of arrays: host_soa<...>(...) or device_soa<...>(...)");
  return v;
}

/// The fields of all views side by side: `for (auto [x, v, force] : zipped(p, f))`. Views of different lengths give
/// one of -1 elements.
template <class Space, class... A, class... B>
KILN_FN constexpr auto zipped(const soa_view<Space, A...>& a, const soa_view<Space, B...>& b) {
  soa_view<Space, A..., B...> r;
  r.count = a.count == b.count ? a.count : -1;
  const auto set = [](auto& to, const auto& from) {
    for (std::size_t c = 0; c < sizeof(to) / sizeof(to[0]); ++c) to[c] = from[c];
  };
  [&]<std::size_t... Index, std::size_t... J>(std::index_sequence<Index...>, std::index_sequence<J...>) {
    (set(detail::leaf<Index>(r.arrays), detail::leaf<Index>(a.arrays)), ...);
    (set(detail::leaf<sizeof...(A) + J>(r.arrays), detail::leaf<J>(b.arrays)), ...);
  }
  (std::index_sequence_for<A...>{}, std::index_sequence_for<B...>{});
#if defined(KILN_DEBUG)
  r.name = a.name;
#endif
  return r;
}
template <class Space, class... A, class... B, class... More>
  requires(sizeof...(More) >= 1)
KILN_FN constexpr auto zipped(const soa_view<Space, A...>& a, const soa_view<Space, B...>& b, const More&... more) {
  return zipped(zipped(a, b), more...);
}

template <class A, class B>
  requires(std::is_class_v<A> && std::is_class_v<B>)
constexpr A zipped(const A& a, const B&) {
  static_assert(sizeof(A) == 0,
                "zipped takes views of arrays in one memory: all from host_soa<...>(...), or all from "
                "device_soa<...>(...)");
  return a;
}

/// One array as a view of its own: `column<position>(p, 2)` is z. A component that the field does not have gives extent
/// -1, which every call refuses.
template <class Tag, class Space, class... Fields>
KILN_FN constexpr auto column(const soa_view<Space, Fields...>& v, int component = 0) {
  using all = field_list<Fields...>;
  constexpr bool there = all::template count<Tag> == 1;
  static_assert(there, "column names a field that the view does not have once");
  constexpr std::size_t number = there ? all::template number<Tag> : 0;
  tensor<typename all::template at<number>::stored, 1, Space> r;
  constexpr int components = all::template at<number>::components;
  const bool has = component >= 0 && component < components;
  r.data = has ? detail::leaf<number>(v.arrays)[component] : nullptr;
  r.extents[0] = has ? v.count : -1;
  r.strides[0] = 1;
#if defined(KILN_DEBUG)
  r.name = v.name;
#endif
  return r;
}
template <class Tag, class View>
  requires(std::is_class_v<View> && !is_soa_v<View>)
constexpr tensor<float, 1> column(const View&, int = 0) {
  static_assert(sizeof(View) == 0, "column takes a view of arrays: host_soa<...>(...) or device_soa<...>(...)");
  return {};
}

}  // namespace kiln
