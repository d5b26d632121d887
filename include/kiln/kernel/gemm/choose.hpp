#pragma once
/// Which configuration a default call takes: a pure function of the problem and of the GPU's size, the same on every
/// host.
#include <kiln/core/types.hpp>

namespace kiln {

/// What the model needs to know of one compiled configuration.
struct configuration_facts {
  const char* name;    ///< "multistage 128x256x64, sm80"
  int tile_m, tile_n;  ///< of D, one block
  int resident;        ///< blocks that a multiprocessor holds at a time
  double rate;         ///< multiply-adds per cycle and multiprocessor in the steady state, measured
  double overhead;     ///< cycles of a tile outside the steady state: first loads, epilogue
};

struct gemm_extents {
  index m, n, k, batch;
};

/// Cycles that the problem takes with this configuration on `multiprocessors`: whole waves of tiles.
constexpr double modelled_cycles(const gemm_extents& e, const configuration_facts& c, int multiprocessors) {
  const index tiles = ceil_div<index>(e.m, c.tile_m) * ceil_div<index>(e.n, c.tile_n) * e.batch;
  const double tile = static_cast<double>(c.tile_m) * c.tile_n * static_cast<double>(e.k > 0 ? e.k : 1) / c.rate;
  const index at_once = static_cast<index>(multiprocessors) * c.resident;
  const index full = tiles / at_once, rest = tiles - full * at_once;
  // Blocks on one multiprocessor share its units; a wave that is not full has fewer of them to share with.
  const double sharing = static_cast<double>(ceil_div<index>(rest, multiprocessors));
  return static_cast<double>(full) * (tile * c.resident + c.overhead) + (rest > 0 ? tile * sharing + c.overhead : 0);
}

/// Number of the configuration with the fewest modelled cycles; the first of equals.
template <int Count>
constexpr int best_configuration(const gemm_extents& e, const configuration_facts (&list)[Count], int multiprocessors,
                                 const bool (&usable)[Count]) {
  int best = -1;
  double fewest = 0;
  for (int i = 0; i < Count; ++i) {
    if (!usable[i]) continue;
    const double cycles = modelled_cycles(e, list[i], multiprocessors);
    if (best < 0 || cycles < fewest) fewest = cycles, best = i;
  }
  return best;
}

}  // namespace kiln
