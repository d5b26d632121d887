// Whoever computes what: each step of each tile once, parts numbered in order, nobody idle in a ribbon.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <kiln/schedule/work_order.hpp>

namespace kiln::test {
namespace {

struct part_of_tile {
  int first, steps, part, parts;
  std::uint32_t worker, owner;
};

/// Lists the segments of all workers by tile, and checks each worker's list.
std::vector<std::vector<part_of_tile>> parts_of(const work_order& w) {
  std::vector<std::vector<part_of_tile>> of(w.tiles.count());
  for (std::uint32_t worker = 0; worker < w.workers; ++worker) {
    auto place = w.begin(worker);
    std::uint32_t segments = 0;
    bool streams = false;
    for (segment s; w.next(place, s); ++segments) {
      if (s.tile >= w.tiles.count()) {
        ADD_FAILURE() << "tile " << s.tile << " of " << w.tiles.count();
        return of;
      }
      EXPECT_GT(s.steps, 0) << "worker " << worker;
      if (s.tile >= w.whole()) {
        streams = true;
      } else {
        EXPECT_FALSE(streams) << "worker " << worker << " has a whole tile behind parts";
      }
      const tile_part part = w.part_of(s);
      of[s.tile].push_back({s.first, s.steps, part.number, part.count, worker, part.owner});
    }
    EXPECT_GT(segments, 0u) << "worker " << worker << " has nothing to do";
  }
  return of;
}

void expect_complete(const work_order& w) {
  SCOPED_TRACE(::testing::Message() << w.tiles.count() << " tiles of " << w.steps << " steps, " << w.workers
                                    << " workers, " << w.streamed << " streamed");
  auto of = parts_of(w);
  for (std::uint32_t tile = 0; tile < w.tiles.count(); ++tile) {
    auto& parts = of[tile];
    std::sort(parts.begin(), parts.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    ASSERT_FALSE(parts.empty()) << "tile " << tile << " is left out";
    int step = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& p = parts[i];
      ASSERT_EQ(p.first, step) << "tile " << tile;
      ASSERT_EQ(p.parts, static_cast<int>(parts.size())) << "tile " << tile;
      ASSERT_EQ(p.part, static_cast<int>(i)) << "tile " << tile;
      if (tile >= w.whole()) {
        ASSERT_EQ(p.owner, parts[0].worker) << "tile " << tile;
        ASSERT_EQ(p.worker, p.owner + static_cast<std::uint32_t>(p.part)) << "tile " << tile;
      }
      step += p.steps;
    }
    ASSERT_EQ(step, static_cast<int>(w.steps)) << "tile " << tile;
  }
}

tile_order row_of(std::uint32_t tiles) { return {1, tiles, 1, 1}; }

TEST(work_order, whole_tiles_go_round) {
  for (const std::uint32_t tiles : {1u, 2u, 5u, 131u, 132u, 133u, 500u}) {
    const work_order w = make_work_order(row_of(tiles), 132, 7, false);
    EXPECT_EQ(w.streamed, 0u);
    EXPECT_EQ(w.workers, std::min(tiles, 132u));
    expect_complete(w);
  }
}

TEST(work_order, streamed_tiles_have_each_step_once) {
  for (const std::uint32_t workers : {1u, 2u, 3u, 5u, 66u, 132u})
    for (const std::uint32_t tiles : {1u, 2u, 3u, 4u, 7u, 65u, 131u, 132u, 133u, 200u, 263u, 264u, 265u, 600u})
      for (const std::uint32_t steps : {1u, 2u, 3u, 4u, 5u, 8u, 16u, 61u, 112u}) {
        expect_complete(make_work_order(row_of(tiles), workers, steps, true));
        if (HasFatalFailure()) return;
      }
}

TEST(work_order, a_ribbon_is_cut_evenly) {
  const work_order w = make_work_order(row_of(220), 132, 64, true);
  ASSERT_EQ(w.streamed, 220u);
  EXPECT_EQ(w.cutters, 132u);
  for (std::uint32_t worker = 0; worker < w.workers; ++worker) {
    const auto place = w.begin(worker);
    const std::uint32_t steps = place.end - place.at;
    EXPECT_GE(steps, 220u * 64 / 132);
    EXPECT_LE(steps, 220u * 64 / 132 + 1);
  }
}

// Where workers are left for it each tile has parts of its own, which begin at the same steps in all tiles.
TEST(work_order, a_few_tiles_have_equal_parts) {
  for (const std::uint32_t tiles : {132u * 3 + 66, 132u * 3 + 40, 132u * 3 + 10, 65u, 33u}) {
    const work_order w = make_work_order(row_of(tiles), 132, 65, true);
    ASSERT_EQ(w.streamed, tiles % 132);
    ASSERT_EQ(w.cutters % w.streamed, 0u);
    const std::uint32_t parts = w.cutters / w.streamed;
    EXPECT_GE(parts, 2u);
    EXPECT_LE(parts, 4u);
    for (std::uint32_t worker = 0; worker < w.cutters; ++worker) {
      const auto place = w.begin(worker);
      EXPECT_EQ(place.at % 65, worker % parts * 65 / parts);
      EXPECT_LE(place.end - place.at, 65 / parts + 1);
    }
    for (std::uint32_t worker = w.cutters; worker < w.workers; ++worker) EXPECT_EQ(w.begin(worker).end, 0u);
  }
}

TEST(work_order, tiles_beyond_whole_waves_are_streamed) {
  EXPECT_EQ(make_work_order(row_of(132 * 3), 132, 64, true).streamed, 0u);
  EXPECT_EQ(make_work_order(row_of(132 * 3 + 10), 132, 64, true).streamed, 10u);
  EXPECT_EQ(make_work_order(row_of(132 * 3 + 100), 132, 64, true).streamed, 232u);
  EXPECT_EQ(make_work_order(row_of(10), 132, 64, true).streamed, 10u);
}

TEST(work_order, no_worker_of_a_ribbon_gets_fewer_than_four_steps) {
  for (std::uint32_t tiles = 1; tiles < 132; ++tiles)
    for (const std::uint32_t steps : {4u, 5u, 16u, 64u}) {
      const work_order w = make_work_order(row_of(tiles), 132, steps, true);
      for (std::uint32_t worker = 0; w.streamed != 0 && worker < w.cutters; ++worker) {
        const auto place = w.begin(worker);
        ASSERT_GE(place.end - place.at, 4u) << tiles << " tiles of " << steps << " steps";
      }
    }
}

TEST(work_order, too_many_steps_to_count_are_not_cut) {
  EXPECT_GT(make_work_order(row_of(200), 132, 1u << 23, true).streamed, 0u);
  expect_complete(make_work_order(row_of(200), 132, 1u << 23, true));
  EXPECT_EQ(make_work_order(row_of(200), 132, 1u << 25, true).streamed, 0u);
}

// Neighbouring workers, which are a cluster, have the parts of one tile, each one of about the same length.
TEST(work_order, joined_tiles_have_a_part_of_each_block) {
  for (const std::uint32_t together : {2u, 3u, 5u, 6u, 8u})
    for (const std::uint32_t tiles : {1u, 2u, 7u, 30u})
      for (const std::uint32_t steps : {8u, 9u, 61u}) {
        const work_order w = make_joined_order(row_of(tiles), steps, together);
        EXPECT_EQ(w.workers, tiles * together);
        EXPECT_EQ(w.whole(), 0u);
        expect_complete(w);
        if (HasFatalFailure()) return;
        for (std::uint32_t worker = 0; worker < w.workers; ++worker) {
          auto place = w.begin(worker);
          segment s{};
          ASSERT_TRUE(w.next(place, s));
          EXPECT_EQ(s.tile, worker / together);
          EXPECT_GE(static_cast<std::uint32_t>(s.steps), steps / together);
          EXPECT_FALSE(w.next(place, s));
        }
      }
}

// The worker that begins where one has ended takes what is next in the order: all of a shift before any of the next.
TEST(work_order, shifts_take_the_tiles_in_order) {
  for (const std::uint32_t workers : {1u, 3u, 66u})
    for (const std::uint32_t stay : {1u, 2u, 8u})
      for (const std::uint32_t tiles : {1u, 2u, 3u, 65u, 66u, 67u, 527u, 528u, 529u, 600u, 2000u}) {
        const work_order w = make_shifts(row_of(tiles), workers, 5, stay);
        EXPECT_EQ(w.streamed, 0u);
        expect_complete(w);
        if (HasFatalFailure()) return;
        for (std::uint32_t worker = 0; worker < w.workers; ++worker) {
          const std::uint32_t shift = worker / workers;
          std::uint32_t taken = 0;
          auto place = w.begin(worker);
          for (segment s; w.next(place, s); ++taken) ASSERT_EQ(s.tile / (workers * stay), shift) << worker;
          ASSERT_LE(taken, stay);
        }
      }
}

}  // namespace
}  // namespace kiln::test
