#pragma once
/// Elements by number: rows of a table, the columns of a choice, tokens into the slots of a batch.
///
///     gather<0>(ex, table, ids, rows);     // rows(t, :) = table(ids(t), :)
///     scatter<0>(ex, rows, ids, table);    // table(ids(t), :) = rows(t, :)
///     gather<1>(ex, x, best, out);         // best of x's rank: out(i, j) = x(i, best(i, j))
///
/// Ids are int32 or int64, counted from 0: a vector along the axis, or a view of the shape of the side that they are
/// not counted in. Values convert as in `copy`; any strides, one launch.
///
/// Ids outside the axis never reach memory. On the host, which can look, they are an error (bad_option) and nothing is
/// written. On the device only the kernel sees them: it gathers a zero and scatters nothing there, and `flag` (if not
/// null: one int32 in device memory, which the caller sets to 0) becomes 1.
#include <cstdint>
#include <kiln/kernel/elementwise/indexed.hpp>

namespace kiln {

/// Checks ids that the host can read: bad_option with the first outside [0, extent) and its coordinates. Refused, too:
/// a negative extent of the ids (bad_shape), null or misaligned data.
template <class Ids>
status check_ids([[maybe_unused]] const Ids& ids, [[maybe_unused]] index_t extent) {
  constexpr auto found = detail::first_fault<host_space>(
      detail::reads<Ids, detail::elements_of<std::int32_t, std::int64_t>>(1, elementwise::most_axes));
  static_assert(found.none(), "check_ids: ids needs to be a host_view of int32 or int64");
  if constexpr (found.none()) {
    KILN_TRY(elementwise::check_view("ids", "the list of ids", ids));
    return elementwise::check_places("ids", ids, extent);
  } else {
    return {};
  }
}

/// to(..., i, ...) = from(..., id, ...), where i and id count along `Axis` (negative: from the last) and id is ids(i),
/// or ids at all coordinates of `to`.
///
/// Refused: extents that differ on another axis, ids of another shape (bad_shape); null data; a result with a repeated
/// axis (bad_stride); a result that shares memory with the input or the ids (overlap).
template <int Axis, executor Executor, class From, class Ids, class To>
status gather(const Executor& ex, const From& from, const Ids& ids, const To& to, std::int32_t* flag = nullptr) {
  using call = elementwise::indexed_call<Executor, Axis, From, Ids, To>;
  constexpr auto found = call::found;
  static_assert(found.what != detail::fault::memory,
                "gather: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "gather: the input needs to be a view");
  static_assert(found.operand != 1, "gather: ids, behind the input, needs to be a view of int32 or int64");
  static_assert(found.operand != 2, "gather: the result needs to be a view of the input's rank, not const");
  static_assert(!found.none() || call::listed,
                "gather: ids needs to be a vector (a view of rank 1), or of the input's rank");
  static_assert(!found.none() || call::has_axis, "gather<Axis> needs an axis of the views");
  static_assert(call::converts, "gather: the elements of the first view do not convert to those of the last");
  if constexpr (call::good)
    return elementwise::move_indexed<true, call::axis>(ex, "gather", from, ids, to, flag);
  else
    return {};
}
template <int Axis = 0, class Any = void>
status gather(...) {
  static_assert(
      detail::never<Any>,
      "gather<axis> takes (executor, from, ids, to, flag), the last may be left out, as gather<0>(host, from, ids, "
      "to); the executor is host or device(stream)");
  return {};
}

/// to(..., id, ...) = from(..., i, ...), with ids(i), or ids at all coordinates of `from`; elements that no id names
/// stay. Where an id comes twice, each element of that place comes from one of the two, and which is not defined:
/// neighbours may come from different ones.
///
/// Refused: as `gather` does.
template <int Axis, executor Executor, class From, class Ids, class To>
status scatter(const Executor& ex, const From& from, const Ids& ids, const To& to, std::int32_t* flag = nullptr) {
  using call = elementwise::indexed_call<Executor, Axis, From, Ids, To>;
  constexpr auto found = call::found;
  static_assert(found.what != detail::fault::memory,
                "scatter: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "scatter: the input needs to be a view");
  static_assert(found.operand != 1, "scatter: ids, behind the input, needs to be a view of int32 or int64");
  static_assert(found.operand != 2, "scatter: the result needs to be a view of the input's rank, not const");
  static_assert(!found.none() || call::listed,
                "scatter: ids needs to be a vector (a view of rank 1), or of the input's rank");
  static_assert(!found.none() || call::has_axis, "scatter<Axis> needs an axis of the views");
  static_assert(call::converts, "scatter: the elements of the first view do not convert to those of the last");
  if constexpr (call::good)
    return elementwise::move_indexed<false, call::axis>(ex, "scatter", from, ids, to, flag);
  else
    return {};
}
template <int Axis = 0, class Any = void>
status scatter(...) {
  static_assert(
      detail::never<Any>,
      "scatter<axis> takes (executor, from, ids, to, flag), the last may be left out, as scatter<0>(host, from, ids, "
      "to); the executor is host or device(stream)");
  return {};
}

}  // namespace kiln
