#pragma once
/// + - * /, min, max, clamp, rounding, and axpby. Integers with integers stay integers and wrap as two's complement; an
/// integer beside a float becomes a float; a quotient is always a float.
#include <kiln/epilogue/activations.hpp>
#include <kiln/epilogue/operation.hpp>

namespace kiln {

namespace detail {

template <class... V>
using common_t = std::conditional_t<(std::is_same_v<V, std::int32_t> && ...), std::int32_t, float>;

template <class To, class From>
KILN_FN constexpr To as(From x) {
  return static_cast<To>(x);
}
KILN_FN constexpr std::uint32_t unsigned_of(std::int32_t x) { return static_cast<std::uint32_t>(x); }
KILN_FN constexpr std::int32_t signed_of(std::uint32_t x) { return static_cast<std::int32_t>(x); }

struct arithmetic : pointwise {
  template <class... V>
  using result = common_t<V...>;
};

struct plus : arithmetic {
  static constexpr const char* label = "+";
  KILN_FN std::int32_t operator()(std::int32_t x, std::int32_t y) const {
    return signed_of(unsigned_of(x) + unsigned_of(y));
  }
  template <class L, class R>
  KILN_FN float operator()(L x, R y) const {
    return as<float>(x) + as<float>(y);
  }
};
struct minus : arithmetic {
  static constexpr const char* label = "-";
  KILN_FN std::int32_t operator()(std::int32_t x, std::int32_t y) const {
    return signed_of(unsigned_of(x) - unsigned_of(y));
  }
  template <class L, class R>
  KILN_FN float operator()(L x, R y) const {
    return as<float>(x) - as<float>(y);
  }
};
struct times : arithmetic {
  static constexpr const char* label = "*";
  KILN_FN std::int32_t operator()(std::int32_t x, std::int32_t y) const {
    return signed_of(unsigned_of(x) * unsigned_of(y));
  }
  template <class L, class R>
  KILN_FN float operator()(L x, R y) const {
    return as<float>(x) * as<float>(y);
  }
};
struct quotient : pointwise {
  static constexpr const char* label = "/";
  template <class... V>
  using result = float;
  template <class L, class R>
  KILN_FN float operator()(L x, R y) const {
    return as<float>(x) / as<float>(y);
  }
};
struct negative : arithmetic {
  static constexpr const char* label = "-";
  KILN_FN std::int32_t operator()(std::int32_t x) const { return signed_of(0u - unsigned_of(x)); }
  KILN_FN float operator()(float x) const { return -x; }
};
struct smaller : arithmetic {
  static constexpr const char* label = "min";
  template <class L, class R>
  KILN_FN common_t<L, R> operator()(L x, R y) const {
    return activation::smaller(as<common_t<L, R>>(x), as<common_t<L, R>>(y));
  }
};
struct larger : arithmetic {
  static constexpr const char* label = "max";
  template <class L, class R>
  KILN_FN common_t<L, R> operator()(L x, R y) const {
    return activation::larger(as<common_t<L, R>>(x), as<common_t<L, R>>(y));
  }
};
template <class To>
struct rounding : pointwise {
  static constexpr const char* label = "round_to";
  template <class... V>
  using result = To;
  template <class V>
  KILN_FN To operator()(V x) const {
    return convert<To>(x);
  }
};

template <class L, class R>
concept operands = node_or_view<L> || node_or_view<R>;

}  // namespace detail

template <class L, class R>
requires detail::operands<L, R>
constexpr auto operator+(const L& x, const R& y) { return apply_op(detail::plus{}, x, y); }
template <class L, class R>
requires detail::operands<L, R>
constexpr auto operator-(const L& x, const R& y) { return apply_op(detail::minus{}, x, y); }
template <class L, class R>
requires detail::operands<L, R>
constexpr auto operator*(const L& x, const R& y) { return apply_op(detail::times{}, x, y); }
/// IEEE division; where a multiplication by the reciprocal will do, it is several times cheaper.
template <class L, class R>
requires detail::operands<L, R>
constexpr auto operator/(const L& x, const R& y) { return apply_op(detail::quotient{}, x, y); }
template <class X>
requires detail::node_or_view<X>
constexpr auto operator-(const X& x) { return apply_op(detail::negative{}, x); }

/// Of two values; NaN if one is NaN. The overloads for one type keep std's templates from being the better match.
template <class L, class R>
requires detail::operands<L, R>
constexpr auto(min)(const L& x, const R& y) { return apply_op(detail::smaller{}, x, y); }
template <class X>
requires detail::node_or_view<X>
constexpr auto(min)(const X& x, const X& y) { return apply_op(detail::smaller{}, x, y); }
template <class... Any>
detail::no_function<detail::smaller, Any...>(min)(...);
template <class L, class R>
requires detail::operands<L, R>
constexpr auto(max)(const L& x, const R& y) { return apply_op(detail::larger{}, x, y); }
template <class X>
requires detail::node_or_view<X>
constexpr auto(max)(const X& x, const X& y) { return apply_op(detail::larger{}, x, y); }
template <class... Any>
detail::no_function<detail::larger, Any...>(max)(...);

/// x between low and high, which are numbers or nodes; NaN stays NaN.
template <class X, class Low, class High>
requires detail::node_or_view<X>
constexpr auto clamp(const X& x, const Low& low, const High& high) {
  return apply_op(detail::smaller{}, apply_op(detail::larger{}, x, low), high);
}
// Of three nodes of one type, to keep std's template from being the better match.
template <class X>
requires detail::node_or_view<X>
constexpr auto clamp(const X& x, const X& low, const X& high) {
  return apply_op(detail::smaller{}, apply_op(detail::larger{}, x, low), high);
}
template <class... Any>
detail::no_function<detail::larger, detail::smaller, Any...> clamp(...);

/// Rounds half to even, clamps to the range, NaN to 0: the one way from a float expression into an int32 tensor.
template <class To, class X>
requires detail::node_or_view<X>
constexpr auto round_to(const X& x) {
  static_assert(std::is_same_v<To, std::int32_t>,
                "round_to<To>: To is std::int32_t; narrower types are rounded to when stored");
  return apply_op(detail::rounding<std::int32_t>{}, x);
}
template <class... Any>
detail::no_function<detail::rounding<std::int32_t>, Any...> round_to(...);

/// An integer value as a float, rounded beyond 2^24; a float as it is.
template <class X>
requires detail::node_or_view<X>
constexpr auto as_float(const X& x) { return apply_op(detail::rounding<float>{}, x); }
template <class... Any>
detail::no_function<detail::rounding<float>, Any...> as_float(...);

}  // namespace kiln
