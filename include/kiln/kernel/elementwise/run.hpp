#pragma once
/// Checks at run time, then one launch: what transform, copy and fill share.
#include <cstddef>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/record_map.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <string>
#include <type_traits>

namespace kiln::elementwise {

template <class Executor, class F, class Out, class... In>
status map_tensors(const Executor& ex, const char* call, const F& f, const Out& out, const In&... in) {
  KILN_TRY(check_view(call, "the result", out));
  KILN_TRY(check_writable(call, "the result", out));
  [[maybe_unused]] int number = 0;
  status s;
  [[maybe_unused]] const auto look = [&](const auto& v) {
    const std::string name = "input " + std::to_string(++number);
    if (s.ok()) s = check_view(call, name, v);
    if (s.ok()) s = check_same_shape(call, name, v, "the result", out);
    if (s.ok()) s = check_overlap(call, name, v, "the result", out);
  };
  (look(in), ...);
  KILN_TRY(s);
  if (out.empty()) return {};
  constexpr std::size_t bytes = (sizeof(typename Out::value_type) + ... + sizeof(typename In::value_type));
  const double all = static_cast<double>(out.size()) * static_cast<double>(bytes);
  return run_items(ex, {.program = call, .schedule = "elements", .bytes = all}, make_tensor_map(f, out, in...));
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

/// What a call of `transform` is, told from the types alone.
template <class Executor, class F, class Inputs, class Out, class... Views>
struct transform_call {
  static constexpr bool tensors = false, records = false, here = true, writes = true, ranks = true, callable = true;
};
template <class F, class Out, class... In>
concept maps_to = requires(const F& f, compute_t<typename In::value_type>... x) {
  detail::stored_as<typename Out::value_type>(f(x...));
};

template <class Executor, class F, std::size_t... I, class Out, class... Views>
  requires(is_tensor_v<Out> &&
         (is_tensor_v<Views> && ...))
struct transform_call<Executor, F, std::index_sequence<I...>, Out, Views...> {
  static constexpr bool tensors = true, records = false;
  static constexpr bool here = in_memory_of<Executor, Views...>;
  static constexpr bool writes = !std::is_const_v<typename Out::element>;
  static constexpr bool ranks = ((Views::rank == Out::rank) && ...);
  static constexpr bool callable = maps_to<F, Out, typename detail::nth<I, Views...>::type...>;
};
template <class Executor, class F, std::size_t... I, class Out, class... Views>
  requires(record_view<Out> &&
         (record_view<Views> && ...))
struct transform_call<Executor, F, std::index_sequence<I...>, Out, Views...> {
  static constexpr bool tensors = false, records = true, writes = true, ranks = true;
  static constexpr bool here = in_memory_of<Executor, Views...>;
  static constexpr bool callable = std::is_invocable_v<const F&, lane<Views, record_map<F, Views...>::chunk>...>;
};

}  // namespace kiln::elementwise
