#pragma once
/// Views one behind another along an axis: copies into slices of the result, one for each input.
///
///     concatenate<1>(ex, gate, up, both);    // both(i, :) = gate(i, :), up(i, :)
#include <kiln/copy.hpp>
#include <kiln/view/reshape.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace kiln {

namespace elementwise {

/// Everything that may be wrong with one input, before anything is written. `begin` counts on.
template <int Axis, class In, class Out>
status check_part(int number, const In& in, const Out& out, index_t& begin) {
  const std::string name = "input " + std::to_string(number);
  KILN_TRY(check_view("concatenate", name, in));
  for (int a = 0; a < Out::rank; ++a)
    if (a != Axis && in.extents[a] != out.extents[a])
      return fail(errc::bad_shape, "concatenate: ", std::string_view(name), " has extents ",
                  std::string_view(shape_text(in)), " and the result ", std::string_view(shape_text(out)),
                  ", needs equal ones on all axes but axis ", Axis);
  const index_t end = saturated_sum(begin, in.extents[Axis]);
  if (in.extents[Axis] > out.extents[Axis] - begin)
    return fail(errc::bad_shape, "concatenate: axis ", Axis, " of the result has extent ", out.extents[Axis],
                ", needs that of all inputs together; the first ", number, " have ", end);
  const auto mine = slice(out, Axis, begin, end);
  // An input may lie in its place already; one of another type is converted there, as a copy does.
  if (overlaps(in, out) != overlap::none &&
      (overlaps(in, mine) != overlap::same || overlaps(in, slice(out, Axis, 0, begin)) != overlap::none ||
       overlaps(in, slice(out, Axis, end, out.extents[Axis])) != overlap::none))
    return fail(errc::overlap, "concatenate: ", std::string_view(name),
                " shares memory with the result, needs memory of its own or its place in the result");
  begin = end;
  return {};
}

template <int Axis, class Executor, class Out, class... In>
status concatenate_parts(const Executor& ex, const Out& out, const In&... in) {
  KILN_TRY(check_view("concatenate", "the result", out));
  KILN_TRY(check_writable("concatenate", "the result", plain(out)));
  int number = 0;
  index_t begin = 0;
  status s;
  const auto look = [&](const auto& v) {
    if (s.ok()) s = check_part<Axis>(++number, v, out, begin);
  };
  (look(in), ...);
  KILN_TRY(s);
  if (begin != out.extents[Axis])
    return fail(errc::bad_shape, "concatenate: axis ", Axis, " of the result has extent ", out.extents[Axis],
                ", needs ", begin, ", that of all inputs together");
  begin = 0;
  const auto move = [&](const auto& v) {
    const auto mine = slice(out, Axis, begin, begin + v.extents[Axis]);
    begin += v.extents[Axis];
    using type = typename std::remove_cvref_t<decltype(v)>::value_type;
    const bool there = std::is_same_v<type, typename Out::value_type> && overlaps(v, mine) == overlap::same;
    if (s.ok() && !there) s = copy(ex, v, mine);
  };
  (move(in), ...);
  return s;
}

template <int Axis, class Executor, class Indices, class Out, class... Views>
struct concatenate_call;
template <int Axis, class Executor, std::size_t... Index, class Out, class... Views>
struct concatenate_call<Axis, Executor, std::index_sequence<Index...>, Out, Views...> {
  static constexpr bool here = in_memory_of<Executor, Views...>;
  static constexpr bool writes = !std::is_const_v<typename Out::element>;
  static constexpr bool ranks = ((Views::rank == Out::rank) && ...);
  static constexpr int axis = Axis < 0 ? Axis + Out::rank : Axis;
  static constexpr bool has_axis = axis >= 0 && axis < Out::rank;
  static constexpr bool converts =
      (stores_as<typename detail::nth<Index, Views...>::type::value_type, typename Out::value_type> && ...);

  static status run(const Executor& ex, const Views&... views) {
    return concatenate_parts<axis>(ex, nth_of<sizeof...(Index)>(views...), nth_of<Index>(views...)...);
  }
};

}  // namespace elementwise

/// `concatenate<Axis>(ex, in..., out)`: out holds the inputs one behind another along `Axis` (negative: from the last).
/// Values convert as in `copy`; an input may be its own place in the result, and is converted there where its elements
/// are of another type of the same size. One launch for each input that has elements and is not there already.
///
/// Refused, before anything is written: extents that differ on another axis, or whose sum along `Axis` is not that of
/// the result (bad_shape); null data; a result with a repeated axis (bad_stride); overlap.
template <int Axis, executor Executor, class... Views>
requires(is_tensor_v<Views>&&...) status concatenate(const Executor& ex, const Views&... views) {
  constexpr bool several = sizeof...(Views) >= 2;
  static_assert(several, "concatenate: needs one input or more, and the result behind them");
  if constexpr (several) {
    constexpr std::size_t last = sizeof...(Views) - 1;
    using call = elementwise::concatenate_call<Axis, Executor, std::make_index_sequence<last>,
                                               typename detail::nth<last, Views...>::type, Views...>;
    static_assert(call::here, "concatenate: all views need to lie in the executor's memory");
    static_assert(call::writes, "concatenate: the last view is written to and needs elements that are not const");
    static_assert(call::ranks, "concatenate: all views need the same number of axes");
    static_assert(call::has_axis, "concatenate<Axis> needs an axis of the views");
    static_assert(call::converts, "concatenate: the elements of an input do not convert to those of the last view");
    if constexpr (call::here && call::writes && call::ranks && call::has_axis && call::converts)
      return call::run(ex, views...);
    else
      return {};
  } else {
    return {};
  }
}
template <int Axis = 0, class Any = void>
status concatenate(...) {
  static_assert(
      detail::never<Any>,
      "concatenate<axis> takes (executor, in..., out), all of them views, as concatenate<0>(host, a, b, out); "
      "the executor is host or device(stream)");
  return {};
}

}  // namespace kiln
