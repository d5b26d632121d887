#pragma once
/// Runs the attention program: the kernel and its launch, and the same over the host's blocks.
#include <new>

#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/kernel/attention/program.hpp>
#include <kiln/kernel/attention/schedule.hpp>
#include <kiln/kernel/launch.hpp>

namespace kiln::attn {

template <class Arguments, class Config>
struct kernel {
  using tile_program = program<Arguments, Config>;
  using schedule = resident_ring<tile_program, Config::slot_count>;
  using shared = typename schedule::shared;
  static constexpr int rows = Config::rows, threads = tile_program::threads;
  static constexpr int alignment = 1024;  // a swizzle's pattern is made from address bits
  static constexpr index_t shared_bytes = static_cast<index_t>(sizeof(shared)) + alignment;
};

/// Tile after tile. A checked run watches the shared memory of each and ends at the first fault.
template <class Kernel, class Arguments>
status run(const host_executor& ex, const Arguments& p, index_t tiles) {
  const block_scope<on_host, Kernel::threads> block;
  if (ex.checked) {
    for (index_t t = 0; t < tiles; ++t) {
      twin::checked_block watched(sizeof(typename Kernel::shared), Kernel::threads);
      Kernel::schedule::run(block, p, *reinterpret_cast<typename Kernel::shared*>(watched.shared()),
                            tile_at(p, t, Kernel::rows));
      KILN_TRY(watched.result());
      if (const auto lost = twin::drop_copies(); lost > 0)
        return fail(errc::protocol, "attention: ", lost, " cp.async copies were never waited for");
    }
    return {};
  }
  struct aligned_memory {
    void* data = ::operator new(sizeof(typename Kernel::shared), std::align_val_t{Kernel::alignment});
    ~aligned_memory() { ::operator delete(data, std::align_val_t{Kernel::alignment}); }
  } memory;
  for (index_t t = 0; t < tiles; ++t)
    Kernel::schedule::run(block, p, *static_cast<typename Kernel::shared*>(memory.data), tile_at(p, t, Kernel::rows));
  return {};
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Kernel, class Arguments>
__global__ void __launch_bounds__(Kernel::threads, 1)
    attention_kernel(const __grid_constant__ Arguments p, const index_t tiles) {
  extern __shared__ __align__(16) unsigned char kiln_shared_memory[];
  const block_scope<on_device, Kernel::threads> block;
  sm90::begin_in_turn();
  const std::uint32_t base = sm80::shared_address(kiln_shared_memory);
  unsigned char* aligned = kiln_shared_memory + (round_up<std::uint32_t>(base, Kernel::alignment) - base);
  auto& memory = *reinterpret_cast<typename Kernel::shared*>(aligned);
  for (index_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    Kernel::schedule::run(block, p, memory, tile_at(p, t, Kernel::rows));
    if (t + gridDim.x < tiles) sync(block);
  }
}

template <class Kernel, class Arguments>
status run(const device& ex, const Arguments& p, index_t tiles) {
  return launch(ex, "attention", attention_kernel<Kernel, Arguments>,
                {.grid = {min_of<index_t>(tiles, max_grid_x), 1, 1},
                 .block = Kernel::threads,
                 .shared_bytes = Kernel::shared_bytes,
                 .overlaps_previous = true},
                p, tiles);
}

}  // inline namespace KILN_ABI
#endif

}  // namespace kiln::attn
