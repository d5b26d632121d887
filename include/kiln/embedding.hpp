#pragma once
/// Embedding: rows of a table gathered by number.
#include <kiln/gather.hpp>

namespace kiln {

/// out[t, :] = table[ids[t], :]. `ids` [tokens] of int32 or int64, `table` [vocabulary, columns] and `out` [tokens,
/// columns], any strides, converted with one rounding if the types differ. Ids outside the table, `flag` and what is
/// refused: as `gather`, which this is.
template <executor Executor, class Ids, class Table, class Out>
status embedding(const Executor& ex, const Ids& ids, const Table& table, const Out& out, std::int32_t* flag = nullptr) {
  return gather<0>(ex, table, ids, out, flag);
}

}  // namespace kiln
