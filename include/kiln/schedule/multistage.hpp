#pragma once
/// One block-wide role: a ring of slots filled by cp.async some steps ahead of the products. With one slot it is
/// `serial`.
///
/// A program for this schedule has `slot`, `scratch`, `state`, `threads` and
///     steps(p), begin(block, state), load(block, p, tile, step, slot), fetch(block, p, tile, slot, state),
///     compute(block, p, tile, step, slot, state), compute_last(block, p, tile, state), finish(block, p, tile, state,
///     scratch).
#include <kiln/arch/sm80.hpp>
#include <kiln/schedule/tile_order.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln {

template <class Program, int Slots>
struct ring_schedule {
  /// Slots while the products run, the program's scratch afterwards.
  union shared {
    typename Program::slot slots[Slots];
    typename Program::scratch scratch;
    shared() = delete;
  };

  /// One tile from first load to last store. Needs all threads of the block, and ends without a barrier of theirs: one
  /// comes before the memory is used again.
  template <class Block>
  KILN_FN static void run(Block block, const typename Program::parameters& p, shared& memory, tile_index tile) {
    typename Program::template state<Block> state;
    Program::begin(block, state);
    const int steps = Program::steps(p);
    if constexpr (Slots == 1) {
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        Program::load(block, p, tile, step, memory.slots[0]);
        sm80::cp_async_commit(block);
        sm80::cp_async_wait<0>(block);
        sync(block);
        Program::fetch(block, p, tile, memory.slots[0], state);
        Program::compute(block, p, tile, step, memory.slots[0], state);
        Program::compute_last(block, p, tile, state);
        sync(block);
      }
    } else if (steps > 0) {
      KILN_NO_UNROLL
      for (int step = 0; step < Slots; ++step) {
        if (step < steps) Program::load(block, p, tile, step, memory.slots[step]);
        sm80::cp_async_commit(block);
      }
      sm80::cp_async_wait<Slots - 1>(block);
      sync(block);
      Program::fetch(block, p, tile, memory.slots[0], state);
      int at = 0;
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        Program::compute(block, p, tile, step, memory.slots[at], state);
        sm80::cp_async_wait<Slots - 2>(block);
        sync(block);  // the next slot is full for everyone, and everyone has read this one
        if (step + Slots < steps) Program::load(block, p, tile, step + Slots, memory.slots[at]);
        sm80::cp_async_commit(block);
        at = at + 1 == Slots ? 0 : at + 1;
        // The last products of this slot run while the first operands of the next one come.
        Program::compute_last(block, p, tile, state);
        if (step + 1 < steps) Program::fetch(block, p, tile, memory.slots[at], state);
      }
      sm80::cp_async_wait<0>(block);
      sync(block);
    }
    Program::finish(block, p, tile, state, memory.scratch);
  }
};

}  // namespace kiln
