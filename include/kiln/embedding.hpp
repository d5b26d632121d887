#pragma once
/// Embedding: rows of a table gathered by number.
#include <kiln/gather.hpp>

namespace kiln {

/// out[t, :] = table[ids[t], :]. `ids` [tokens] of int32 or int64, `table` [vocabulary, columns] and `out` [tokens,
/// columns], any strides, converted with one rounding if the types differ. Ids outside the table, `flag` and what is
/// refused: as `gather`, whose kernel this is.
template <executor Executor, class Ids, class Table, class Out>
status embedding(const Executor& ex, const Ids& ids, const Table& table, const Out& out, std::int32_t* flag = nullptr) {
  using call = elementwise::indexed_call<Executor, 0, Table, Ids, Out>;
  constexpr auto found = detail::first_fault<typename Executor::space>(
      detail::reads<Ids, detail::elements_of<std::int32_t, std::int64_t>>(1),
      detail::reads<Table, detail::any_element>(2), detail::writes<Out, detail::any_element>(2));
  static_assert(
      found.what != detail::fault::memory,
      "embedding: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "embedding: ids needs to be a vector (a view of rank 1) of int32 or int64");
  static_assert(found.operand != 1, "embedding: table needs to be a matrix (a view of rank 2)");
  static_assert(found.operand != 2, "embedding: out needs to be a matrix (a view of rank 2), not const");
  static_assert(!found.none() || call::converts, "embedding: the elements of table do not convert to those of out");
  if constexpr (found.none() && call::good)
    return elementwise::move_indexed<true, 0>(ex, "embedding", table, ids, out, flag);
  else
    return {};
}
template <class Any = void>
status embedding(...) {
  static_assert(detail::never<Any>,
                "embedding takes (executor, ids, table, out, flag), the last may be left out; the executor is host or "
                "device(stream)");
  return {};
}

}  // namespace kiln
