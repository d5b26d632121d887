#pragma once
/// Fused elementwise kernels: one pass over memory, whatever the functor computes.
///
///     transform(device(stream), x, y, out, axpy{2.0f});    // out(i...) = f(x(i...), y(i...))
///     transform(device(stream), particles, drift{dt});     // f(particle) for every element of an SoA or AoS view
///
/// A functor is a struct at namespace scope whose `operator()` is marked KILN_FN and const.
#include <cstddef>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>
#include <kiln/kernel/elementwise/run.hpp>
#include <type_traits>
#include <utility>

namespace kiln {

namespace elementwise {

/// The views and the functor behind them, and what the call is.
template <class Executor, class Indices, class... Args>
struct split_call;
template <class Executor, std::size_t... I, class... Args>
struct split_call<Executor, std::index_sequence<I...>, Args...> {
  static constexpr std::size_t last = sizeof...(I) - 1;
  using functor = typename detail::nth<sizeof...(I), Args...>::type;
  using type = transform_call<Executor, functor, std::make_index_sequence<last>,
                              typename detail::nth<last, Args...>::type, typename detail::nth<I, Args...>::type...>;
};

template <std::size_t... I, class Executor, class... Args>
status transform_split(std::index_sequence<I...>, const Executor& ex, const Args&... args) {
  constexpr std::size_t inputs = sizeof...(I);
  if constexpr (is_tensor_v<typename detail::nth<inputs, Args...>::type>)
    return map_tensors(ex, "transform", nth_of<inputs + 1>(args...), nth_of<inputs>(args...), nth_of<I>(args...)...);
  else
    return map_records(ex, nth_of<inputs + 1>(args...), nth_of<I>(args...)..., nth_of<inputs>(args...));
}

}  // namespace elementwise

/// Tensors: `transform(ex, in..., out, f)` sets out(i...) = f(in(i...)...), each value converted once when it is
/// stored. f is called with floats for f16, bf16, e4m3 and e5m2 and with the elements' own type for all others. Extents
/// need to be equal; broadcast<axis>(view, extent) repeats an axis. An input may be the result itself; otherwise they
/// may not overlap.
///
/// Records: `transform(ex, views..., f)` calls f(element...) for every index. `get<tag>(element)` reads and writes;
/// fields that f does not touch cost nothing.
///
/// Refused: extents that differ or are negative, null data, a result with a repeated axis (bad_stride), overlap.
template <executor Executor, class... Args>
  requires(sizeof...(Args) >= 2)
status transform(const Executor& ex, const Args&... args) {
  constexpr std::size_t views = sizeof...(Args) - 1;
  using call = typename elementwise::split_call<Executor, std::make_index_sequence<views>, Args...>::type;
  static_assert(call::tensors || call::records,
                "transform takes tensor views, or views of records, and then a functor");
  static_assert(call::here,
                "transform: every view needs to lie in the executor's memory: host_view for kiln::host, device_view "
                "for kiln::device");
  static_assert(call::writes,
                "transform: the view in front of the functor is written to and needs elements that are not const");
  static_assert(call::ranks,
                "transform: all views need the same number of axes: add one with broadcast<axis>(view, extent)");
  constexpr bool testable = call::here && call::ranks;
  static_assert(!testable || !call::tensors || call::callable,
                "transform: the functor needs a const operator() that takes one value for each input view and returns "
                "the result's value");
  static_assert(!testable || !call::records || call::callable,
                "transform: the functor needs a const operator() that takes one element of each view: (auto particle)");
  if constexpr ((call::tensors || call::records) && testable && call::writes && call::callable)
    return elementwise::transform_split(std::make_index_sequence<views - 1>{}, ex, args...);
}

}  // namespace kiln
