#pragma once
/// A warp's own piece of shared memory through which accumulators change hands: written in the matrix instruction's
/// order, read back as rows of neighbours. Rows are padded by 8 so that pairs of one column group fall into different
/// banks.
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/types.hpp>

namespace kiln {

template <class T, int Rows, int Cols>
struct alignas(16) staging {
  static_assert(sizeof(T) == 4 && Cols % 8 == 0, "staging holds 4-byte accumulators in rows of a multiple of 8");
  static constexpr int pitch = Cols + 8;
  T values[Rows * pitch];

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void put(Scope s, int thread, int row, int col, T x) {
    if constexpr (Scope::host) twin::note_write(&values[row * pitch + col], sizeof(T), s.first + thread);
    values[row * pitch + col] = x;
  }
  /// Eight neighbours from (row, col); col is a multiple of 8.
  KILN_HOST_CALLS template <class Scope>
  KILN_FN vec<T, 8> get(Scope s, int thread, int row, int col) const {
    if constexpr (Scope::host) twin::note_read(&values[row * pitch + col], 8 * sizeof(T), s.first + thread);
    vec<T, 8> x;
    const auto* from = reinterpret_cast<const vec<T, 4>*>(&values[row * pitch + col]);
    const vec<T, 4> low = from[0], high = from[1];
    KILN_UNROLL
    for (int i = 0; i < 4; ++i) x[i] = low[i], x[4 + i] = high[i];
    return x;
  }
};

}  // namespace kiln
