#pragma once
/// An elementwise function of views, used as a view that is only read. Nothing is computed or stored until a call reads
/// it, and the call computes it in its own pass.
///
///     const auto products = mapped(times{}, a, b);                // rank and extents of a and of b
///     transform(ex, transposed(products), bias, out, plus{});     // one pass over a, b and bias
///     copy(ex, slice(products, 0, 2, 5), some);
///
/// The functor is called as by `transform`: with floats for the narrow types, and const. Views that differ in shape
/// give extents of -1 on that axis, which every call refuses; a different number of axes does not compile.
#include <concepts>
#include <kiln/core/bundle.hpp>
#include <kiln/core/functor.hpp>
#include <kiln/view/reference.hpp>
#include <kiln/view/reshape.hpp>
#include <type_traits>
#include <utility>

namespace kiln {

template <class F, class... Views>
struct mapped_view;

template <class T>
inline constexpr bool is_mapped_v = false;
template <class F, class... Views>
inline constexpr bool is_mapped_v<mapped_view<F, Views...>> = true;

namespace detail {

template <int Index, class First, class... Rest>
KILN_FN constexpr const auto& member(const bundle<First, Rest...>& b) {
  if constexpr (Index == 0)
    return b.first;
  else
    return member<Index - 1>(b.rest);
}

/// What a functor is given for an element of the view.
template <class View>
using read_as = compute_t<typename View::value_type>;

}  // namespace detail

template <class F, class View, class... Rest>
struct mapped_view<F, View, Rest...> {
  using space = typename View::space;
  using value_type =
      std::remove_cvref_t<std::invoke_result_t<const F&, detail::read_as<View>, detail::read_as<Rest>...>>;
  static constexpr int rank = View::rank;

  F f;
  bundle<View, Rest...> views;

  KILN_FN constexpr index_t extent(int axis) const {
    const index_t first = views.first.extent(axis);
    bool equal = true;
    views.each([&](const auto& v, auto) { equal = equal && v.extent(axis) == first; });
    return equal ? first : -1;
  }
  KILN_FN constexpr index_t size() const {
    index_t extents[rank] = {};
    for (int a = 0; a < rank; ++a) extents[a] = extent(a);
    return box_size(extents, rank);
  }
  KILN_FN constexpr bool empty() const { return size() == 0; }

  KILN_HOST_CALLS template <std::integral... Index>
    requires(sizeof...(Index) == rank)
  KILN_FN constexpr value_type operator()(Index... at) const {
    return value(std::make_integer_sequence<int, 1 + sizeof...(Rest)>{}, at...);
  }

 private:
  KILN_HOST_CALLS template <int... K, class... Index>
  KILN_FN constexpr value_type value(std::integer_sequence<int, K...>, Index... at) const {
    return f(static_cast<detail::read_as<std::remove_cvref_t<decltype(detail::member<K>(views))>>>(
        detail::member<K>(views)(at...))...);
  }
};

/// f of one element of each view, for views of one shape in one memory. The views may be mapped ones.
template <class F, class View, class... Rest>
  requires((is_tensor_v<View> || is_mapped_v<View>) && ((is_tensor_v<Rest> || is_mapped_v<Rest>) && ...))
constexpr auto mapped(const F& f, const View& view, const Rest&... rest) {
  constexpr bool ranks = ((Rest::rank == View::rank) && ...);
  constexpr bool spaces = (std::is_same_v<typename Rest::space, typename View::space> && ...);
  constexpr bool runs = detail::is_functor_on<typename View::space, F>;
  static_assert(runs,
                "mapped: on the device the functor is a struct whose operator() is marked KILN_FN, or a __host__ "
                "__device__ lambda; other lambdas and pointers run on the host alone");
  constexpr bool callable =
      !runs || std::is_invocable_v<const F&, detail::read_as<View>, detail::read_as<Rest>...>;
  static_assert(ranks, "mapped: all views need the same number of axes: add one with broadcast<axis>(view, extent)");
  static_assert(spaces, "mapped: all views need to lie in one memory");
  static_assert(!ranks || callable, "mapped: the functor needs a const operator() that takes one value for each view");
  if constexpr (ranks && spaces && runs && callable) return mapped_view<F, View, Rest...>{f, bundle_of(view, rest...)};
}

namespace detail {
template <class T, int R, class S, int U>
constexpr tensor<T, R, S, U> all_refused(const tensor<T, R, S, U>& v) {
  return refused(v, 0);
}
template <class F, class... Views>
constexpr auto all_refused(mapped_view<F, Views...> m) {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return mapped_view<F, Views...>{m.f, bundle_of(all_refused(member<K>(m.views))...)};
  }
  (std::make_integer_sequence<int, sizeof...(Views)>{});
}

/// The same function of other views of the same elements. Views of different shapes may come to be of one shape by the
/// change; those pair elements that were never at the same coordinates, and are refused.
template <class F, class... Views, class Change>
constexpr auto remapped(const mapped_view<F, Views...>& m, Change change) {
  bool equal = true;
  m.views.each([&](const auto& v, auto) {
    for (int a = 0; a < mapped_view<F, Views...>::rank; ++a) equal = equal && v.extent(a) == m.views.first.extent(a);
  });
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return equal ? mapped(m.f, change(member<K>(m.views))...)
                 : mapped(m.f, all_refused(change(member<K>(m.views)))...);
  }
  (std::make_integer_sequence<int, sizeof...(Views)>{});
}
}  // namespace detail

// What makes views from views makes mapped views from mapped views.
template <class F, class... Views>
constexpr auto transposed(const mapped_view<F, Views...>& m) {
  return detail::remapped(m, [](const auto& v) { return transposed(v); });
}
template <int... Axes, class F, class... Views>
constexpr auto permuted(const mapped_view<F, Views...>& m) {
  return detail::remapped(m, [](const auto& v) { return permuted<Axes...>(v); });
}
template <class F, class... Views>
constexpr auto slice(const mapped_view<F, Views...>& m, int axis, index_t begin, index_t end) {
  return detail::remapped(m, [=](const auto& v) { return slice(v, axis, begin, end); });
}
template <int Axis, class F, class... Views>
constexpr auto strided(const mapped_view<F, Views...>& m, index_t step) {
  return detail::remapped(m, [=](const auto& v) { return strided<Axis>(v, step); });
}
template <int Axis, class F, class... Views>
constexpr auto pick(const mapped_view<F, Views...>& m, index_t at) {
  return detail::remapped(m, [=](const auto& v) { return pick<Axis>(v, at); });
}
template <int Axis, class F, class... Views>
constexpr auto broadcast(const mapped_view<F, Views...>& m, index_t extent) {
  return detail::remapped(m, [=](const auto& v) { return broadcast<Axis>(v, extent); });
}

}  // namespace kiln
