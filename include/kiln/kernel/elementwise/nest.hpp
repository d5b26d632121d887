#pragma once
/// The loops over all elements of several views at once, as few and as long as their strides allow. Host code.
#include <kiln/core/types.hpp>
#include <kiln/kernel/elementwise/chunk.hpp>
#include <kiln/kernel/elementwise/items.hpp>

namespace kiln::elementwise {

/// Axes from the outermost to the innermost, which is always number R - 1; those before number R - rank are unused and
/// have one element. `strides` are those of N operands.
template <int R, int N>
struct loop_nest {
  static constexpr int inner = R - 1;
  int rank = 0;
  index_t extents[R] = {};
  index_t strides[N][R] = {};
  divisor by[R];  ///< the extents

  index_t rows() const {
    index_t n = 1;
    for (int a = 0; a < inner; ++a) n *= extents[a];
    return n;
  }

  /// Offset in operand k of the begin of run `row`.
  KILN_FN index_t offset(int k, index_t row) const {
    index_t o = 0;
    KILN_UNROLL
    for (int a = inner - 1; a >= 0; --a) {
      if (a <= R - rank) {
        if (a == R - rank) o += row * strides[k][a];
        break;
      }
      const index_t q = by[a].of(row);
      o += (row - q * extents[a]) * strides[k][a];
      row = q;
    }
    return o;
  }
};

/// Brings the axes of operand 0 (the result) into the order of its memory, drops axes of one element and joins axes
/// that lie behind each other in every operand: a packed view of any rank becomes one loop. No extent may be 0.
template <int R, int N>
loop_nest<R, N> make_nest(const index_t (&extents)[R], const index_t (&strides)[N][R]) {
  int order[R], axes = 0;
  for (int a = 0; a < R; ++a)
    if (extents[a] != 1) order[axes++] = a;
  // Insertion sort: descending strides of the first operand whose strides differ; equal ones keep the order of the
  // axes.
  const auto outer = [&](int a, int b) {
    for (int k = 0; k < N; ++k)
      if (strides[k][a] != strides[k][b]) return unsigned_magnitude(strides[k][a]) > unsigned_magnitude(strides[k][b]);
    return false;
  };
  for (int i = 1; i < axes; ++i)
    for (int j = i; j > 0 && outer(order[j], order[j - 1]); --j) {
      const int t = order[j];
      order[j] = order[j - 1], order[j - 1] = t;
    }

  // Filled from the innermost axis on.
  loop_nest<R, N> nest;
  for (int i = axes - 1; i >= 0; --i) {
    const int a = order[i], last = R - nest.rank;
    bool joins = nest.rank > 0;
    for (int k = 0; k < N && joins; ++k)
      joins = strides[k][a] == saturated_product(nest.strides[k][last], nest.extents[last]);
    if (joins) {
      nest.extents[last] *= extents[a];
    } else {
      const int to = R - ++nest.rank;
      nest.extents[to] = extents[a];
      for (int k = 0; k < N; ++k) nest.strides[k][to] = strides[k][a];
    }
  }
  if (nest.rank == 0) nest.rank = 1;
  for (int a = 0; a < R; ++a) {
    if (nest.extents[a] == 0) nest.extents[a] = 1;
    nest.by[a] = divisor(nest.extents[a]);
  }
  return nest;
}

/// The smallest number of single elements after which all operands with a unit inner stride are aligned for chunks of
/// V, or -1 where there is none. `sizes` are the operands' element sizes; an operand of size 0 is not moved in chunks.
template <int R, int N>
index_t aligned_head(const loop_nest<R, N>& nest, const void* const (&data)[N], const int (&sizes)[N], int v) {
  constexpr int inner = R - 1;
  bool any = false;
  for (int k = 0; k < N; ++k) {
    if (nest.strides[k][inner] != 1 || sizes[k] == 0) continue;
    any = true;
    const auto size = static_cast<std::uint64_t>(sizes[k]);
    const auto width = static_cast<std::uint64_t>(access_bytes(static_cast<std::size_t>(sizes[k] * v)));
    for (int a = 0; a < inner; ++a)
      if (!bytes_divide(nest.strides[k][a], size, width)) return -1;
  }
  if (!any) return -1;
  for (index_t head = 0; head < v; ++head) {
    bool good = true;
    for (int k = 0; k < N && good; ++k)
      good = nest.strides[k][inner] != 1 || sizes[k] == 0 ||
             is_aligned(static_cast<const unsigned char*>(data[k]) + head * sizes[k],
                        access_bytes(static_cast<std::size_t>(sizes[k] * v)));
    if (good) return head;
  }
  return -1;
}

/// Items of a nest: chunks of V where `head` singles make them aligned, singles throughout where head is -1.
template <int R, int N>
item_plan plan_items(const loop_nest<R, N>& nest, index_t head, int v) {
  const index_t inner = nest.extents[R - 1];
  if (head < 0 || inner < head + v) return {nest.rows(), inner, v, 0, 0};
  return {nest.rows(), inner, v, head, (inner - head) / v};
}

}  // namespace kiln::elementwise
