#pragma once
/// What a field of a record is, and how plain C++ lays a record of fields out.
///
/// A field is a tag with a member type, `struct velocity { using type = float[3]; };`, or a plain type. An array type
/// has components: in an SoA each is an array of its own. Any other type, a struct too, is stored whole. A field named
/// with const (`const mass`) is read and never written.
#include <cstddef>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <type_traits>
#include <utility>

namespace kiln {

namespace detail {

template <class Field>
struct declared_type {
  using type = Field;
};
template <class Field>
  requires requires { typename Field::type; }
struct declared_type<Field> {
  using type = typename Field::type;
};

}  // namespace detail

template <class Field>
struct field {
  using tag = std::remove_cv_t<Field>;
  using declared = std::remove_cv_t<typename detail::declared_type<tag>::type>;
  /// What one component holds.
  using type = native_t<std::remove_extent_t<declared>>;
  static constexpr bool is_const = std::is_const_v<Field>;
  static constexpr bool is_array = std::is_array_v<declared>;
  static constexpr int components = is_array ? static_cast<int>(std::extent_v<declared>) : 1;
  using stored = std::conditional_t<is_const, const type, type>;

  static_assert(std::rank_v<declared> <= 1, "a field's type is a scalar, a struct or an array of one dimension");
  static_assert(components >= 1, "a field of an array type needs its extent: float[3]");
  static_assert(std::is_trivially_copyable_v<type>, "a field's type needs to be trivially copyable");
};

namespace detail {

template <std::size_t Index, class... Fields>
struct nth;
template <class First, class... Rest>
struct nth<0, First, Rest...> {
  using type = First;
};
template <std::size_t Index, class First, class... Rest>
struct nth<Index, First, Rest...> : nth<Index - 1, Rest...> {};

}  // namespace detail

/// A list of fields, and the record that has them as members in this order.
template <class... Fields>
struct field_list {
  static_assert(sizeof...(Fields) >= 1, "a record has at least one field");
  static constexpr std::size_t size = sizeof...(Fields);
  template <std::size_t Index>
  using at = field<typename detail::nth<Index, Fields...>::type>;
  using indices = std::make_index_sequence<size>;

  /// How many fields have this tag, and the number of the first.
  template <class Tag>
  static constexpr std::size_t count = (std::size_t{std::is_same_v<typename field<Fields>::tag, Tag>} + ...);
  template <class Tag>
  static constexpr std::size_t number = [] {
    const bool same[] = {std::is_same_v<typename field<Fields>::tag, Tag>...};
    std::size_t i = 0;
    while (i < size && !same[i]) ++i;
    return i;
  }();

  static constexpr std::size_t smallest = [] {
    std::size_t s = 16;
    ((s = sizeof(typename field<Fields>::type) < s ? sizeof(typename field<Fields>::type) : s), ...);
    return s;
  }();
  static constexpr std::size_t alignment = [] {
    std::size_t a = 1;
    ((a = alignof(typename field<Fields>::type) > a ? alignof(typename field<Fields>::type) : a), ...);
    return a;
  }();
  static constexpr std::size_t components = (static_cast<std::size_t>(field<Fields>::components) + ...);
  /// Bytes that all components of one element hold, without padding.
  static constexpr std::size_t useful_bytes =
      ((sizeof(typename field<Fields>::type) * static_cast<std::size_t>(field<Fields>::components)) + ...);

 private:
  static constexpr std::size_t end_of(std::size_t fields) {
    const std::size_t sizes[] = {sizeof(typename field<Fields>::type) *
                                 static_cast<std::size_t>(field<Fields>::components)...};
    const std::size_t alignments[] = {alignof(typename field<Fields>::type)...};
    std::size_t at = 0;
    for (std::size_t i = 0; i < fields; ++i) at = (at + alignments[i] - 1) / alignments[i] * alignments[i] + sizes[i];
    return at;
  }

 public:
  /// Where field Index begins in a struct of these members, and that struct's size.
  template <std::size_t Index>
  static constexpr std::size_t offset =
      end_of(Index + 1) - sizeof(typename at<Index>::type) * static_cast<std::size_t>(at<Index>::components);
  static constexpr std::size_t record_bytes = (end_of(size) + alignment - 1) / alignment * alignment;
};

}  // namespace kiln
