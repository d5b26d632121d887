#pragma once
/// Checks at run time, then one launch: what transform, copy and fill share.
#include <cstddef>
#include <kiln/core/functor.hpp>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/inlined.hpp>
#include <kiln/kernel/elementwise/record_map.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <string>
#include <type_traits>

namespace kiln::elementwise {

template <class Executor, class F, class... Out, class... In>
status map_tensors(const Executor& ex, const char* call, const F& f, const bundle<Out...>& outs, const In&... in) {
  plain_view results[sizeof...(Out)];
  outs.each([&](const auto& v, auto k) { results[k] = plain(v); });
  const plain_view inputs[] = {plain(in)..., results[0]};  // an array needs an element
  KILN_TRY(check_map(call, results, sizeof...(Out), inputs, sizeof...(In)));
  const auto& model = outs.first;
  if (model.empty()) return {};
  constexpr std::size_t bytes = (sizeof(typename Out::value_type) + ...) + (sizeof(typename In::value_type) + ... + 0);
  const double all = static_cast<double>(model.size()) * static_cast<double>(bytes);
  return run_items(ex, {.program = call, .schedule = "elements", .bytes = all}, make_tensor_map(f, outs, in...));
}

/// The same for inputs of which some are mapped views: their functors become a part of f, their tensors inputs.
template <class Executor, class F, class First, class... Rest, class... In>
status map_inlined(const Executor& ex, const char* call, const F& f, const bundle<First, Rest...>& outs,
                   const In&... in) {
  if constexpr ((is_mapped_v<In> || ...)) {
    constexpr bool located = sees_coordinates<F, First::rank, compute_t<typename In::value_type>...>;
    const inlined<located, F, decltype(functor_of<Executor>(in))...> all{f, bundle_of(functor_of<Executor>(in)...)};
    return with_tensors(bundle_of(in...),
                        [&](const auto&... tensors) { return map_tensors(ex, call, all, outs, tensors...); });
  } else {
    return map_tensors(ex, call, f, outs, in...);
  }
}

template <class Executor, class F, class First, class... Rest>
status map_records(const Executor& ex, const F& f, const First& first, const Rest&... rest) {
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
  constexpr std::size_t bytes = (First::fields::useful_bytes + ... + Rest::fields::useful_bytes);
  const double all = static_cast<double>(first.count) * static_cast<double>(bytes);
  return run_items(ex, {.program = "transform", .schedule = "records", .bytes = all},
                   make_record_map(f, first.count, first, rest...));
}

/// Whether what the functor returns may be stored: a value, or a bundle of as many as there are results.
template <class Result, class... Out>
inline constexpr bool stored_in = false;
template <class Result, class Out>
inline constexpr bool stored_in<Result, Out> = stores_as<Result, typename Out::value_type>;
template <class... Result, class... Out>
  requires(sizeof...(Out) > 1 && sizeof...(Out) == sizeof...(Result))
inline constexpr bool stored_in<bundle<Result...>, Out...> = (stores_as<Result, typename Out::value_type> && ...);

template <class F, class... X>
struct returned : std::type_identity<void> {};
template <class F, class... X>
  requires std::is_invocable_v<const F&, X...>
struct returned<F, X...> : std::type_identity<std::remove_cvref_t<std::invoke_result_t<const F&, X...>>> {
};

template <class F, int R, class Outs, class... In>
inline constexpr bool maps_to = false;
template <class F, int R, class... Out, class... In>
inline constexpr bool maps_to<F, R, bundle<Out...>, In...> =
    stored_in<typename returned<F, compute_t<typename In::value_type>...>::type, Out...> ||
    stored_in<typename returned<F, compute_t<typename In::value_type>..., coordinates<R>>::type, Out...>;

/// What a call of `transform` is, told from the types alone. `Outs` is a bundle of the results' views; for records, of
/// the last view.
template <class Executor, class F, class Outs, class... In>
struct transform_call {
  static constexpr bool tensors = false, records = false, here = true, writes = true, ranks = true, callable = true;
  static constexpr bool runs = true;
};
template <class Executor, class F, class First, class... Rest, class... In>
  requires(is_tensor_v<First> && (is_tensor_v<Rest> && ...) && ((is_tensor_v<In> || is_mapped_v<In>) && ...))
struct transform_call<Executor, F, bundle<First, Rest...>, In...> {
  static constexpr bool tensors = true, records = false;
  static constexpr bool here = in_memory_of<Executor, First, Rest..., In...>;
  static constexpr bool writes =
      !std::is_const_v<typename First::element> && (!std::is_const_v<typename Rest::element> && ...);
  static constexpr bool ranks = ((Rest::rank == First::rank) && ...) && ((In::rank == First::rank) && ...);
  static constexpr bool runs = detail::is_functor_on<typename Executor::space, F>;
  static constexpr bool callable = maps_to<F, First::rank, bundle<First, Rest...>, In...>;

  static status run(const Executor& ex, const F& f, const bundle<First, Rest...>& outs, const In&... in) {
    return map_inlined(ex, "transform", detail::functor_on<Executor>(f), outs, in...);
  }
};
template <class Executor, class F, class Last, class... In>
  requires(record_view<Last> && (record_view<In> && ...))
struct transform_call<Executor, F, bundle<Last>, In...> {
  static constexpr bool tensors = false, records = true, writes = true, ranks = true;
  static constexpr bool here = in_memory_of<Executor, In..., Last>;
  static constexpr int chunk = record_map<F, In..., Last>::chunk;
  static constexpr bool runs = detail::is_functor_on<typename Executor::space, F>;
  static constexpr bool callable = std::is_invocable_v<const F&, lane<In, chunk>..., lane<Last, chunk>> ||
                                   std::is_invocable_v<const F&, lane<In, chunk>..., lane<Last, chunk>, coordinates<1>>;

  static status run(const Executor& ex, const F& f, const bundle<Last>& last, const In&... in) {
    return map_records(ex, detail::functor_on<Executor>(f), in..., last.first);
  }
};

}  // namespace kiln::elementwise
