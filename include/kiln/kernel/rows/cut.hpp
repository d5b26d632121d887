#pragma once
/// Rows cut into runs: groups with one scale each, and pieces of those, so that one long row keeps the whole GPU busy.
#include <kiln/kernel/rows/operand.hpp>
#include <type_traits>

namespace kiln::rows {

/// Where a run lies: elements [start, start + length) of row `row`, in its group `group`.
struct run_place {
  index_t row, group, start, length;
};

struct cut {
  static constexpr index_t longest = 8192;  ///< of a piece, where a run need not be a whole group
  static constexpr index_t any = (limits<index_t>::max)();
  index_t length, group, piece;  ///< of a row, a group, a piece, in elements
  index_t groups, pieces;        ///< of a row, of a group

  /// Rows of n elements in groups of `per_group`, these in pieces of `most`. An empty row is one empty run.
  constexpr explicit cut(index_t n, index_t per_group = any, index_t most = longest)
      : length(n),
        group(min_of(max_of<index_t>(per_group, 1), max_of<index_t>(n, 1))),
        piece(min_of(group, most)),
        groups(max_of<index_t>(ceil_div(n, group), 1)),
        pieces(ceil_div(group, piece)) {}

  /// Whether all runs have a multiple of `unit` elements, and at least one.
  constexpr bool whole(index_t unit) const {
    return length > 0 && length % unit == 0 && starts_at(unit) &&
           (pieces == 1 || (length % group == 0 && group % piece == 0));
  }
  KILN_FN constexpr index_t runs() const { return groups * pieces; }  ///< of a row
  KILN_FN constexpr run_place at(index_t r) const {
    run_place p{r, 0, 0, length};
    if (groups > 1 || pieces > 1) {
      p.row = divided(r, groups * pieces);
      const index_t in_row = r - p.row * (groups * pieces);
      p.group = pieces == 1 ? in_row : divided(in_row, pieces);
      p.start = p.group * group + (in_row - p.group * pieces) * piece;
      const index_t end = min_of(p.group * group + group, length);
      p.length = max_of<index_t>(min_of(piece, end - p.start), 0);
    }
    return p;
  }
  /// Whether every run starts at a multiple of `unit` elements of its row.
  constexpr bool starts_at(index_t unit) const {
    return (groups == 1 || group % unit == 0) && (pieces == 1 || piece % unit == 0);
  }
};

/// An operand whose rows are taken in runs.
template <class T>
struct in_runs : operand<T> {
  cut cuts;
  constexpr in_runs(const operand<T>& o, const cut& c) : operand<T>(o), cuts(c) {}
  constexpr bool vectors(int width) const {
    const index_t unit = min_of<index_t>(16 / static_cast<index_t>(sizeof(T)), width);
    return operand<T>::vectors(width) && cuts.starts_at(unit);
  }
};

template <class T>
KILN_FN constexpr line<T> part_of(line<T> l, index_t start) {
  l.data += start * l.step;
  return l;
}

/// One value for each run: at (row, group), or (group, column). Strides of 0 repeat it.
template <class T>
struct place_of_run {
  T* data = nullptr;
  index_t outer = 0, inner = 0;
  KILN_FN constexpr T* at(index_t i, index_t j) const {
    if constexpr (std::is_empty_v<T>)
      return nullptr;
    else
      return data + i * outer + j * inner;
  }
};

}  // namespace kiln::rows
