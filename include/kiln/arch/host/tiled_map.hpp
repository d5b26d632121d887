#pragma once
/// The host's tensor map: what TMA knows of a tensor in global memory and of the box it copies.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <kiln/layout/swizzle.hpp>

namespace kiln::twin {

/// Dimension 0 is the innermost, whose elements are neighbours. Strides are in bytes, `stride[d - 1]` that of dimension d.
struct tiled_map {
  std::byte* base;
  std::int64_t extent[5];
  std::int64_t stride[4];
  std::uint16_t box[5];
  std::uint8_t rank, element_bytes;
  swizzle pattern;

  int row_bytes() const { return box[0] * element_bytes; }
  int rows() const {
    int n = 1;
    for (int d = 1; d < rank; ++d) n *= box[d];
    return n;
  }
  int box_bytes() const { return rows() * row_bytes(); }
};

/// Calls `piece(shared, global, bytes)` for runs of the box at coordinates `at`: `shared` is the byte's offset from the box's
/// start, `shared_address` the start's own address (the swizzle is made of address bits); `global` is null outside the
/// tensor. Runs never cross a 16-byte chunk of shared memory. `first` and `last` choose among the box's rows.
template <class Piece>
void for_box(const tiled_map& m, const int (&at)[5], std::uint32_t shared_address, int first, int last, Piece piece) {
  for (int r = first; r < last; ++r) {
    bool inside = true;
    std::byte* row = m.base;
    for (int d = 1, rest = r; d < m.rank; ++d) {
      const std::int64_t c = static_cast<std::int64_t>(at[d]) + rest % m.box[d];
      rest /= m.box[d];
      inside = inside && c >= 0 && c < m.extent[d];
      if (inside) row += c * m.stride[d - 1];
    }
    for (int b = 0; b < m.row_bytes();) {
      const std::int64_t column = at[0] + b / m.element_bytes;
      const bool here = inside && column >= 0 && column < m.extent[0];
      const int linear = static_cast<int>(shared_address) + r * m.row_bytes() + b;
      const int place = swizzled(m.pattern, linear) - static_cast<int>(shared_address);
      piece(place, here ? row + column * m.element_bytes : nullptr, static_cast<int>(m.element_bytes));
      b += m.element_bytes;
    }
  }
}

}  // namespace kiln::twin
