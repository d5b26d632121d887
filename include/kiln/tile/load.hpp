#pragma once
/// Filling a shared tile from a matrix in memory, by all threads of a block. Elements outside the matrix become zero.
///
/// Where the matrix's unit axis is the tile's contiguous axis and its rows are aligned to 16 bytes, the copies are
/// cp.async of 16 bytes; aligned to 4, and for elements of 4 bytes anywhere, of 4. Everything else goes element by
/// element through registers; so does the end of the line behind which memory may end, the last one, where it is no
/// whole copy: compute-sanitizer takes a copy of fewer valid bytes for one of all.
#include <kiln/arch/sm80.hpp>
#include <kiln/tile/shared_tile.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln {

/// True where every row of a [batch, rows, cols] view starts at a multiple of 16 bytes.
template <class T, int R, class S, int U>
constexpr bool has_vector_rows(const tensor<T, R, S, U>& v) {
  if (U == no_unit) return false;
  constexpr std::uintptr_t unit = 16;
  if (reinterpret_cast<std::uintptr_t>(v.data) % unit != 0) return false;
  for (int a = 0; a < R; ++a)
    if (a != U && v.extents[a] > 1 && !bytes_divide(v.strides[a], sizeof(T), 16)) return false;
  return true;
}

/// Fills `to` with the box of `from` at (line, col). `from` has rank 2; axis 0 runs along the tile's rows. `vectors`
/// says that `has_vector_rows` held. The copies may still be on their way: commit and wait as for cp.async.
template <class Block, class Tile, class T, class S, int U>
KILN_FN void load_tile(Block block, Tile& to, const tensor<T, 2, S, U>& from, index_t line, index_t col, bool vectors) {
  constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  constexpr int chunks_of_row = Tile::cols / per_chunk;
  using value = std::remove_const_t<T>;
  // Lines that repeat or run backwards may each be the last of memory.
  const bool any_last = from.stride(0) <= 0;
  const auto by_elements = [&](int thread, int row, int first, const T* source, int valid, int count) {
    KILN_NO_UNROLL
    for (int e = 0; e < count; ++e)
      to.template store<1>(block, thread, row, first + e, vec<value, 1>{{e < valid ? source[e] : value{}}});
  };
  if constexpr (U == 1) {
    if (vectors) {
      constexpr int rows_a_pass = Block::threads / chunks_of_row;
      static_assert(Block::threads >= chunks_of_row && Block::threads % chunks_of_row == 0 &&
                        Tile::rows % rows_a_pass == 0,
                    "load_tile: the block's threads cover whole rows of the tile");
      const index_t lines = from.extents[0] - line;
      const index_t step = rows_a_pass * from.strides[0];
      block.each([&](int thread) {
        const int first = thread % chunks_of_row * per_chunk;
        const index_t left = from.extents[1] - col - first;
        const int valid = left <= 0 ? 0 : left < per_chunk ? static_cast<int>(left) : per_chunk;
        const T* source = from.data + (line + thread / chunks_of_row) * from.strides[0] + col + first;
        KILN_NO_UNROLL
        for (int row = thread / chunks_of_row; row < Tile::rows; row += rows_a_pass, source += step) {
          const bool inside = row < lines && valid > 0;
          if (inside && valid < per_chunk && (any_last || row + 1 == lines))
            by_elements(thread, row, first, source, valid, per_chunk);
          else
            sm80::cp_async<16>(block, thread, to.address(row, first), inside ? source : from.data,
                               inside ? valid * static_cast<int>(sizeof(T)) : 0);
        }
      });
      return;
    }
  }
  // Neighbouring threads walk the matrix's unit axis, in steps of 4 bytes where its lines are aligned to that.
  constexpr bool along_rows = U == 0;
  constexpr int of_word = 4 / static_cast<int>(sizeof(T));
  const auto copy_words = [&](auto count) {
    constexpr int n = decltype(count)::value, words_of_row = Tile::cols / n;
    block.each([&](int thread) {
      KILN_NO_UNROLL
      for (int e = thread; e < Tile::rows * words_of_row; e += Block::threads) {
        const int row = along_rows ? e % Tile::rows : e / words_of_row,
                  c = (along_rows ? e / Tile::rows : e % words_of_row) * n;
        const index_t left = from.extents[1] - col - c;
        const bool inside = line + row < from.extents[0] && left > 0;
        const T* source = inside ? from.data + (line + row) * from.stride(0) + (col + c) * from.stride(1) : from.data;
        if (n > 1 && inside && left < n && (any_last || line + row + 1 == from.extents[0])) {
          by_elements(thread, row, c, source, static_cast<int>(left), n);
          continue;
        }
        sm80::cp_async<4>(block, thread, to.address(row, c), source,
                          !inside    ? 0
                          : left < n ? static_cast<int>(left) * static_cast<int>(sizeof(T))
                                     : 4);
      }
    });
  };
  if constexpr (of_word == 1) {
    copy_words(std::integral_constant<int, 1>{});
  } else {
    if constexpr (U == 1) {
      const auto lines = static_cast<std::uintptr_t>(from.strides[0]) * sizeof(T);
      if (((reinterpret_cast<std::uintptr_t>(from.data) | lines) & 3) == 0) {
        copy_words(std::integral_constant<int, of_word>{});
        return;
      }
    }
    // Through registers, a few elements at a time: one alone would wait for memory each time, many take too many
    // registers. A thread keeps its place along the unit axis and steps over lines.
    constexpr int along = along_rows ? Tile::rows : Tile::cols, lines = along_rows ? Tile::cols : Tile::rows,
                  at_once = 4;
    constexpr int wide = along < Block::threads ? along : Block::threads, lines_a_pass = Block::threads / wide;
    block.each([&](int thread) {
      const int first = thread / wide;
      if (first >= lines_a_pass) return;  // threads that a pass over lines does not need
      KILN_NO_UNROLL
      for (int place = thread % wide; place < along; place += wide) {
        const index_t row = line + (along_rows ? place : first), c = col + (along_rows ? first : place);
        const index_t left = from.extents[along_rows ? 1 : 0] - (along_rows ? c : row);
        const bool inside = along_rows ? row < from.extents[0] : c < from.extents[1];
        const int last = !inside || left <= 0 ? 0
                         : left < lines       ? first + static_cast<int>(left)
                                              : lines;  // line behind the matrix
        const T* source = from.data + row * from.stride(0) + c * from.stride(1);
        const index_t step = lines_a_pass * from.stride(along_rows ? 1 : 0);
        KILN_NO_UNROLL
        for (int l = first; l < lines; l += lines_a_pass * at_once) {
          value x[at_once];
          KILN_UNROLL
          for (int i = 0; i < at_once; ++i, source += step) x[i] = l + i * lines_a_pass < last ? *source : value{};
          KILN_UNROLL
          for (int i = 0; i < at_once; ++i) {
            const int at = l + i * lines_a_pass;
            if (at < lines)
              to.template store<1>(block, thread, along_rows ? place : at, along_rows ? at : place,
                                   vec<value, 1>{{x[i]}});
          }
        }
      }
    });
  }
}

}  // namespace kiln
