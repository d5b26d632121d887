#pragma once
/// Filling a shared tile with lines that lie anywhere in memory.
#include <kiln/arch/sm80.hpp>
#include <kiln/tile/shared_tile.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln::attn {

/// True where the last axis is contiguous and every line along it starts at a multiple of 16 bytes.
template <class T, class S>
constexpr bool has_vector_lines(const tensor<T, 4, S, no_unit>& v) {
  if (v.extents[3] > 1 && v.strides[3] != 1) return false;
  for (int a = 0; a < 3; ++a)
    if (v.extents[a] > 1 && !bytes_divide(v.strides[a], sizeof(T), 16)) return false;
  return reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0;
}

/// True where every even element of a line begins a pair that one access may write.
template <class T, class S>
constexpr bool has_pairs(const tensor<T, 4, S, no_unit>& v) {
  if (v.extents[3] > 1 && v.strides[3] != 1) return false;
  for (int a = 0; a < 3; ++a)
    if (v.extents[a] > 1 && v.strides[a] % 2 != 0) return false;
  return reinterpret_cast<std::uintptr_t>(v.data) % (2 * sizeof(T)) == 0;
}

/// Row r of the tile becomes the `cols` elements at `line(r)`, `step` apart, then zeros; a null line becomes zeros. A
/// tile of floats takes narrower elements widened. With `vectors` (lines of 16-byte multiples) an access takes 16 bytes
/// of the wider type: cp.async with `Async`, to be committed and waited for, but not where a line ends within it, since
/// memory may end there, too (tile/load.hpp). Without `Padding` columns that lie a whole access behind the line's end
/// are left as they are.
template <bool Async, bool Padding, class T, class Block, class Tile, class Line>
KILN_FN void load_lines(Block block, Tile& to, int cols, index_t step, bool vectors, Line line) {
  using value = typename Tile::value_type;
  static_assert(!Async || std::is_same_v<T, value>, "cp.async copies bytes as they are");
  constexpr int width = 16 / static_cast<int>(sizeof(T) > sizeof(value) ? sizeof(T) : sizeof(value)),
                chunks_of_tile = Tile::cols / width;
  const int chunks_of_row = Padding ? chunks_of_tile : ceil_div(cols, width);
  const int chunks = Tile::rows * chunks_of_row;
  block.each([&](int thread) {
    KILN_NO_UNROLL
    for (int c = thread; c < chunks; c += Block::threads) {
      const int row = c / chunks_of_row, first = c % chunks_of_row * width;
      const T* from = line(row);
      const int valid = from == nullptr || first >= cols ? 0 : min_of(cols - first, width);
      if constexpr (Async) {
        if (vectors && (valid == width || valid == 0)) {
          void* at = to.address(row, first);
          sm80::cp_async<16>(block, thread, at, valid > 0 ? static_cast<const void*>(from + first) : at,
                             valid * static_cast<int>(sizeof(T)));
          continue;
        }
      }
      vec<value, width> x{};
      if (vectors && valid == width) {
        const auto wide = *reinterpret_cast<const vec<T, width>*>(from + first);
        KILN_UNROLL
        for (int e = 0; e < width; ++e) x[e] = static_cast<value>(wide[e]);
      } else {
        KILN_UNROLL
        for (int e = 0; e < width; ++e)
          if (e < valid) x[e] = static_cast<value>(from[(first + e) * step]);
      }
      to.template store<width>(block, thread, row, first, x);
    }
  });
}

}  // namespace kiln::attn
