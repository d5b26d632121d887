#pragma once
/// Roles on Hopper: a loader warp, of which one lane issues, fills a ring of slots by TMA, warpgroups of consumers
/// multiply from it, and the blocks stay for many tiles. Loader and consumers meet at two barriers a slot, `full` and
/// `empty`; groups that take turns at theirs, and blocks that have a tile together at `joint`.
///
/// A program for this schedule has `slot`, `scratch`, `state<Group>` with accumulators `acc`, `groups`, how many of
/// them share a tile (`sharers`), how often the blocks of a tile may meet (`join_levels`), the blocks of a cluster
/// (`cluster_m` x `cluster_n`; those in one line of either axis share loads), whether sums are promoted after each slot
/// (`promotes`, `promotes_in_turn`) and
///     bytes_of(p, tile, rank), maps_of(p, tile, rank), load<Whole>(thread, p, maps, tile, step, slot, full, rank),
///     prefetch(thread, p, tile, step, rank), multiply(group, number, slot, acc, add), settle(acc) after a wait,
///     finish(group, p, work, segment, tile, state, shared, scratch, flag, rank), end(group);
/// to promote
///     clear(group, state), promote<Block>(group, state, acc);
/// and in turn `blocks`, `partial<Group>` and
///     multiply_blocks<First, Count>(group, number, slot, acc, add).
/// `Where` is a parameter so that the host runs the same roles (arch/host/roles.hpp).
#include <kiln/arch/sm90.hpp>
#include <kiln/schedule/split.hpp>
#include <kiln/schedule/work_order.hpp>
#include <utility>

namespace kiln {

template <class Program, int Slots>
struct warp_specialized_schedule {
  static constexpr int cluster_m = Program::cluster_m, cluster_n = Program::cluster_n, cluster = cluster_m * cluster_n;
  static constexpr int groups = Program::groups;
  static constexpr bool in_turn = Program::sharers == 1;  ///< a tile each
  static constexpr int threads = 128 * (1 + groups);
  static constexpr int loader_registers = 24, consumer_registers = 240;

  struct shared {
    typename Program::slot ring[Slots];
    typename Program::scratch scratch[groups];
    sm90::barrier full[Slots], empty[Slots];
    std::uint32_t flag[groups];  ///< of the program's own use, one word a group
    [[no_unique_address]] meeting<Program::join_levels, Program::sharers> joint;
  };

  template <class Where>
  using block = scope<Where, threads>;

  /// One thread initialises the barriers; a barrier of the cluster follows.
  template <class Where>
  KILN_FN static void setup(scope<Where, 1> thread, shared& memory) {
    for (int s = 0; s < Slots; ++s) {
      sm90::init(thread, memory.full[s], 1);
      sm90::init(thread, memory.empty[s], Program::sharers * (cluster_m + cluster_n - 1));
    }
    memory.joint.init(thread);
  }

  /// The loader: waits for a slot to be empty everywhere it writes to, announces the bytes, starts the copies. A whole
  /// warp walks, so that everything but the copies' issue is uniform.
  template <class Where>
  KILN_FN static void load(scope<Where, 32> warp, const typename Program::parameters& p, const work_order& work,
                           std::uint32_t worker, shared& memory) {
    const int rank = cluster == 1 ? 0 : sm90::cluster_rank(warp);
    sm90::ring_position<Slots> at{0, 1};
    auto place = work.begin(worker);
    segment s;
    tile_index tile{};
    const auto next = [&] {
      if (!work.next(place, s)) return false;
      tile = work.tiles.at(s.tile);
      return true;
    };
    bool more = next();
    // Operands may be what the kernel before this one writes; to have the L2 fetch them reads nothing yet.
    if (more) sm90::one_thread(warp, [&](auto thread) { Program::prefetch(thread, p, tile, s.first, rank); });
    sm90::wait_for_previous_kernel();
    for (; more; more = next()) {
      const int bytes = Program::bytes_of(p, tile, rank);
      const auto maps = Program::maps_of(p, tile, rank);
      // What comes of the tile is known before its first step, and whether all comes even to the compiler: two more
      // instructions on the way of every load cost narrow tiles 1 to 2 %.
      const auto fill = [&](auto whole) {
        KILN_NO_UNROLL
        for (int step = 0; step < s.steps; ++step, at.next()) {
          sm90::wait(warp, memory.empty[at.slot], at.parity);
          sm90::one_thread(warp, [&](auto thread) {
            constexpr bool all = decltype(whole)::value;
            sm90::arrive_expect_bytes(thread, memory.full[at.slot], all ? Program::slot_bytes : bytes);
            Program::template load<all>(thread, p, maps, tile, s.first + step, memory.ring[at.slot],
                                        memory.full[at.slot], rank);
          });
        }
      };
      if (bytes == Program::slot_bytes) fill(std::true_type{});
      else fill(std::false_type{});
    }
    // Until the other blocks' last arrivals have come, which nobody else waits for: a block that has ended has no
    // memory.
    if constexpr (cluster > 1)
      for (int slot = 0; slot < Slots; ++slot, at.next()) sm90::wait(warp, memory.empty[at.slot], at.parity);
  }

