#pragma once
/// What the two instruction paths share.
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <kiln/kernel/attention/online_softmax.hpp>

namespace kiln::attn {

/// One step of one warp: where it stands among the keys, and what of its tiles is inside the problem.
struct step_extents {
  int first;                 ///< number of the step's first key
  int keys, rows;            ///< inside: keys of the step that some row of the tile sees, rows of the warp
  int head_dim, value_dim;
  float scale;               ///< times log2(e)
};

/// Writes `Count` neighbours of a row from column `col` on, those inside `cols`, each rounded once.
template <int Count, class Out>
KILN_FN void store_neighbours(Out* row, index_t step, int col, int cols, bool pairs, const float* x, float by) {
  if constexpr (Count == 2 && sizeof(Out) == 2) {
    if (pairs && col + 1 < cols) {
      *reinterpret_cast<std::uint32_t*>(row + col) = pack2<Out>(x[0] * by, x[1] * by);
      return;
    }
  }
  KILN_UNROLL
  for (int e = 0; e < Count; ++e)
    if (col + e < cols) row[(col + e) * step] = convert<Out>(x[e] * by);
}

}  // namespace kiln::attn
