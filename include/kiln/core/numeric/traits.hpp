#pragma once
/// What an element type is: its kind, its name, and Kiln's type for CUDA's.
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <kiln/core/macros.hpp>
#include <kiln/core/numeric/bf16.hpp>
#include <kiln/core/numeric/f16.hpp>
#include <kiln/core/numeric/fp8.hpp>
#include <kiln/core/numeric/int4.hpp>

// CUDA's own types, named without their headers. Kiln reads their bits only, and uses none of their operators.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace kiln {

namespace detail {

template <class T>
struct native {
  using type = T;
};
template <class T>
struct native<const T> {
  using type = const typename native<T>::type;
};
template <>
struct native<__half> {
  using type = f16;
};
template <>
struct native<__nv_bfloat16> {
  using type = bf16;
};
template <>
struct native<__nv_fp8_e4m3> {
  using type = e4m3;
};
template <>
struct native<__nv_fp8_e5m2> {
  using type = e5m2;
};

template <class T, class... List>
inline constexpr bool is_any_of = (std::is_same_v<T, List> || ...);

}  // namespace detail

/// Kiln's type for one of CUDA's 16-bit and 8-bit floats, const kept; any other type stays itself.
template <class T>
using native_t = typename detail::native<T>::type;

/// f16, bf16, e4m3, e5m2, float, double.
template <class T>
inline constexpr bool is_floating_v = detail::is_any_of<std::remove_cv_t<T>, f16, bf16, e4m3, e5m2, float, double>;

/// The element types of matrices and rows: the floating ones, int32, int8 and uint8. int4x2 holds two elements and is
/// none itself.
template <class T>
inline constexpr bool is_numeric_v =
    is_floating_v<T> || detail::is_any_of<std::remove_cv_t<T>, std::int32_t, std::int8_t, std::uint8_t>;

/// What `convert` joins: the floating types and every integer of at most 64 bits. bool is a truth and no number.
template <class T>
inline constexpr bool is_convertible_number_v = is_floating_v<T>;
template <std::integral T>
inline constexpr bool is_convertible_number_v<T> = sizeof(T) <= 8 && !std::is_same_v<std::remove_cv_t<T>, bool>;

/// The name used in messages and tables: "f16", "bf16", "e4m3", "e5m2", "int4x2", "float32", "int8", ...
template <class T>
KILN_FN constexpr const char* name_of() {
  using type = std::remove_cv_t<native_t<T>>;
  if constexpr (std::is_same_v<type, f16>)
    return "f16";
  else if constexpr (std::is_same_v<type, bf16>)
    return "bf16";
  else if constexpr (std::is_same_v<type, e4m3>)
    return "e4m3";
  else if constexpr (std::is_same_v<type, e5m2>)
    return "e5m2";
  else if constexpr (std::is_same_v<type, int4x2>)
    return "int4x2";
  else if constexpr (std::is_same_v<type, float>)
    return "float32";
  else if constexpr (std::is_same_v<type, double>)
    return "float64";
  else if constexpr (std::is_same_v<type, std::int64_t>)
    return "int64";
  else if constexpr (std::is_same_v<type, std::int32_t>)
    return "int32";
  else if constexpr (std::is_same_v<type, std::int8_t>)
    return "int8";
  else if constexpr (std::is_same_v<type, std::uint8_t>)
    return "uint8";
  else
    return "unknown";
}

template <class T>
inline constexpr bool is_fp8_v = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

}  // namespace kiln