  /// One consumer group. Two groups share each tile, or take tiles in turn (ping-pong), so that one multiplies while
  /// the other finishes. A slot goes back when the product after it has been issued and its own is done.
  template <class Where>
  KILN_FN static void consume(warpgroup_scope<Where> group, const typename Program::parameters& p,
                              const work_order& work, std::uint32_t worker, shared& memory) {
    const int number = sm90::uniform_warp(group) / 4 - 1, rank = cluster == 1 ? 0 : sm90::cluster_rank(group);
    sm90::wait_for_previous_kernel();
    typename Program::template state<warpgroup_scope<Where>> state;
    sm90::ring_position<Slots> at;
    auto place = work.begin(worker);
    segment s;
    // In turn, each group knows its own tiles without asking at each whose it is: with such a branch in the loop the
    // addresses of all products were in ordinary registers.
    const auto leave_to_others = [&](int count) {
      for (int i = 0; i < count; ++i)
        if (work.next(place, s)) at.skip(s.steps);
    };
    bool first = true;
    if constexpr (in_turn) {
      leave_to_others(number);
      first = number == 0;
    }
    for (; work.next(place, s); first = false) {
      // A barrier's parity tells only neighbouring phases apart, so a group looks at its slots when the other is
      // through.
      if constexpr (in_turn)
        if (!first) sm90::named_sync<128 * groups>(group, turn_name + number);
      const tile_index tile = work.tiles.at(s.tile);  // its divisions are done when the sums are
      const auto issued = [&] {
        if constexpr (in_turn) {
          auto peek = place;
          segment other;
          if (work.next(peek, other))
            sm90::named_arrive<128 * groups>(group, turn_name + (number + 1 == groups ? 0 : number + 1));
        }
      };
      if constexpr (Program::promotes_in_turn)
        multiply_in_turn(group, number, s.steps, at, memory, state, rank, issued,
                         std::make_integer_sequence<int, Program::blocks>{});
      else if constexpr (Program::promotes) multiply_promoted(group, number, s.steps, at, memory, state, rank, issued);
      else multiply(group, number, s.steps, at, memory, state, rank, issued);
      Program::finish(group, p, work, s, tile, state, memory, memory.scratch[number], memory.flag[number], rank);
      if constexpr (in_turn) leave_to_others(groups - 1);
    }
    Program::end(group);
  }

 private:
  static constexpr int turn_name = 1 + groups;  ///< named barriers of the turns; those of the groups come before

  template <class Group, class State, class Issued>
  KILN_FN static void multiply(Group group, int number, int steps, sm90::ring_position<Slots>& at, shared& memory,
                               State& state, int rank, Issued issued) {
    int held = -1;
    KILN_NO_UNROLL
    for (int step = 0; step < steps; ++step, at.next()) {
      sm90::wait(group, memory.full[at.slot], at.parity);
      Program::multiply(group, number, memory.ring[at.slot], state.acc, step > 0);
      sm90::wgmma_wait<1>(group);
      if (held >= 0) release(group, memory.empty[held], rank);
      held = at.slot;
    }
    issued();
    sm90::wgmma_wait<0>(group);
    Program::settle(state.acc);
    release(group, memory.empty[held], rank);
  }

  /// Each slot's sums are added to registers while the next slot's products run; two sets of sums alternate.
  template <class Group, class State, class Issued>
  KILN_FN static void multiply_promoted(Group group, int number, int steps, sm90::ring_position<Slots>& at,
                                        shared& memory, State& state, int rank, Issued issued) {
    State even, odd;
    const auto start = [&](State& into) {
      sm90::wait(group, memory.full[at.slot], at.parity);
      Program::multiply(group, number, memory.ring[at.slot], into.acc, false);
    };
    const auto take = [&](State& partial, int slot) {
      Program::settle(partial.acc);
      release(group, memory.empty[slot], rank);
      Program::promote(group, state, partial.acc);
    };
    Program::clear(group, state);
    start(even);
    for (int step = 1;; step += 2) {
      int held = at.slot;
      at.next();
      if (step >= steps) {
        issued();
        sm90::wgmma_wait<0>(group);
        take(even, held);
        return;
      }
      start(odd);
      sm90::wgmma_wait<1>(group);
      take(even, held);
      held = at.slot;
      at.next();
      if (step + 1 >= steps) {
        issued();
        sm90::wgmma_wait<0>(group);
        take(odd, held);
        return;
      }
      start(even);
      sm90::wgmma_wait<1>(group);
      take(odd, held);
    }
  }

  /// One set of partial sums for all blocks of rows in turn: what one group adds, the other's products hide.
  template <class Group, class State, class Issued, int... Block>
  KILN_FN static void multiply_in_turn(Group group, int number, int steps, sm90::ring_position<Slots>& at,
                                       shared& memory, State& state, int rank, Issued issued,
                                       std::integer_sequence<int, Block...>) {
    typename Program::template partial<Group> sums;
    Program::clear(group, state);
    KILN_NO_UNROLL
    for (int step = 0; step < steps; ++step, at.next()) {
      sm90::wait(group, memory.full[at.slot], at.parity);
      const auto take = [&](auto block) {
        constexpr int block_number = decltype(block)::value;
        constexpr bool last = block_number == sizeof...(Block) - 1;
        Program::template multiply_blocks<block_number, 1>(group, number, memory.ring[at.slot], sums.acc, false);
        if (last && step + 1 == steps) issued();
        sm90::wgmma_wait<0>(group);
        Program::settle(sums.acc);
        if (last) release(group, memory.empty[at.slot], rank);
        Program::template promote<block_number>(group, state, sums.acc);
      };
      (take(std::integral_constant<int, Block>{}), ...);
    }
  }

  /// One arrival a group at each block that writes into this slot: those of the cluster in line with this one.
  template <class Where>
  KILN_FN static void release(warpgroup_scope<Where> group, sm90::barrier& empty, int rank) {
    if constexpr (cluster == 1) {
      sm90::one_thread(group, [&](auto thread) { sm90::arrive(thread, empty); });
    } else {
      group.each([&](int t) {
        const bool in_line = t % cluster_m == rank % cluster_m || t / cluster_m == rank / cluster_m;
        if (t < cluster && in_line) sm90::arrive_at(scope<Where, 1>{group.first + t}, empty, t);
      });
    }
  }
};

}  // namespace kiln
