#pragma once
/// Shared memory has 32 banks of 4 bytes. An access of a warp is served in passes, each of which reads at most one
/// 4-byte word of every bank; lanes that read the same word share it.
#include <kiln/core/macros.hpp>

namespace kiln {

/// Passes that a warp's access takes. Lane i accesses `width` bytes (1, 2, 4, 8 or 16) at byte address `at[i]`, aligned
/// to the width. Accesses of 8 bytes are served by half-warps, of 16 by quarter-warps, and so is each matrix of
/// ldmatrix, whose rows are 16 bytes; a pass never spans two parts.
KILN_FN constexpr int bank_passes(const int (&at)[32], int width) {
  const int words = width <= 4 ? 1 : width / 4, lanes = 32 / words;
  int passes = 0;
  for (int first = 0; first < 32; first += lanes) {
    int most = 0;
    for (int bank = 0; bank < 32; ++bank) {
      int seen[32] = {}, distinct = 0;
      for (int i = first; i < first + lanes; ++i) {
        for (int w = 0; w < words; ++w) {
          const int word = at[i] / 4 + w;
          if (word % 32 != bank) continue;
          bool known = false;
          for (int k = 0; k < distinct; ++k) known = known || seen[k] == word;
          if (!known) seen[distinct++] = word;
        }
      }
      most = distinct > most ? distinct : most;
    }
    passes += most;
  }
  return passes;
}

/// Passes beyond what the access would take from consecutive addresses; 0 is free of conflicts.
KILN_FN constexpr int bank_conflicts(const int (&at)[32], int width) {
  const int passes = bank_passes(at, width), least = width <= 4 ? 1 : width / 4;
  return passes > least ? passes - least : 0;
}

}  // namespace kiln
