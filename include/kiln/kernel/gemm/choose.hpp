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
  int most_together = 1;       ///< blocks that can have a tile together, in a cluster made at the launch
};

struct gemm_extents {
  index_t m, n, k, batch;
  int a_lines = 1, b_lines = 1;  ///< lines of 128 bytes that 128 bytes of an operand touch
};

struct configuration_choice {
  int number = -1;      ///< in the list; -1: none is usable
  bool stream = false;  ///< cut the tiles that do not fill a wave
  int together = 1;     ///< blocks of a cluster that have a tile together
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
/// within a tenth, wider ones whose rows are off lines, both lines counted. Rows of the larger operand, which come to
/// the L2 meanwhile, cost more: 256 x 4096 x 4096 took 4 % longer by tiles of 64 x 128. `dearer`: by how much more
/// bytes cost.
constexpr double step_cycles(const gemm_extents& e, const configuration_facts& c, double dearer = 1) {
  constexpr double bytes_of_cycle = 56, larger = 0.2;
  const double m = static_cast<double>(e.m), n = static_cast<double>(e.n),
               of_a = 1 - larger / 2 + larger * m / max_of(m + n, 1.0),
               rows = c.tile_m * e.a_lines * of_a + c.tile_n * c.products * e.b_lines * (2 - of_a);
  return max_of(static_cast<double>(c.tile_m) / c.cluster * c.tile_n * c.products * c.tile_k / c.rate,
                rows * c.k_bytes / c.cluster / bytes_of_cycle * dearer);
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

/// Clusters of so many blocks, each of a whole multiprocessor, that run at one time: those of an H200's 132
/// multiprocessors, as the runtime tells, since parts of a GPU are not multiples of a cluster.
constexpr index_t clusters_at_once(int multiprocessors, int blocks) {
  constexpr int of_132[] = {0, 132, 66, 39, 30, 22, 17};
  return max_of<index_t>(index_t{multiprocessors} * of_132[blocks] / 132, 1);
}

/// Tiles that `together` blocks of a cluster have together, each a part of K. Fitted to times of 17 problems on an
/// H200: such blocks share less in the L2, clusters begin later than blocks, and sums travel at each halving.
constexpr double joined_cycles(const gemm_extents& e, const configuration_facts& c, int multiprocessors, int together) {
  constexpr double shared_less = 1.4, beginning = 6000, bytes_of_cycle = 40;
  const double halving = 1500 + 4.0 * c.tile_m * c.tile_n * c.products / bytes_of_cycle;
  const index_t steps = ceil_div(ceil_div<index_t>(e.k, c.tile_k), index_t{together}),
                waves = ceil_div(tiles_of(e, c), clusters_at_once(multiprocessors, together));
  int halvings = 0;
  for (int left = together; left > 1; left = (left + 1) / 2) ++halvings;
  const double part = static_cast<double>(steps) * step_cycles(e, c, shared_less);
  return static_cast<double>(waves) * (part + c.overhead + beginning) + halvings * halving;
}

/// How many blocks may have a tile together: at least four steps each, of tiles that are few. More than six were no
/// faster.
constexpr int most_together(const gemm_extents& e, const configuration_facts& c, int multiprocessors) {
  const index_t steps = ceil_div<index_t>(e.k, c.tile_k), tiles = tiles_of(e, c);
  if (tiles > multiprocessors || saturated_product(tiles, steps) > 0x7fffffff) return 1;
  return static_cast<int>(min_of<index_t>(min_of(min_of(c.most_together, multiprocessors), 6), steps / 4));
}

/// The configuration with the fewest modelled cycles among the usable ones; the first of equals. Where all tiles are
/// few and a kernel can share them out to clusters, the modelled cycles of the way through the workspace are weighed:
/// next to them `joined_cycles` counts too many where clusters leave most of the GPU idle.
template <class Facts, int Count>
constexpr configuration_choice choose_configuration(const gemm_extents& e, const Facts (&list)[Count],
                                                    int multiprocessors, const bool (&usable)[Count]) {
  configuration_choice best;
  bool any_joins = false;
  for (int i = 0; i < Count; ++i)
    any_joins = any_joins || (usable[i] && most_together(e, list[i], multiprocessors) > 1);
  for (int i = 0; i < Count; ++i) {
    if (!usable[i]) continue;
    const double plain = plain_cycles(e, list[i], multiprocessors);
    if (best.number < 0 || plain < best.cycles) best = {i, false, 1, plain};
    if (!list[i].streams || e.k <= 0) continue;
    const bool few = tiles_of(e, list[i]) <= multiprocessors / list[i].cluster;
    const double streamed = streamed_cycles(e, list[i], multiprocessors) * (few && any_joins ? 2.2 : 1);
    if (streamed < best.cycles) best = {i, true, 1, streamed};
    for (int n = 2; n <= most_together(e, list[i], multiprocessors); ++n) {
      const double joined = joined_cycles(e, list[i], multiprocessors, n);
      if (joined < best.cycles) best = {i, false, n, joined};
    }
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
    if (best.number < 0 || cycles < best.cycles) best = {i, false, 1, cycles};
  }
  return best;
}

}  // namespace kiln
