#pragma once
/// The host's tensor map: what TMA knows of a tensor in global memory and of the box it copies.
#include <cstddef>
#include <cstdint>
#include <kiln/layout/swizzle.hpp>

namespace kiln::twin {

/// Dimension 0 is the innermost, whose elements are neighbours. Strides are in bytes, `stride[d - 1]` that of dimension
/// d.
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

/// Calls `piece(shared, global, bytes)` for rows [first, last) of the box at coordinates `at`, in pieces of at most 16
/// bytes. `shared` counts bytes from the box's start, whose own address is `start` (the swizzle is made of address
/// bits); `global` is null outside the tensor.
template <class Piece>
void for_box(const tiled_map& m, const int (&at)[5], std::uint32_t start, int first, int last, Piece piece) {
  constexpr int chunk = 16;
  const int e = m.element_bytes;
  for (int r = first; r < last; ++r) {
    bool inside = true;
    std::byte* row = m.base;
    for (int d = 1, rest = r; d < m.rank; ++d) {
      const std::int64_t c = static_cast<std::int64_t>(at[d]) + rest % m.box[d];
      rest /= m.box[d];
      inside = inside && c >= 0 && c < m.extent[d];
      if (inside) row += c * m.stride[d - 1];
    }
    for (int b = 0; b < m.row_bytes(); b += chunk) {
      const int place = swizzled(m.pattern, static_cast<int>(start) + r * m.row_bytes() + b) - static_cast<int>(start);
      const std::int64_t column = static_cast<std::int64_t>(at[0]) + b / e;
      if (inside && column >= 0 && column + chunk / e <= m.extent[0]) {
        piece(place, row + column * e, chunk);
        continue;
      }
      for (int i = 0; i < chunk / e; ++i) {
        const bool here = inside && column + i >= 0 && column + i < m.extent[0];
        piece(place + i * e, here ? row + (column + i) * e : nullptr, e);
      }
    }
  }
}

}  // namespace kiln::twin
