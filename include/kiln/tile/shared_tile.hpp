#pragma once
/// A tile of a matrix in shared memory: its columns contiguous, its layout in its type.
#include <cstddef>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>
#include <kiln/layout/swizzle.hpp>

namespace kiln {

/// The widest swizzle whose panels a row of `cols` elements fills.
template <class T>
KILN_FN constexpr swizzle swizzle_for(int cols) {
  const int bytes = cols * static_cast<int>(sizeof(T));
  return bytes % 128 == 0  ? swizzle::b128
         : bytes % 64 == 0 ? swizzle::b64
         : bytes % 32 == 0 ? swizzle::b32
                           : swizzle::none;
}

/// Storage of Rows x Cols elements, the layout of a TMA box and of a K-major wgmma operand.
///
/// With a swizzle, columns are cut into panels as wide as the swizzle, [panel][row][bytes of a panel], and each panel
/// is swizzled on its own. With `swizzle::none` rows simply follow each other (TMA wants such a tile at a multiple of
/// 128).
template <class T, int Rows, int Cols, swizzle S = swizzle::b128>
struct alignas(swizzle_alignment(S)) shared_tile {
  using value_type = T;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr swizzle layout = S;
  static constexpr int row_bytes = S == swizzle::none ? Cols * static_cast<int>(sizeof(T)) : kiln::panel_bytes(S);
  static constexpr int panels = Cols * static_cast<int>(sizeof(T)) / row_bytes;
  static constexpr int panel_cols = Cols / panels;
  static constexpr int panel_bytes = Rows * row_bytes;
  static constexpr int bytes = panel_bytes * panels;
  static constexpr int alignment = swizzle_alignment(S);

  static_assert(Cols * static_cast<int>(sizeof(T)) % row_bytes == 0,
                "shared_tile: a row has to fill whole panels of its swizzle; use a narrower swizzle or more columns");
  static_assert(S == swizzle::none || panel_bytes % alignment == 0,
                "shared_tile: a swizzle repeats every 8 rows, so a swizzled tile needs a multiple of 8 rows");

  unsigned char storage[static_cast<std::size_t>(bytes)];

  /// Bytes from the tile's start to element (row, col).
  KILN_FN static constexpr int offset(int row, int col) {
    const int byte = col * static_cast<int>(sizeof(T));
    if constexpr (S == swizzle::none) return row * row_bytes + byte;
    return byte / row_bytes * panel_bytes + swizzled(S, row * row_bytes + byte % row_bytes);
  }
  KILN_FN T* address(int row, int col) { return reinterpret_cast<T*>(storage + offset(row, col)); }
  KILN_FN const T* address(int row, int col) const { return reinterpret_cast<const T*>(storage + offset(row, col)); }

  /// A place from which a thread steps in whole groups of 8 rows: the swizzle's exchange then stays what it is, so that
  /// an address costs an addition instead of the whole formula.
  struct cursor {
    const unsigned char* line;  ///< of the tile, at the cursor's row
    int byte, exchange;         ///< of the cursor in its row; what the swizzle flips in this row

    /// `down` is a multiple of 8.
    KILN_FN const T* address(int down, int right) const {
      const int at = byte + right * static_cast<int>(sizeof(T));
      if constexpr (S == swizzle::none) return reinterpret_cast<const T*>(line + down * row_bytes + at);
      const int panel = panels == 1 ? 0 : at / row_bytes * panel_bytes;
      return reinterpret_cast<const T*>(line + panel + down * row_bytes +
                                        ((panels == 1 ? at : at % row_bytes) ^ exchange));
    }
  };
  KILN_FN cursor at(int row, int col) const {
    return {storage + row * row_bytes, col * static_cast<int>(sizeof(T)),
            swizzled(S, row % 8, 0) - row % 8 * row_bytes};
  }

  /// N neighbours of a row in one access, N * sizeof(T) a power of two up to 16 and `col` a multiple of N. `thread` is
  /// the rank in the scope of the thread that reads; on the host the watch learns of it.
  KILN_HOST_CALLS template <int N, class Scope>
  KILN_FN vec<T, N> load(Scope where, int thread, int row, int col) const {
    check_width<N>();
    const T* at = address(row, col);
    if constexpr (Scope::host) {
      twin::note_read(at, N * static_cast<int>(sizeof(T)), where.first + thread);
      vec<T, N> r;
      __builtin_memcpy(&r, at, sizeof(r));
      return r;
    } else {
      return *reinterpret_cast<const vec<T, N>*>(at);
    }
  }
  KILN_HOST_CALLS template <int N, class Scope>
  KILN_FN void store(Scope where, int thread, int row, int col, const vec<T, N>& value) {
    check_width<N>();
    T* at = address(row, col);
    if constexpr (Scope::host) {
      twin::note_write(at, N * static_cast<int>(sizeof(T)), where.first + thread);
      __builtin_memcpy(at, &value, sizeof(value));
    } else {
      *reinterpret_cast<vec<T, N>*>(at) = value;
    }
  }

 private:
  template <int N>
  KILN_FN static constexpr void check_width() {
    static_assert(N >= 1 && N * sizeof(T) <= 16 && (N * sizeof(T) & (N * sizeof(T) - 1)) == 0,
                  "shared_tile: one access is 1, 2, 4, 8 or 16 bytes");
    static_assert(N * sizeof(T) <= alignof(vec<T, N>) && Cols % N == 0,
                  "shared_tile: the columns have to be a multiple of the access");
  }
};

}  // namespace kiln
