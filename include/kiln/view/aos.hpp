#pragma once
/// Records as an array of structs, under the interface of view/soa.hpp, so that one functor runs on both.
///
///     struct particle { float position[3], velocity[3], mass; };
///     auto p = host_aos<position, velocity, mass>(particles, n);
#include <concepts>
#include <cstddef>
#include <kiln/view/soa.hpp>
#include <type_traits>

namespace kiln {

KILN_VIEWS_BEGIN

/// Structs whose members are the fields in this order, laid out as C++ lays out plain structs.
template <class Space, class... Fields>
struct aos_view {
  using space = Space;
  using fields = field_list<Fields...>;
  static constexpr std::size_t record_bytes = fields::record_bytes;
  static constexpr bool is_const = (field<Fields>::is_const && ...);
  using byte = std::conditional_t<is_const, const unsigned char, unsigned char>;

  index_t count = 0;
  byte* data = nullptr;
#if defined(KILN_DEBUG)
  view_name name{};
#endif

  KILN_FN constexpr index_t size() const { return count; }

  template <std::size_t Index>
  KILN_FN auto* at(index_t i, int c = 0) const {
    using stored = typename fields::template at<Index>::stored;
    return reinterpret_cast<stored*>(data + i * static_cast<index_t>(record_bytes) +
                                     static_cast<index_t>(fields::template offset<Index>)) +
           c;
  }
  KILN_FN element<aos_view> operator[](index_t i) const {
#if defined(KILN_DEBUG)
    if (i < 0 || i >= count) detail::out_of_bounds(name.text, 1, &i, 0, count);
#endif
    return {*this, i};
  }

  element_iterator<aos_view> begin() const requires std::same_as<Space, host_space> { return {*this, 0}; }
  element_iterator<aos_view> end() const requires std::same_as<Space, host_space> { return {*this, count}; }
};

KILN_VIEWS_END

/// In host memory.
template <class... Fields>
using aos = aos_view<host_space, Fields...>;

template <class T>
inline constexpr bool is_aos_v = false;
template <class Space, class... Fields>
inline constexpr bool is_aos_v<aos_view<Space, Fields...>> = true;

/// Either of the two views of records.
template <class T>
concept record_view = is_soa_v<std::remove_cvref_t<T>> || is_aos_v<std::remove_cvref_t<T>>;

namespace detail {
KILN_VIEWS_BEGIN
template <class Space, class... Fields, class Record>
auto make_aos(Record* records, index_t n) {
  using view = aos_view<Space, Fields...>;
  static_assert(std::is_trivially_copyable_v<Record>, "the struct of an AoS view needs to be trivially copyable");
  static_assert(sizeof(Record) == view::record_bytes && alignof(Record) == view::fields::alignment,
                "the fields of an AoS view need to be the members of the struct, all of them, in their order");
  static_assert(view::is_const || !std::is_const_v<Record>,
                "fields of an AoS view over const structs need to be const");
  view v;
  v.count = n;
  v.data = reinterpret_cast<typename view::byte*>(records);
  return v;
}
KILN_VIEWS_END
}  // namespace detail

KILN_VIEWS_BEGIN

template <class... Fields, class Record>
auto host_aos(Record* records, index_t n) {
  return detail::make_aos<host_space, Fields...>(records, n);
}
template <class... Fields, class Record>
auto device_aos(Record* records, index_t n) {
  return detail::make_aos<device_space, Fields...>(records, n);
}
template <executor Executor, class... Fields, class Record>
auto aos_on(Record* records, index_t n) {
  return detail::make_aos<typename Executor::space, Fields...>(records, n);
}

KILN_VIEWS_END

/// Of a tensor, with its axis.
template <class Space, class... Fields>
constexpr auto slice(aos_view<Space, Fields...> v, int, index_t, index_t) {
  static_assert(sizeof(Space) == 0, "slice of a view of fields takes (view, begin, end): it has one axis");
  return v;
}
/// Elements [begin, end), as of an SoA view.
template <class Space, class... Fields>
KILN_FN constexpr auto slice(aos_view<Space, Fields...> v, index_t begin, index_t end) {
  if (v.count < 0) return v;
  if (begin < 0) begin += v.count;
  if (end < 0) end += v.count;
  if (begin < 0 || end > v.count || begin > end) {
    v.count = -1;
    return v;
  }
  v.count = end - begin;
  if (v.data != nullptr) v.data += begin * static_cast<index_t>(aos_view<Space, Fields...>::record_bytes);
  return v;
}

/// Gives a view of records the name that checks report.
template <record_view View>
KILN_FN constexpr View named(View v, [[maybe_unused]] const char* name) {
#if defined(KILN_DEBUG)
  v.name = detail::make_name(name);
#endif
  return v;
}

}  // namespace kiln
