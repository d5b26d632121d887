#pragma once
/// References to fields of one element, and values of several components.
///
/// A reference is what `get<mass>(p)` and structured bindings give: writing to it writes to the array, and `auto m =
/// ...` makes a second reference; `float m = get<mass>(p)` copies. The narrow floats are read as float and rounded once
/// when written. `swap(a, b)`, found by its arguments, exchanges values; std::swap by its full name would keep one in a
/// second reference, and lose it.
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <type_traits>

namespace kiln {

/// What an element is computed in: float for f16, bf16, e4m3 and e5m2, and the type itself for all others.
template <class T>
using compute_t = std::conditional_t<is_floating_v<T> && (sizeof(T) < sizeof(float)), float, std::remove_cv_t<T>>;

template <class T>
class field_ref;
template <class T>
inline constexpr bool is_field_ref_v = false;
template <class T>
inline constexpr bool is_field_ref_v<field_ref<T>> = true;
template <class T>
concept component_scalar = std::is_arithmetic_v<T> || is_numeric_v<T> || is_field_ref_v<T>;

namespace detail {
/// The value that memory of type To gets: numbers as `convert` makes them, and bool as the language does.
template <class To, class From>
KILN_FN constexpr To stored_as(const From& x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_field_ref_v<From>)
    return stored_as<To>(x.stored());
  else if constexpr (is_convertible_number_v<To> && is_convertible_number_v<From>)
    return convert<To>(x);
  else
    return static_cast<To>(x);
}
/// What meets a value of a field in arithmetic: a whole number beside a float as one, as the language has it, too.
template <class Value, class X>
KILN_FN constexpr auto operand_of(const X& x) {
  if constexpr (std::is_floating_point_v<Value> && std::is_integral_v<X>)
    return static_cast<Value>(x);
  else
    return x;
}
}  // namespace detail

/// N components by value, with the arithmetic of a vector.
template <class T, int N>
struct components {
  static constexpr int size = N;
  T v[N];
  KILN_FN constexpr T& operator[](int i) { return v[i]; }
  KILN_FN constexpr const T& operator[](int i) const { return v[i]; }
};

/// One component in memory or in registers. `written` is set by every write, where somebody watches.
template <class T>
class field_ref {
 public:
  using value_type = compute_t<T>;

  KILN_FN constexpr explicit field_ref(T* at, bool* written = nullptr) : at_(at), written_(written) {}
  field_ref(const field_ref&) = default;

  KILN_FN constexpr operator value_type() const { return static_cast<value_type>(*at_); }  // NOLINT: a reference reads

  template <class X>
  KILN_FN constexpr const field_ref& operator=(const X& x) const {
    *at_ = detail::stored_as<T>(x);
    if (written_ != nullptr) *written_ = true;
    return *this;
  }
  // The template would leave the const-qualified assignment of the same type to the compiler's own.
  KILN_FN constexpr const field_ref& operator=(const field_ref& x) const {
    return this->template operator=<field_ref>(x);
  }
  KILN_FN constexpr field_ref& operator=(const field_ref& x) {
    static_cast<const field_ref&>(*this) = x;
    return *this;
  }
  template <class X>
  KILN_FN constexpr const field_ref& operator+=(const X& x) const {
    return *this = static_cast<value_type>(*this) + detail::operand_of<value_type>(x);
  }
  template <class X>
  KILN_FN constexpr const field_ref& operator-=(const X& x) const {
    return *this = static_cast<value_type>(*this) - detail::operand_of<value_type>(x);
  }
  template <class X>
  KILN_FN constexpr const field_ref& operator*=(const X& x) const {
    return *this = static_cast<value_type>(*this) * detail::operand_of<value_type>(x);
  }
  template <class X>
  KILN_FN constexpr const field_ref& operator/=(const X& x) const {
    return *this = static_cast<value_type>(*this) / detail::operand_of<value_type>(x);
  }

  friend KILN_FN constexpr void swap(field_ref a, field_ref b) {
    const T old = a.stored();
    a = b;
    b = old;
  }

  /// What lies in memory; a copy of it keeps every bit, a NaN's payload too.
  KILN_FN constexpr const T& stored() const { return *at_; }

 private:
  T* at_;
  bool* written_;
};

/// The components of a field of an array type; T is const where the field is.
template <class T, int N>
class components_ref {
 public:
  static constexpr int size = N;
  using value_type = compute_t<T>;

  components_ref(const components_ref&) = default;
  /// `written` has one flag per component, or is null.
  KILN_FN constexpr explicit components_ref(T* const (&at)[N], bool* written = nullptr) : written_(written) {
    for (int i = 0; i < N; ++i) at_[i] = at[i];
  }

  KILN_FN constexpr auto operator[](int i) const {
    if constexpr (std::is_const_v<T>)
      return static_cast<value_type>(*at_[i]);
    else
      return field_ref<T>(at_[i], written_ == nullptr ? nullptr : written_ + i);
  }
  KILN_FN constexpr operator components<value_type, N>() const {  // NOLINT: a reference reads
    components<value_type, N> r{};
    for (int i = 0; i < N; ++i) r[i] = static_cast<value_type>(*at_[i]);
    return r;
  }

