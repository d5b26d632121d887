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
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/record_map.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace kiln {

namespace elementwise {

template <class F, class Out, class... In>
concept maps_to = requires(const F& f, compute_t<typename In::value_type>... x) {
  detail::stored_as<Out>(f(x...));
};

/// Runs `body(views..., functor)` on arguments of which the last is the functor.
template <class... Args>
struct split_last {
  static constexpr std::size_t views = sizeof...(Args) - 1;
  using functor = typename detail::nth<views, Args...>::type;
};

template <class Executor, class F, class Out, class... In>
status transform_tensors(const Executor& ex, const char* call, const F& f, const Out& out, const In&... in) {
  static_assert(in_memory_of<Executor, Out, In...>,
                "transform: every view needs to lie in the executor's memory: host_view for kiln::host, device_view "
                "for kiln::device");
  static_assert(!std::is_const_v<typename Out::element>,
                "transform: the view in front of the functor is written to and needs elements that are not const");
  static_assert(((In::rank == Out::rank) && ...),
                "transform: all views need the same number of axes: add one with broadcast<axis>(view, extent)");
  static_assert(maps_to<F, typename Out::value_type, In...>,
                "transform: the functor needs a const operator() that takes one value for each input view and returns "
                "the result's value");
  if constexpr (in_memory_of<Executor, Out, In...> && !std::is_const_v<typename Out::element> &&
                ((In::rank == Out::rank) && ...) && maps_to<F, typename Out::value_type, In...>) {
    KILN_TRY(check_view(call, "the result", out));
    KILN_TRY(check_writable(call, "the result", out));
    int number = 0;
    status s;
    const auto look = [&](const auto& v) {
      const std::string name = "input " + std::to_string(++number);
      if (s.ok()) s = check_view(call, name, v);
      if (s.ok()) s = check_same_shape(call, name, v, "the result", out);
      if (s.ok()) s = check_overlap(call, name, v, "the result", out);
    };
    (look(in), ...);
    KILN_TRY(s);
    if (out.empty()) return {};
    const double n = static_cast<double>(out.size());
    return run_items(
        ex,
        {.program = call,
         .schedule = "elements",
         .bytes = n * static_cast<double>((sizeof(typename Out::value_type) + ... + sizeof(typename In::value_type)))},
        make_tensor_map(f, out, in...));
  }
}

template <class Executor, class F, class First, class... Rest>
status transform_records(const Executor& ex, const F& f, const First& first, const Rest&... rest) {
  static_assert(in_memory_of<Executor, First, Rest...>,
                "transform: every view needs to lie in the executor's memory: host_soa for kiln::host, device_soa for "
                "kiln::device");
  constexpr bool callable = std::is_invocable_v<const F&, lane<First, record_map<F, First, Rest...>::chunk>,
                                                lane<Rest, record_map<F, First, Rest...>::chunk>...>;
  static_assert(callable,
                "transform: the functor needs a const operator() that takes one element of each view: (auto particle)");
  if constexpr (in_memory_of<Executor, First, Rest...> && callable) {
    int number = 0;
    status s;
    const auto look = [&](const auto& v) {
      const std::string name = "view " + std::to_string(++number);
      if (s.ok()) s = check_view("transform", name, v);
      if (s.ok()) s = check_same_shape("transform", name, v, "view 1", first);
    };
    look(first);
    (look(rest), ...);
    KILN_TRY(s);
    KILN_TRY(check_components("transform", first, rest...));
    const double n = static_cast<double>(first.count);
    return run_items(
        ex,
        {.program = "transform",
         .schedule = "records",
         .bytes = n * static_cast<double>((First::fields::useful_bytes + ... + Rest::fields::useful_bytes))},
        make_record_map(f, first.count, first, rest...));
  }
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
requires(sizeof...(Args) >= 2) status transform(const Executor& ex, const Args&... args) {
  using split = elementwise::split_last<Args...>;
  return [&]<std::size_t... I>(std::index_sequence<I...>)->status {
    constexpr bool tensors = (is_tensor_v<typename detail::nth<I, Args...>::type> && ...);
    constexpr bool records = (record_view<typename detail::nth<I, Args...>::type> && ...);
    static_assert(tensors || records, "transform takes tensor views, or views of records, and then a functor");
    const auto& f = elementwise::nth_of<split::views>(args...);
    if constexpr (records) {
      return elementwise::transform_records(ex, f, elementwise::nth_of<I>(args...)...);
    } else if constexpr (tensors) {
      const auto& out = elementwise::nth_of<split::views - 1>(args...);
      return [&]<std::size_t... In>(std::index_sequence<In...>) {
        return elementwise::transform_tensors(ex, "transform", f, out, elementwise::nth_of<In>(args...)...);
      }
      (std::make_index_sequence<split::views - 1>{});
    }
  }
  (std::make_index_sequence<split::views>{});
}

}  // namespace kiln
