#pragma once
/// Which configuration a default call takes: a pure function of the problem and of the GPU's size, the same on every
/// host.
///
/// The model counts cycles of one multiprocessor at the clock that the GPU keeps under load. A tile takes its
/// multiply-adds over the rate measured for the configuration, or longer where its operands come no faster, plus what
/// its beginning and its end cost; tiles come in waves.
#include <kiln/schedule/work_order.hpp>

namespace kiln {

/// What the model needs to know of one compiled configuration.
struct configuration_facts {
  int tile_m, tile_n, tile_k;  ///< of D, one worker: a block or a cluster of them
  int cluster;                 ///< blocks of a worker
  int products;                ///< over one A
  int resident;                ///< blocks that a multiprocessor holds at a time
  double rate;                 ///< multiply-adds per cycle and multiprocessor in the steady state, measured
  double overhead;             ///< cycles of a tile outside the steady state
  bool streams;                ///< can cut tiles along K (work_order.hpp)
  int k_bytes;                 ///< of tile_k elements of an operand
};

struct gemm_extents {
  index_t m, n, k, batch;
  int a_lines = 1, b_lines = 1;  ///< lines of 128 bytes that 128 bytes of an operand touch
};

struct configuration_choice {
  int number = -1;      ///< in the list; -1: none is usable
  bool stream = false;  ///< cut the tiles that do not fill a wave
  double cycles = 0;
};

/// Cycles of a multiprocessor to write and read back a block's float32 sums through the L2, about 50 bytes a cycle.
constexpr double split_cycles(const configuration_facts& c) {
  return 2.0 * 4 * c.tile_m / c.cluster * c.tile_n * c.products / 50;
}

constexpr index_t tiles_of(const gemm_extents& e, const configuration_facts& c) {
  return saturated_product(saturated_product(ceil_div<index_t>(e.m, c.tile_m), ceil_div<index_t>(e.n, c.tile_n)),
                           e.batch);
}

/// Cycles of one step of a block's tile: its multiply-adds, or its operands' way from the L2, of which a cluster's
/// blocks share out what they share. Measured on an H200: tiles of 128 x 64 come with 56 bytes a cycle, and so do,
/// within a tenth, wider ones whose rows are off lines, both lines counted.
constexpr double step_cycles(const gemm_extents& e, const configuration_facts& c) {
  constexpr double bytes_of_cycle = 56;
  return max_of(static_cast<double>(c.tile_m) / c.cluster * c.tile_n * c.products * c.tile_k / c.rate,
                static_cast<double>(c.tile_m * e.a_lines + c.tile_n * c.products * e.b_lines) * c.k_bytes / c.cluster /
                    bytes_of_cycle);
}

/// Cycles of a tile's steps.
constexpr double tile_cycles(const gemm_extents& e, const configuration_facts& c) {
  return e.k > 0 ? static_cast<double>(ceil_div<index_t>(e.k, c.tile_k)) * step_cycles(e, c) : 0;
}

/// Cycles of a tile's steps on a multiprocessor that nobody shares: a block that was to share it reaches half of its
/// rate alone (64 rows of 4096 x 4096 took 33 us on an H200 where the full rate would have been 16).
constexpr double lone_cycles(const gemm_extents& e, const configuration_facts& c) {
  return tile_cycles(e, c) * min_of(c.resident, 2);
}

/// Whole tiles only: the last wave takes as long as a full one, except that blocks which share a multiprocessor leave
/// it to each other.
constexpr double plain_cycles(const gemm_extents& e, const configuration_facts& c, int multiprocessors) {
  const index_t tiles = tiles_of(e, c);
  const double tile = tile_cycles(e, c);
  const index_t workers = max_of(multiprocessors / c.cluster, 1), at_once = workers * c.resident;
  const index_t full = tiles / at_once, rest = tiles - full * at_once;
  const auto sharing = static_cast<double>(ceil_div<index_t>(rest, workers));
  const double last = rest > 0 ? max_of(tile * sharing, lone_cycles(e, c)) + c.overhead : 0;
  return static_cast<double>(full) * (tile * c.resident + c.overhead) + last;
}

/// With the tiles beyond the last whole wave cut: no worker waits for another, but sums travel.
constexpr double streamed_cycles(const gemm_extents& e, const configuration_facts& c, int multiprocessors) {
  const index_t all = tiles_of(e, c);
  if (all > 0xffffffff || e.k > index_t{0xffffffff} * c.tile_k) return plain_cycles(e, c, multiprocessors);
  const auto tiles = static_cast<std::uint32_t>(all);
  const auto steps = static_cast<std::uint32_t>(ceil_div<index_t>(e.k, c.tile_k));
  const work_order w = make_work_order({1, tiles, 1, 1},
                                       static_cast<std::uint32_t>(max_of(multiprocessors / c.cluster, 1)), steps, true);
  if (w.streamed == 0) return plain_cycles(e, c, multiprocessors);
  const double step = step_cycles(e, c);
  const double ribbon = static_cast<double>(w.streamed) * steps / w.cutters;
  const double parts = ribbon < steps ? static_cast<double>(steps) / ribbon : 2;
  const double whole = static_cast<double>((tiles - w.streamed) / w.workers);
  // Measured: workers out of step in K read a fifth more from beyond the L2, and counting the parts costs about 8 us.
  constexpr double out_of_step = 1.2, counting = 14000;
  return whole * (steps * step + c.overhead) + ribbon * step * out_of_step + 2 * c.overhead +
         split_cycles(c) * (1 + parts) / 2 + counting;
}

/// The configuration with the fewest modelled cycles among the usable ones; the first of equals.
template <class Facts, int Count>
constexpr configuration_choice choose_configuration(const gemm_extents& e, const Facts (&list)[Count],
                                                    int multiprocessors, const bool (&usable)[Count]) {
  configuration_choice best;
  for (int i = 0; i < Count; ++i) {
    if (!usable[i]) continue;
    const double plain = plain_cycles(e, list[i], multiprocessors);
    if (best.number < 0 || plain < best.cycles) best = {i, false, plain};
    if (!list[i].streams || e.k <= 0) continue;
    const double streamed = streamed_cycles(e, list[i], multiprocessors);
    if (streamed < best.cycles) best = {i, true, streamed};
  }
  return best;
}

/// Several problems in one launch: their tiles share the waves, and nothing is faster than its longest tile.
constexpr double grouped_cycles(const gemm_extents* problems, index_t count, const configuration_facts& c,
                                int multiprocessors) {
  double all = 0, longest = 0;
  for (index_t i = 0; i < count; ++i) {
    const double tile = tile_cycles(problems[i], c);
    all += static_cast<double>(tiles_of(problems[i], c)) * (tile * c.resident + c.overhead);
    longest = max_of(longest, lone_cycles(problems[i], c) + c.overhead);
  }
  return max_of(all / static_cast<double>(max_of(multiprocessors / c.cluster, 1) * c.resident), longest);
}

/// The same choice for a list of problems that one launch serves.
template <class Facts, int Count>
constexpr configuration_choice choose_for_all(const gemm_extents* problems, index_t count, const Facts (&list)[Count],
                                              int multiprocessors) {
  configuration_choice best;
  for (int i = 0; i < Count; ++i) {
    const double cycles = grouped_cycles(problems, count, list[i], multiprocessors);
    if (best.number < 0 || cycles < best.cycles) best = {i, false, cycles};
  }
  return best;
}

}  // namespace kiln
