#pragma once
/// The boxes that a block loads one after another along an axis of a matrix, each into a tile of shared memory, by
/// cp.async of 16 bytes, in parts: so that copies go out between products. A burst of them would hold up the reads of
/// shared memory behind it.
#include <kiln/arch/sm80.hpp>
#include <kiln/tile/shared_tile.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln {

/// Boxes of Tile::rows x Tile::cols elements inside the matrix; `load_tile` does those at its edges. They follow one
/// another along Axis of the matrix: 0, the tile's rows, or 1, along memory. The matrix has rank 2, its unit axis is 1
/// and its rows start at multiples of 16 bytes.
template <class Block, class Tile, int Axis>
struct box_copies {
  using value_type = typename Tile::value_type;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(value_type));
  static constexpr int chunks_of_row = Tile::cols / per_chunk;
  static constexpr int rows_a_pass = Block::threads / chunks_of_row;
  static constexpr int count = Tile::rows / rows_a_pass;  ///< copies of a thread for a box
  static constexpr int length = Axis == 0 ? Tile::rows : Tile::cols, width = Axis == 0 ? Tile::cols : Tile::rows;
  static_assert(Block::threads >= chunks_of_row && Block::threads % chunks_of_row == 0 && Tile::rows % rows_a_pass == 0,
                "box_copies: the block's threads cover whole rows of the tile");

  fragments<const value_type*, 1, Block> source;  ///< a thread's first chunk in box 0: all that it keeps for the others

  /// How many boxes from the first on lie inside the matrix, `other` being their place on the other axis.
  template <class T, class S>
  KILN_FN static int boxes(const tensor<T, 2, S, 1>& from, index_t other) {
    return from.extents[1 - Axis] - other >= width ? static_cast<int>(from.extents[Axis] / length) : 0;
  }

  template <class T, class S>
  KILN_FN void begin(Block block, const tensor<T, 2, S, 1>& from, index_t other) {
    const T* corner = from.data + (Axis == 0 ? other : other * from.strides[0]);
    block.each([&](int thread) {
      source.of(thread)[0] = corner + row_of(thread) * from.strides[0] + first_of(thread);
    });
  }

  /// Starts the copies of part `part` of Parts of box `box`, those of the threads of `where`, which are of the block.
  /// They may still be on their way afterwards: commit and wait as for cp.async.
  template <int Parts, class Scope, class T, class S>
  KILN_FN void copy(Scope where, Tile& to, const tensor<T, 2, S, 1>& from, int box, int part) const {
    const index_t line = from.strides[0];
    where.each([&](int t) {
      const int thread = where.number() * Scope::threads + t, row = row_of(thread), first = first_of(thread);
      const value_type* from_chunk = source.of(thread)[0] + box * (Axis == 0 ? length * line : index_t{length});
      auto* to_chunk = reinterpret_cast<unsigned char*>(to.address(row, first));
      KILN_UNROLL
      for (int i = 0; i < count; ++i) {
        if (i * Parts / count != part) continue;
        // A whole number of 8 rows on, the swizzle is the same.
        void* chunk = to_chunk + i * rows_a_pass * Tile::row_bytes;
        if constexpr (rows_a_pass % 8 != 0) chunk = to.address(row + i * rows_a_pass, first);
        sm80::cp_async<16>(where, t, chunk, from_chunk + i * rows_a_pass * line);
      }
    });
  }

 private:
  KILN_FN static int row_of(int thread) { return thread / chunks_of_row; }
  KILN_FN static int first_of(int thread) { return thread % chunks_of_row * per_chunk; }
};

}  // namespace kiln
