#pragma once
/// Embedding: rows of a table gathered by number.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/items.hpp>

namespace kiln {

namespace rows {

/// Item: one chunk of one row of the result.
template <class Id, class W, class Y, int Width>
struct gather_program {
  operand<const Id> ids;
  operand<const W> table;
  operand<Y> out;
  index_t vocabulary, columns, chunks;
  std::int32_t* flag;

  KILN_FN void run(index_t item) const {
    const index_t r = divided(item, chunks), c = (item - r * chunks) * Width;
    const int n = columns - c < Width ? static_cast<int>(columns - c) : Width;
    const auto id = static_cast<index_t>(ids.at(r)[0]);
    chunk<float, Width> v{};
    if (id >= 0 && id < vocabulary) {
      chunk<W, Width> w;
      load(table.at(id), c, n, w);
      if constexpr (std::is_same_v<W, Y>) {
        store(out.at(r), c, n, w);
        return;
      } else {
        KILN_UNROLL
        for (int i = 0; i < Width; ++i) v[i] = static_cast<float>(w[i]);
      }
    } else if (flag != nullptr && c == 0) {
      *flag = 1;
    }
    store(out.at(r), c, n, rounded<Y>(v));
  }
};

}  // namespace rows

/// Checks a list of ids that the host can read: errc::bad_option with the first id outside [0, vocabulary) and its
/// place.
template <class Id, int U>
status check_ids(const tensor<Id, 1, host_space, U>& ids, index_t vocabulary) {
  for (index_t i = 0; i < ids.extent(0); ++i) {
    const auto id = static_cast<index_t>(ids(i));
    if (id < 0 || id >= vocabulary)
      return fail(errc::bad_option, "operand `ids`: element ", i, " is ", id, ", needs to be in [0, ", vocabulary,
                  "), the rows of `table`");
  }
  return {};
}

/// out[t, :] = table[ids[t], :]. `ids` [tokens] of int32 or int64, `table` [vocabulary, columns] and `out` [tokens,
/// columns] of float, f16 or bf16, converted with one rounding if the types differ.
///
/// On the host an id outside the table is an error and nothing is written. On the device ids are seen only by the
/// kernel: such a token gets a row of zeros, and `flag` (if not null: one int32 in device memory, which the caller sets
/// to 0) becomes 1. `check_ids` checks a list before it is sent to the device. Errors: bad_shape, bad_stride,
/// null_pointer, overlap, bad_option (an id, on the host).
template <executor Executor, class Id, class SI, int UI, class W, class SW, int UW, class Y, class SY, int UY>
status embedding(const Executor& ex, const tensor<Id, 1, SI, UI>& ids, const tensor<W, 2, SW, UW>& table,
                 const tensor<Y, 2, SY, UY>& out, std::int32_t* flag = nullptr) {
  using namespace rows;
  using id_type = std::remove_const_t<Id>;
  using w_type = std::remove_const_t<W>;
  static_assert(std::is_same_v<id_type, std::int32_t> || std::is_same_v<id_type, std::int64_t>,
                "embedding takes ids of int32 or int64");
  check_spaces<Executor, tensor<Id, 1, SI, UI>, tensor<W, 2, SW, UW>, tensor<Y, 2, SY, UY>>();
  check_float<W>(), check_float<Y>();
  KILN_TRY(check_view("ids", ids));
  KILN_TRY(check_view("table", table));
  KILN_TRY(check_output("out", out));
  if (out.extent(0) != ids.extent(0))
    return fail(errc::bad_shape, "operand `out`: has ", out.extent(0), " rows, needs ", ids.extent(0), " (the ids)");
  if (out.extent(1) != table.extent(1))
    return fail(errc::bad_shape, "operand `out`: has ", out.extent(1), " columns, needs ", table.extent(1),
                " as in `table`");
  KILN_TRY(check_apart("out", out, "table", table));
  KILN_TRY(check_apart("out", out, "ids", ids));
  if constexpr (Executor::on_host) KILN_TRY(check_ids(ids, table.extent(0)));
  if (out.empty()) return {};

  constexpr int width = 16 / static_cast<int>(sizeof(Y) > sizeof(w_type) ? sizeof(Y) : sizeof(w_type));
  const auto with = [&]<int Width>(std::integral_constant<int, Width>) {
    const index_t chunks = ceil_div<index_t>(out.extent(1), Width);
    gather_program<id_type, w_type, Y, Width> program{each_row(tensor<const id_type, 1, SI, UI>(ids)),
                                                      input_of(table),
                                                      operand_of(out),
                                                      table.extent(0),
                                                      out.extent(1),
                                                      chunks,
                                                      flag};
    return run_items(
        ex, {.program = "embedding", .bytes = bytes_of(ids, out) + static_cast<double>(out.size()) * sizeof(w_type)},
        program, out.extent(0) * chunks);
  };
  if (input_of(table).vectors(width) && operand_of(out).vectors(width))
    return with(std::integral_constant<int, width>{});
  return with(std::integral_constant<int, 1>{});
}

}  // namespace kiln
