#pragma once
/// Roles on Hopper: one loader thread fills a ring of slots by TMA, warpgroups of consumers multiply from it, and the blocks
/// stay for many tiles. The roles meet at two barriers a slot, `full` and `empty`, and nowhere else.
///
/// A program for this schedule has `slot`, `scratch`, `state<Group>`, `groups`, `slot_bytes` and
///     load(thread, p, tile, step, slot, full, rank), compute(group, p, slot, state, first),
///     drained(group, state) after the last product, finish(group, p, work, segment, state, scratch, flag, rank), end(group).
/// `Where` is a parameter so that the host runs the same roles (arch/host/roles.hpp).
#include <kiln/arch/sm90.hpp>
#include <kiln/schedule/work_order.hpp>

namespace kiln {

template <class Program, int Slots, int Cluster>
struct warp_specialized_schedule {
  static constexpr int groups = Program::groups;
  static constexpr int threads = 128 * (1 + groups);
  static constexpr int loader_registers = 40, consumer_registers = 232;

  struct shared {
    typename Program::slot slots[Slots];
    typename Program::scratch scratch[groups];
    sm90::barrier full[Slots], empty[Slots];
    std::uint32_t flag[groups];  ///< of the program's own use, one word a group
  };

  template <class Where>
  using block = scope<Where, threads>;

  /// One thread initialises the barriers; a barrier of the cluster follows.
  template <class Where>
  KILN_FN static void setup(scope<Where, 1> thread, shared& memory) {
    for (int s = 0; s < Slots; ++s) {
      sm90::init(thread, memory.full[s], 1);
      sm90::init(thread, memory.empty[s], groups * Cluster);
    }
  }

  /// The loader: waits for a slot to be empty everywhere it writes to, announces the bytes, starts the copies.
  template <class Where>
  KILN_FN static void load(scope<Where, 1> thread, const typename Program::parameters& p, const work_order& work, std::uint32_t worker,
                           shared& memory) {
    const int rank = Cluster == 1 ? 0 : sm90::cluster_rank(thread);
    sm90::ring_position<Slots> at{0, 1};
    auto place = work.begin(worker);
    for (segment s; work.next(place, s);) {
      const tile_index tile = work.tiles.at(s.tile);
      KILN_NO_UNROLL
      for (int step = 0; step < s.steps; ++step, at.next()) {
        sm90::wait(thread, memory.empty[at.slot], at.parity);
        sm90::arrive_expect_bytes(thread, memory.full[at.slot], Program::slot_bytes);
        Program::load(thread, p, tile, s.first + step, memory.slots[at.slot], memory.full[at.slot], rank);
      }
    }
  }

  /// One consumer group. A slot goes back when the product after it has been issued and its own is done.
  template <class Where>
  KILN_FN static void consume(warpgroup_scope<Where> group, const typename Program::parameters& p, const work_order& work,
                              std::uint32_t worker, shared& memory) {
    const int number = group.number() - 1, rank = Cluster == 1 ? 0 : sm90::cluster_rank(group);
    typename Program::template state<warpgroup_scope<Where>> state;
    sm90::ring_position<Slots> at;
    auto place = work.begin(worker);
    for (segment s; work.next(place, s);) {
      int held = -1;
      KILN_NO_UNROLL
      for (int step = 0; step < s.steps; ++step, at.next()) {
        sm90::wait(group, memory.full[at.slot], at.parity);
        Program::compute(group, p, memory.slots[at.slot], state, step == 0);
        if (Program::drains_each_step) {
          release(group, memory.empty[at.slot]);
        } else {
          sm90::wgmma_wait<1>(group);
          if (held >= 0) release(group, memory.empty[held]);
          held = at.slot;
        }
      }
      Program::drained(group, state);
      if (held >= 0) release(group, memory.empty[held]);
      Program::finish(group, p, work, s, state, memory.scratch[number], memory.flag[number], rank);
    }
    Program::end(group);
  }

 private:
  /// One arrival a group and block of the cluster: all of them write into this slot.
  template <class Where>
  KILN_FN static void release(warpgroup_scope<Where> group, sm90::barrier& empty) {
    if constexpr (Cluster == 1) {
      sm90::one_thread(group, [&](auto thread) { sm90::arrive(thread, empty); });
    } else {
      group.each([&](int t) {
        if (t < Cluster) sm90::arrive_at(scope<Where, 1>{group.first + t}, empty, t);
      });
    }
  }
};

}  // namespace kiln
