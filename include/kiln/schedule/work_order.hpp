#pragma once
/// Who computes what when tiles are persistent: each worker (a block, or a cluster of them) walks a list of segments, a
/// run of K steps of one tile each.
///
/// Tiles that fill whole waves are one segment each. What is left over, less than two tiles a worker, may be cut evenly
/// along the steps of all these tiles, as one long ribbon (stream-K: Osama et al., 2023, arXiv 2301.03598): every
/// worker then has the same number of steps, and a tile has one or more parts, computed by neighbouring workers. Where
/// two workers or more are there for each tile left over, each tile is cut into up to four equal parts: the parts of
/// neighbouring tiles are then at the same place of K at the same time, and share operands in the L2.
///
/// If all tiles are few, each may have as many parts as a cluster has blocks, one each: those are there at the same
/// time and can send each other their sums.
///
/// Over many waves workers drift apart, and those that are alone at their place of K read from beyond the L2 what the
/// others shared, which sets them back further. So workers may come in shifts: each stays for some tiles, and where one
/// has ended another begins, with tiles of the next shift. Who begins when does not change what anyone computes.
#include <cstdint>

#include <kiln/schedule/tile_order.hpp>

namespace kiln {

struct segment {
  std::uint32_t tile;  ///< number in the tile order
  int first, steps;    ///< steps of K, [first, first + steps)
};

/// Which part of its tile a segment is.
struct tile_part {
  int number, count;    ///< 0 of 1 is a whole tile
  std::uint32_t owner;  ///< worker that has part 0
};

struct work_order {
  tile_order tiles;
  std::uint32_t workers;
  std::uint32_t steps;  ///< of one tile; at least 1
  /// The last tiles of the order, cut along K; 0: none. Their steps together are fewer than 2^32. They come last
  /// because workers that are in different places of K share less in the L2.
  std::uint32_t streamed;
  std::uint32_t cutters;    ///< the first so many workers have equal shares of the streamed tiles
  std::uint32_t resident;   ///< workers that run at one time: all, or those of a shift
  std::uint32_t stay;       ///< whole tiles of a worker of a shift; 0: there are no shifts
  std::uint32_t together = 1;  ///< neighbouring workers that are a cluster and have the parts of one tile

  /// Worker that has step `x` of the ribbon of all streamed tiles.
  KILN_FN constexpr std::uint32_t owner_of(std::uint32_t x) const {
    return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(x) + 1) * cutters - 1) / (streamed * steps));
  }
  KILN_FN constexpr std::uint32_t ribbon_begin(std::uint32_t worker) const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(worker) * (streamed * steps) / cutters);
  }
  KILN_FN constexpr std::uint32_t whole() const { return tiles.count() - streamed; }

  /// A worker's place in its list.
  struct cursor {
    std::uint32_t next_tile, end_tile;  // whole tiles
    std::uint32_t at, end;              // of the ribbon
  };
  KILN_FN constexpr cursor begin(std::uint32_t worker) const {
    if (stay > 0) {
      const std::uint32_t shift = worker / resident, of_shift = resident * stay, first = shift * of_shift;
      return {first + (worker - shift * resident), min_of(first + of_shift, whole()), 0, 0};
    }
    // Without the long divisions, which a kernel waits for before all else.
    if (streamed == 0 || worker >= cutters) return {worker, whole(), 0, 0};
    return {worker, whole(), ribbon_begin(worker), ribbon_begin(worker + 1)};
  }

  /// The next segment of the list; false at its end.
  KILN_FN constexpr bool next(cursor& c, segment& s) const {
    if (c.next_tile < c.end_tile) {
      s = {c.next_tile, 0, static_cast<int>(steps)};
      c.next_tile += resident;
      return true;
    }
    if (c.at < c.end) {
      const std::uint32_t number = c.at / steps, begin_of_tile = number * steps, left = c.end - c.at,
                          in_tile = begin_of_tile + steps - c.at;
      s.tile = whole() + number;
      s.first = static_cast<int>(c.at - begin_of_tile);
      s.steps = static_cast<int>(left < in_tile ? left : in_tile);
      c.at += static_cast<std::uint32_t>(s.steps);
      return true;
    }
    return false;
  }

  /// Asked when the segment's sums are there: a kernel has no registers to keep it in meanwhile.
  KILN_FN constexpr tile_part part_of(const segment& s) const {
    if (s.tile < whole()) return {0, 1, 0};
    const std::uint32_t begin_of_tile = (s.tile - whole()) * steps, owner = owner_of(begin_of_tile);
    return {static_cast<int>(owner_of(begin_of_tile + static_cast<std::uint32_t>(s.first)) - owner),
            static_cast<int>(owner_of(begin_of_tile + steps - 1) - owner) + 1, owner};
  }
};

/// Work for `workers` that run at one time, with what does not fill a wave of whole tiles cut if `stream` asks for it:
/// into equal parts where there are two workers or more for each tile and, if there is no whole wave before, few would
/// be idle; else as a ribbon, which the tiles of the last whole wave are part of, so that parts are long. No equal part
/// and, of tiles with as many, no worker's share of a ribbon has fewer than four steps: it would cost more than it
/// saves.
constexpr work_order make_work_order(const tile_order& tiles, std::uint32_t workers, std::uint32_t steps, bool stream) {
  constexpr std::uint32_t fewest = 4, most_parts = 4;
  const std::uint32_t count = tiles.count(), rest = count % workers;
  const auto order = [&](std::uint32_t used, std::uint32_t streamed, std::uint32_t cutters) {
    return work_order{tiles, used, steps, streamed, cutters, used, 0};
  };
  // Steps of a ribbon are counted in 32 bits.
  const bool counts = (static_cast<std::uint64_t>(rest) + workers) * steps < (std::uint64_t{1} << 32);
  if (!stream || rest == 0 || steps < 2 || !counts) return order(min_of(count, workers), 0, 0);
  const std::uint32_t parts = min_of(min_of(workers / rest, steps / fewest), most_parts);
  if (parts >= 2 && (count > workers || 6 * rest * parts >= 5 * workers))
    return order(count > workers ? workers : rest * parts, rest, rest * parts);
  if (count > workers) return order(workers, rest + workers, workers);
  const std::uint64_t enough = static_cast<std::uint64_t>(count) * steps / fewest;
  const std::uint32_t used = enough < workers ? max_of(count, static_cast<std::uint32_t>(enough)) : workers;
  return order(used, used == count ? 0 : count, used);
}

/// Each tile in `together` equal parts, of neighbouring workers; at least as many steps. There are fewer than 2^32
/// parts, and steps of all tiles.
constexpr work_order make_joined_order(const tile_order& tiles, std::uint32_t steps, std::uint32_t together) {
  const std::uint32_t count = tiles.count(), parts = count * together;
  return {tiles, parts, steps, count, parts, parts, 0, together};
}

/// Work in shifts of `workers` that run at one time, of which each takes `stay` whole tiles, at least 1. There are
/// fewer than 2^31 tiles, and of a shift.
constexpr work_order make_shifts(const tile_order& tiles, std::uint32_t workers, std::uint32_t steps,
                                 std::uint32_t stay) {
  const std::uint32_t count = tiles.count(), of_shift = workers * stay, full = count / of_shift;
  return {tiles, full * workers + min_of(count - full * of_shift, workers), steps, 0, 0, workers, stay};
}

}  // namespace kiln
