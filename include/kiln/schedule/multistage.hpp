#pragma once
/// One block-wide role: a ring of slots filled by cp.async some steps ahead of the products. With one slot it is
/// `serial`.
///
/// A program for this schedule has `slot`, `scratch`, `state`, `threads` and
///     steps(p), begin(block, state), load(block, p, tile, step, slot), compute(block, p, tile, step, slot, state),
///     finish(block, p, tile, state, scratch).
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

  /// One tile from first load to last store. Needs all threads of the block and leaves the shared memory free.
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
        Program::compute(block, p, tile, step, memory.slots[0], state);
        sync(block);
      }
    } else {
      for (int step = 0; step < Slots - 1; ++step) {
        if (step < steps) Program::load(block, p, tile, step, memory.slots[step]);
        sm80::cp_async_commit(block);
      }
      int read = 0, write = Slots - 1;
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        sm80::cp_async_wait<Slots - 2>(block);
        sync(block);  // this step's slot is full for everyone, and everyone has read the slot that the next load fills
        // The loads come behind the products, so that they are issued while the matrix units still work.
        Program::compute(block, p, tile, step, memory.slots[read], state);
        if (step + Slots - 1 < steps) Program::load(block, p, tile, step + Slots - 1, memory.slots[write]);
        sm80::cp_async_commit(block);
        read = read + 1 == Slots ? 0 : read + 1;
        write = write + 1 == Slots ? 0 : write + 1;
      }
      sm80::cp_async_wait<0>(block);
      sync(block);
    }
    Program::finish(block, p, tile, state, memory.scratch);
  }
};

}  // namespace kiln
