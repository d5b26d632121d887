#pragma once
/// Runs the block-wide GEMM program: the kernel and its launch, and the same over the host's blocks.
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/kernel/gemm/program.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/schedule/multistage.hpp>
#include <new>

namespace kiln {

template <class Arguments, class Config>
struct ring_gemm {
  using program = gemm_program<Arguments, Config>;
  using schedule = ring_schedule<program, Config::slot_count>;
  using shared = typename schedule::shared;
  static constexpr bool is_hopper = false;
  static constexpr int slot_count = Config::slot_count, most_together = 1;
  static constexpr const char* schedule_name = slot_count == 1 ? "serial" : "multistage";
  static constexpr const char* instructions_name =
      std::is_same_v<typename Config::instruction_set, instructions::simt> ? "simt" : "sm80";
  static constexpr int tile_m = program::tile_m, tile_n = program::tile_n, tile_k = program::tile_k;
  static constexpr int cluster_m = 1, cluster_n = 1, cluster = 1, resident = 2;
  static constexpr int alignment = 1024;  // a swizzle's pattern is made from address bits
  static constexpr index_t shared_bytes = static_cast<index_t>(sizeof(shared)) + alignment;
  /// Registers of a thread: sums, operands, and about as many as addresses and the epilogue take.
  using operands = typename program::math::template operands<block_scope<on_device, program::threads>>;
  static constexpr int registers = max_of(
      program::products * program::math::registers + static_cast<int>(sizeof(operands)) / 4 + 64, 128);
  /// Shared memory of a multiprocessor. Source: CUDA Programming Guide, "Technical Specifications per Compute
  /// Capability".
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
  static constexpr index_t memory_of_processor = 100 << 10;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static constexpr index_t memory_of_processor = 164 << 10;
#else
  static constexpr index_t memory_of_processor = 228 << 10;
#endif
  /// Blocks that the registers must have room for: as many as shared memory has. Left to itself, the assembler would
  /// rather spill than give up a block.
  static constexpr int least_resident =
      std::is_same_v<typename Config::instruction_set, instructions::simt>
          ? 1
          : static_cast<int>(max_of<index_t>(min_of<index_t>(memory_of_processor / (shared_bytes + 1024),
                                                             (64 << 10) / (program::threads * registers)),
                                             1));
  static constexpr index_t row_parts_of_tile = program::warps_n;
  static constexpr index_t column_parts_of_tile = program::warps_m * program::math::chunks;

  /// `run(block, tile, memory)` for each of `tiles`. A checked run watches the shared memory of each and ends at the
  /// first fault.
  template <class Run>
  static status each_tile_on_host(const host_executor& ex, std::uint32_t tiles, Run&& run) {
    const block_scope<on_host, program::threads> block;
    const twin::copies_of_block none_stays;  // even if a twin throws
    if (ex.checked) {
      for (std::uint32_t t = 0; t < tiles; ++t) {
        twin::checked_block watched(sizeof(shared), program::threads);
        run(block, t, *reinterpret_cast<shared*>(watched.shared()));
        KILN_TRY(watched.result());
        if (const auto lost = twin::drop_copies(); lost > 0)
          return fail(errc::protocol, "gemm: ", lost, " cp.async copies were never waited for");
      }
      return {};
    }
    struct aligned_memory {
      void* data = ::operator new(sizeof(shared), std::align_val_t{alignment});
      ~aligned_memory() { ::operator delete(data, std::align_val_t{alignment}); }
    } memory;
    for (std::uint32_t t = 0; t < tiles; ++t) run(block, t, *static_cast<shared*>(memory.data));
    return {};
  }

  static status run_on_host(const host_executor& ex, const Arguments& p, const tile_order& order) {
    return each_tile_on_host(ex, order.count(), [&](auto block, std::uint32_t t, shared& memory) {
      schedule::run(block, p, memory, order.at(t));
    });
  }

#if defined(__CUDACC__)
  /// The first aligned place in a block's dynamic shared memory.
  KILN_DEVICE static shared& memory_in(unsigned char* bytes) {
    const std::uint32_t base = sm80::shared_address(bytes);
    return *reinterpret_cast<shared*>(bytes + (round_up<std::uint32_t>(base, alignment) - base));
  }
#endif
};

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Ring, class Arguments>
__global__ void __launch_bounds__(Ring::program::threads, Ring::least_resident)
    ring_gemm_kernel(const __grid_constant__ Arguments p, const tile_order order) {
  extern __shared__ __align__(16) unsigned char kiln_shared_memory[];
  const block_scope<on_device, Ring::program::threads> block;
  sm90::begin_in_turn();
  auto& memory = Ring::memory_in(kiln_shared_memory);
  // A tile a block: a loop over tiles would hold its number in a register that the largest tiles do not have.
  const std::uint32_t t = blockIdx.y * gridDim.x + blockIdx.x;
  if (t < order.count()) Ring::schedule::run(block, p, memory, order.at(t));
}

template <class Ring, class Arguments>
status launch_ring_gemm(const device& ex, const Arguments& p, const tile_order& order) {
  constexpr index_t wide = index_t{1} << 30;  // of fewer than 2^32 tiles
  return launch(ex, "gemm", ring_gemm_kernel<Ring, Arguments>,
                {.grid = {min_of<index_t>(order.count(), wide), ceil_div<index_t>(order.count(), wide), 1},
                 .block = Ring::program::threads,
                 .shared_bytes = Ring::shared_bytes,
                 .overlaps_previous = true},
                p, order);
}

}  // namespace KILN_ABI
#endif

}  // namespace kiln
