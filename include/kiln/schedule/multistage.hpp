#pragma once
/// One block-wide role: a ring of slots filled by cp.async some steps ahead of the products. With one slot it is
/// `serial`.
///
/// A program for this schedule has `slot`, `scratch`, `state`, `threads`, `parts` and
///     steps(p), begin(block, p, tile, state), fetch(block, p, tile, slot, state),
///     compute(block, p, tile, step, slot, state, beside), compute_last(block, p, tile, state),
///     finish(block, p, tile, state, scratch),
/// and loads a slot by load(block, p, tile, step, slot, state) and, for each of its parts,
///     load_part(scope, p, tile, step, slot, state, part).
/// `compute` calls beside(scope, part) for parts 1 and on, between its products.
#include <kiln/arch/sm80.hpp>
#include <kiln/schedule/tile_order.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln {

template <class Program, int Slots>
struct ring_schedule {
  /// Slots while the products run, the program's scratch afterwards.
  union shared {
    typename Program::slot ring[Slots];
    typename Program::scratch scratch;
    shared() = delete;
  };

  /// One tile from first load to last store. Needs all threads of the block, and ends without a barrier of theirs: one
  /// comes before the memory is used again.
  template <class Block>
  KILN_FN static void run(Block block, const typename Program::parameters& p, shared& memory, tile_index tile) {
    typename Program::template state<Block> state;
    Program::begin(block, p, tile, state);
    const int steps = Program::steps(p);
    const auto load = [&](int step, typename Program::slot& slot) {
      Program::load(block, p, tile, step, slot, state);
      KILN_UNROLL
      for (int part = 0; part < Program::parts; ++part) Program::load_part(block, p, tile, step, slot, state, part);
    };
    if constexpr (Slots == 1) {
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        load(step, memory.ring[0]);
        sm80::cp_async_commit(block);
        sm80::cp_async_wait<0>(block);
        sync(block);
        Program::fetch(block, p, tile, memory.ring[0], state);
        Program::compute(block, p, tile, step, memory.ring[0], state, [](auto, int) {});
        Program::compute_last(block, p, tile, state);
        sync(block);
      }
    } else if (steps > 0) {
      KILN_NO_UNROLL
      for (int step = 0; step < Slots - 1; ++step) {
        if (step < steps) load(step, memory.ring[step]);
        sm80::cp_async_commit(block);
      }
      sm80::cp_async_wait<Slots - 2>(block);
      sync(block);
      Program::fetch(block, p, tile, memory.ring[0], state);
      // The vacant slot is loaded in parts: beside the last products of one step and among those of the next.
      int at = 0;
      const auto vacant = [&] { return at == 0 ? Slots - 1 : at - 1; };
      const auto refill = [&](auto where, int step, int part) {
        Program::load_part(where, p, tile, step, memory.ring[vacant()], state, part);
      };
      refill(block, Slots - 1, 0);
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        const int next = step + Slots - 1;
        if (next < steps) Program::load(block, p, tile, next, memory.ring[vacant()], state);
        Program::compute(block, p, tile, step, memory.ring[at], state,
                         [&](auto warp, int part) { refill(warp, next, part); });
        sm80::cp_async_commit(block);
        sm80::cp_async_wait<Slots - 2>(block);
        sync(block);  // the next slot is full for everyone, and everyone has read this one
        at = at + 1 == Slots ? 0 : at + 1;
        // The last products of this slot run while the first operands of the next one come.
        if (step + 1 < steps) Program::fetch(block, p, tile, memory.ring[at], state);
        refill(block, step + Slots, 0);
        Program::compute_last(block, p, tile, state);
      }  // by then all copies have landed, and everyone has read the slots
    }
    Program::finish(block, p, tile, state, memory.scratch);
  }
};

}  // namespace kiln
