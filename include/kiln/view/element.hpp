#pragma once
/// One element of a view of records: `get<mass>(e)`, `get<2>(e)`, structured bindings.
#include <concepts>
#include <cstddef>
#include <kiln/view/field.hpp>
#include <kiln/view/reference.hpp>
#include <type_traits>
#include <utility>

namespace kiln {

namespace detail {
/// A reference to field Index whose component c lies at `at(c)`: a field_ref, a components_ref, or T& for a struct; a
/// plain value where the field is const and has no components.
template <class Fields, std::size_t Index, class At>
KILN_FN constexpr decltype(auto) reference_to([[maybe_unused]] bool* written, At at) {
  using f = typename Fields::template at<Index>;
  using stored = typename f::stored;
  if constexpr (f::is_array) {
    stored* all[f::components] = {};
    for (int c = 0; c < f::components; ++c) all[c] = at(c);
    return components_ref<stored, f::components>(all, written);
  } else if constexpr (std::is_class_v<typename f::type> && !is_numeric_v<typename f::type>) {
    if (written != nullptr) *written = true;
    return static_cast<stored&>(*at(0));
  } else if constexpr (f::is_const) {
    return static_cast<compute_t<typename f::type>>(*at(0));
  } else {
    return field_ref<stored>(at(0), written);
  }
}

template <class Fields>
inline constexpr bool has_const_field = false;
template <class... Fields>
inline constexpr bool has_const_field<field_list<Fields...>> = (field<Fields>::is_const || ...);
template <class A, class B>
inline constexpr bool same_record = false;
template <class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) inline constexpr bool same_record<field_list<A...>, field_list<B...>> =
    (std::is_same_v<typename field<A>::tag, typename field<B>::tag> && ...);

template <class To, class From>
KILN_FN constexpr void assign_fields(const To& to, const From& from) {
  constexpr bool same = same_record<typename To::fields, typename From::fields>;
  constexpr bool writes = !has_const_field<typename To::fields>;
  static_assert(same, "an element is assigned from an element with the same fields in the same order");
  static_assert(writes, "an element with a const field is not assigned: get<mass>(to) = get<mass>(from) sets one");
  if constexpr (same && writes)
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (static_cast<void>(to.template field_number<Index>() = from.template field_number<Index>()), ...);
    }
  (typename To::fields::indices{});
}
template <class Element>
KILN_FN constexpr void swap_fields(const Element& a, const Element& b) {
  constexpr bool writes = !has_const_field<typename Element::fields>;
  static_assert(writes, "elements with a const field cannot be swapped");
  const auto one = [](auto&& x, auto&& y) {
    if constexpr (requires { swap(x, y); }) {
      swap(x, y);
    } else {
      auto old = x;
      x = y;
      y = old;
    }
  };
  if constexpr (writes)
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (one(a.template field_number<Index>(), b.template field_number<Index>()), ...);
    }
  (typename Element::fields::indices{});
}
}  // namespace detail

/// Anything that `get` opens: elements in memory, and those that a kernel holds in registers.
template <class E>
concept field_element = requires(const E& e) {
  typename E::fields;
  e.template field_number<0>();
};

/// Element `at` of a view. References to its fields stay good after it is gone. Like them it assigns to memory:
/// `p[i] = p[j]` and `swap(p[i], p[j])` copy and exchange all fields.
template <class View>
struct element {
  using fields = typename View::fields;
  View view;
  index_t number;

  KILN_FN constexpr element(const View& of, index_t at) : view(of), number(at) {}
  element(const element&) = default;
  KILN_FN constexpr const element& operator=(const element& from) const {
    detail::assign_fields(*this, from);
    return *this;
  }
  KILN_FN constexpr element& operator=(const element& from) {
    detail::assign_fields(*this, from);
    return *this;
  }
  template <field_element E>
  KILN_FN constexpr const element& operator=(const E& from) const {
    detail::assign_fields(*this, from);
    return *this;
  }
  friend KILN_FN constexpr void swap(element a, element b) { detail::swap_fields(a, b); }

  template <std::size_t Index>
  KILN_FN constexpr decltype(auto) field_number() const {
    return detail::reference_to<fields, Index>(nullptr, [this](int c) { return view.template at<Index>(number, c); });
  }
};

/// The field with this tag.
template <class Tag, field_element E>
KILN_FN constexpr decltype(auto) get(const E& e) {
  static_assert(
      E::fields::template count<Tag> == 1,
      "get<Tag>(element): Tag needs to be one of the view's fields; a type that occurs twice is reached by number");
  if constexpr (E::fields::template count<Tag> == 1) return e.template field_number<E::fields::template number<Tag>>();
}
/// The field with this number.
template <std::size_t Index, field_element E>
KILN_FN constexpr decltype(auto) get(const E& e) {
  static_assert(Index < E::fields::size, "get<Index>(element): the view has fewer fields");
  return e.template field_number<Index>();
}

/// Walks over the elements of a host view, all fields in step.
template <class View>
struct element_iterator {
  using value_type = element<View>;
  using difference_type = index_t;

  View view;
  index_t number;

  constexpr value_type operator*() const { return view[number]; }
  constexpr element_iterator& operator++() {
    ++number;
    return *this;
  }
  constexpr element_iterator operator++(int) {
    auto before = *this;
    ++number;
    return before;
  }
  friend constexpr bool operator==(const element_iterator& a, const element_iterator& b) {
    return a.number == b.number;
  }
};

}  // namespace kiln

template <class View>
struct std::tuple_size<kiln::element<View>> : std::integral_constant<std::size_t, View::fields::size> {};
template <std::size_t Index, class View>
struct std::tuple_element<Index, kiln::element<View>> {
  using type = decltype(kiln::get<Index>(std::declval<const kiln::element<View>&>()));
};
