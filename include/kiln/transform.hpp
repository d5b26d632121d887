#pragma once
/// Fused elementwise kernels: one pass over memory, whatever the functor computes.
///
///     transform(device(stream), x, y, out, axpy{2.0f});    // out(i...) = f(x(i...), y(i...))
///     transform(device(stream), x, outputs(gate, up), both{});  // two results of one pass over x
///     transform(device(stream), particles, drift{dt});     // f(particle) for every element of an SoA or AoS view
///
/// A functor is a struct at namespace scope whose `operator()` is marked KILN_FN and const.
#include <cstddef>
#include <kiln/core/bundle.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>
#include <kiln/kernel/elementwise/run.hpp>
#include <kiln/view/sound.hpp>
#include <type_traits>
#include <utility>

namespace kiln {

/// Several results of one pass. The functor returns `bundle_of(value, value, ...)`, one for each.
template <class... Views>
struct output_views {
  bundle<Views...> views;
};
namespace elementwise {
/// Stands for results of which the compiler has said what is wrong.
struct wrong_outputs {};
}  // namespace elementwise
template <class... Views>
constexpr auto outputs([[maybe_unused]] const Views&... views) {
  constexpr bool good = (is_tensor_v<Views> && ...);
  static_assert(good, "outputs takes tensor views");
  if constexpr (good)
    return output_views<Views...>{bundle_of(views...)};
  else
    return elementwise::wrong_outputs{};
}

namespace elementwise {

template <class... Views>
const bundle<Views...>& results_of(const output_views<Views...>& o) {
  return o.views;
}
template <class View>
bundle<View> results_of(const View& v) {
  return bundle_of(v);
}

/// The views and the functor behind them.
template <class Executor, class Inputs, class... Args>
struct split_call;
template <class Executor, std::size_t... Index, class... Args>
struct split_call<Executor, std::index_sequence<Index...>, Args...> {
  static constexpr std::size_t last = sizeof...(Index);
  using results =
      std::remove_cvref_t<decltype(results_of(std::declval<const typename detail::nth<last, Args...>::type&>()))>;
  using type = transform_call<Executor, typename detail::nth<last + 1, Args...>::type, results,
                              typename detail::nth<Index, Args...>::type...>;
  static status run(const Executor& ex, const Args&... args) {
    return type::run(ex, nth_of<last + 1>(args...), results_of(nth_of<last>(args...)), nth_of<Index>(args...)...);
  }
};

}  // namespace elementwise

/// Tensors: `transform(ex, in..., out, f)` sets out(i...) = f(in(i...)...), each value converted once when it is
/// stored. f is called with floats for f16, bf16, e4m3 and e5m2 and with the elements' own type for all others. Extents
/// need to be equal; broadcast<axis>(view, extent) repeats an axis. `outputs(out, out, ...)` in the place of out takes
/// a bundle of values. An input may be a result itself; otherwise they may not overlap.
///
/// Records: `transform(ex, views..., f)` calls f(element...) for every index. `get<tag>(element)` reads and writes;
/// fields that f does not touch cost nothing.
///
/// An f that cannot be called so but takes a `coordinates<rank>` behind these arguments is told where the element lies.
///
/// Refused: extents that differ or are negative, null data, a result with a repeated axis (bad_stride), overlap.
template <executor Executor, class... Args>
requires(sizeof...(Args) >= 2) status transform(const Executor& ex, const Args&... args) {
  if constexpr ((std::is_same_v<Args, elementwise::wrong_outputs> || ...)) {
    return {};
  } else {
    using split = elementwise::split_call<Executor, std::make_index_sequence<sizeof...(Args) - 2>, Args...>;
    using call = typename split::type;
    static_assert(call::tensors || call::records,
                  "transform takes tensor views, or views of records, and then a functor");
    static_assert(call::here,
                  "transform: every view needs to lie in the executor's memory: host_view for kiln::host, device_view "
                  "for kiln::device");
    static_assert(call::writes,
                  "transform: the view in front of the functor is written to and needs elements that are not const");
    static_assert(call::ranks,
                  "transform: all views need the same number of axes: add one with broadcast<axis>(view, extent)");
    static_assert(call::runs,
                  "transform: on the device the functor is a struct whose operator() is marked KILN_FN, or a __host__ "
                  "__device__ lambda; other lambdas and pointers run on the host alone");
    constexpr bool testable = call::here && call::ranks && call::runs;
    static_assert(
        !testable || !call::tensors || call::callable,
        "transform: the functor needs a const operator() that takes one value for each input view and returns "
        "the result's value, or bundle_of(...) for several results; coordinates<rank> may come last");
    static_assert(
        !testable || !call::records || call::callable,
        "transform: the functor needs a const operator() that takes one element of each view: (auto particle)");
    if constexpr ((call::tensors || call::records) && testable && call::writes && call::callable)
      return split::run(ex, args...);
    else
      return {};
  }
}
template <class Any = void>
status transform(...) {
  static_assert(detail::never<Any>,
                "transform takes (executor, in..., out, functor), or (executor, records..., functor); the executor is "
                "host or device(stream)");
  return {};
}

}  // namespace kiln