  template <class X>
  KILN_FN constexpr const components_ref& operator=(const X& x) const {
    static_assert(!std::is_const_v<T>, "a const field cannot be written");
    // Read all before the first write: x may refer to the same components in another order.
    components<std::remove_const_t<T>, N> copy{};
    for (int i = 0; i < N; ++i) {
      if constexpr (component_scalar<std::remove_cvref_t<decltype(x[i])>>)
        copy[i] = detail::stored_as<std::remove_const_t<T>>(x[i]);
      else
        copy[i] = detail::stored_as<std::remove_const_t<T>>(static_cast<value_type>(x[i]));
    }
    for (int i = 0; i < N; ++i) (*this)[i] = copy[i];
    return *this;
  }
  KILN_FN constexpr const components_ref& operator=(const components_ref& x) const {
    return this->template operator=<components_ref>(x);
  }
  KILN_FN constexpr components_ref& operator=(const components_ref& x) {
    static_cast<const components_ref&>(*this) = x;
    return *this;
  }
  template <class X>
  KILN_FN constexpr const components_ref& operator+=(const X& x) const {
    return *this = *this + x;
  }
  template <class X>
  KILN_FN constexpr const components_ref& operator-=(const X& x) const {
    return *this = *this - x;
  }
  template <class X>
  KILN_FN constexpr const components_ref& operator*=(const X& x) const {
    return *this = *this * x;
  }
  template <class X>
  KILN_FN constexpr const components_ref& operator/=(const X& x) const {
    return *this = *this / x;
  }

  friend KILN_FN constexpr void swap(components_ref a, components_ref b) {
    components<std::remove_const_t<T>, N> old{};
    for (int i = 0; i < N; ++i) old[i] = *a.at_[i];
    a = b;
    b = old;
  }

 private:
  T* at_[N];
  bool* written_;
};

template <class T>
inline constexpr bool is_components_v = false;
template <class T, int N>
inline constexpr bool is_components_v<components<T, N>> = true;
template <class T, int N>
inline constexpr bool is_components_v<components_ref<T, N>> = true;
template <class T>
concept component_like = is_components_v<std::remove_cvref_t<T>>;

namespace detail {
template <class A>
KILN_FN constexpr auto component(const A& a, int i) {
  if constexpr (component_like<A>) {
    if constexpr (requires { static_cast<typename A::value_type>(a[i]); })
      return static_cast<typename A::value_type>(a[i]);
    else
      return a[i];
  } else {
    return a;
  }
}
template <class F, class A, class B>
KILN_FN constexpr auto by_component(F f, const A& a, const B& b) {
  constexpr int n = [] {
    if constexpr (component_like<A>)
      return A::size;
    else
      return B::size;
  }();
  if constexpr (component_like<A> && component_like<B>)
    static_assert(A::size == B::size, "fields of different numbers of components do not combine");
  components<decltype(f(component(a, 0), component(b, 0))), n> r{};
  for (int i = 0; i < n; ++i) r[i] = f(component(a, i), component(b, i));
  return r;
}
struct plus_op {
  KILN_FN constexpr auto operator()(auto a, auto b) const { return a + b; }
};
struct minus_op {
  KILN_FN constexpr auto operator()(auto a, auto b) const { return a - b; }
};
struct times_op {
  KILN_FN constexpr auto operator()(auto a, auto b) const { return a * b; }
};
struct over_op {
  KILN_FN constexpr auto operator()(auto a, auto b) const { return a / b; }
};
}  // namespace detail

template <component_like A, component_like B>
KILN_FN constexpr auto operator+(const A& a, const B& b) {
  return detail::by_component(detail::plus_op{}, a, b);
}
template <component_like A, component_like B>
KILN_FN constexpr auto operator-(const A& a, const B& b) {
  return detail::by_component(detail::minus_op{}, a, b);
}
/// By component.
template <component_like A, component_like B>
KILN_FN constexpr auto operator*(const A& a, const B& b) {
  return detail::by_component(detail::times_op{}, a, b);
}
template <component_like A, component_scalar B>
KILN_FN constexpr auto operator*(const A& a, const B& b) {
  return detail::by_component(detail::times_op{}, a, b);
}
template <component_scalar A, component_like B>
KILN_FN constexpr auto operator*(const A& a, const B& b) {
  return detail::by_component(detail::times_op{}, a, b);
}
template <component_like A, component_scalar B>
KILN_FN constexpr auto operator/(const A& a, const B& b) {
  return detail::by_component(detail::over_op{}, a, b);
}
template <component_like A>
KILN_FN constexpr auto operator-(const A& a) {
  return detail::by_component(detail::times_op{}, a, -1);
}
/// Sum of the products of components, the first first.
template <component_like A, component_like B>
KILN_FN constexpr auto dot(const A& a, const B& b) {
  const auto products = a * b;
  auto sum = products[0];
  for (int i = 1; i < products.size; ++i) sum += products[i];
  return sum;
}

}  // namespace kiln
