#pragma once
/// One block-wide role: a tile that stays (Q) and a ring of slots (K and V) filled some steps ahead of the products.
///
/// A program for it has `resident`, `slot`, `state`, `parameters`, `tile`, `async` (its loads are cp.async) and
///     steps(p, tile), load_resident(block, p, tile, resident), load(block, p, tile, step, slot),
///     begin(block, p, tile, resident, state), compute(block, p, tile, step, resident, slot, state),
///     finish(block, p, tile, state).
#include <kiln/arch/sm80.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln::attn {

template <class Program, int Slots>
struct resident_ring {
  struct shared {
    typename Program::resident resident;
    typename Program::slot ring[Slots];
    shared() = delete;
  };

  /// One tile from first load to last store. Needs all threads of the block; a barrier has to stand before the next
  /// tile.
  template <class Block>
  KILN_FN static void run(Block block, const typename Program::parameters& p, shared& memory,
                          const typename Program::tile& tile) {
    typename Program::template state<Block> state;
    const int steps = Program::steps(p, tile);
    if (steps > 0) Program::load_resident(block, p, tile, memory.resident);
    if constexpr (Slots == 1) {
      sync(block);
      Program::begin(block, p, tile, memory.resident, state);
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        Program::load(block, p, tile, step, memory.ring[0]);
        sync(block);
        Program::compute(block, p, tile, step, memory.resident, memory.ring[0], state);
        sync(block);
      }
    } else {
      // The resident tile travels in the first slot's group.
      for (int step = 0; step < Slots - 1; ++step) {
        if (step < steps) Program::load(block, p, tile, step, memory.ring[step]);
        sm80::cp_async_commit(block);
      }
      sm80::cp_async_wait<Slots - 2>(block);
      sync(block);
      Program::begin(block, p, tile, memory.resident, state);
      int read = 0, write = Slots - 1;
      KILN_NO_UNROLL
      for (int step = 0; step < steps; ++step) {
        if (step > 0) {
          sm80::cp_async_wait<Slots - 2>(block);
          sync(
              block);  // this step's slot is full for everyone, and everyone has read the slot that the next load fills
        }
        if (step + Slots - 1 < steps) Program::load(block, p, tile, step + Slots - 1, memory.ring[write]);
        sm80::cp_async_commit(block);
        Program::compute(block, p, tile, step, memory.resident, memory.ring[read], state);
        read = read + 1 == Slots ? 0 : read + 1;
        write = write + 1 == Slots ? 0 : write + 1;
      }
      sm80::cp_async_wait<0>(block);
    }
    Program::finish(block, p, tile, state);
  }
};

}  // namespace kiln::attn
