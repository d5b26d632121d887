#pragma once
/// Swizzles of shared memory, as TMA and wgmma apply them (PTX ISA, "Swizzling modes").
///
/// The 16-byte chunks of a line are exchanged so that the same columns of eight neighbouring rows lie in different
/// banks. The hardware forms the exchange from address bits, so a panel has to begin at a multiple of
/// `swizzle_alignment`.
#include <kiln/core/macros.hpp>

namespace kiln {

/// The number is the width in bytes of a panel: the part of a row that one swizzle permutes. `none` leaves bytes in
/// place.
enum class swizzle { none, b32, b64, b128 };

/// Bytes of one row of a panel. `none` permutes nothing and so limits nothing; it counts as 128, the banks' width.
KILN_FN constexpr int panel_bytes(swizzle s) { return s == swizzle::b32 ? 32 : s == swizzle::b64 ? 64 : 128; }

/// Bytes after which the pattern repeats: what the first byte of a panel has to be aligned to.
KILN_FN constexpr int swizzle_alignment(swizzle s) { return s == swizzle::none ? 16 : panel_bytes(s) * 8; }

/// Where the byte at `offset` of a panel of plain rows goes: address bits [4, 4 + n) ^= bits [7, 7 + n), with n = 1, 2,
/// 3 for 32, 64 and 128 bytes. Its own inverse.
KILN_FN constexpr int swizzled(swizzle s, int offset) {
  const int pattern = s == swizzle::b128 ? 0x380 : s == swizzle::b64 ? 0x180 : s == swizzle::b32 ? 0x80 : 0;
  return offset ^ ((offset & pattern) >> 3);
}

/// Byte offset in a panel whose rows are `panel_bytes(s)` wide; `byte` in [0, panel_bytes(s)).
KILN_FN constexpr int swizzled(swizzle s, int row, int byte) { return swizzled(s, row * panel_bytes(s) + byte); }

}  // namespace kiln
