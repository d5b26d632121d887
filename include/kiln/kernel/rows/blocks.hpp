#pragma once
/// Runs a program of whole blocks with shared memory: `program.run(block, shared)` for blocks [0, blocks).
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/tile/watched.hpp>
#include <type_traits>

namespace kiln::rows {

template <class Executor>
using where_of = std::conditional_t<Executor::on_host, on_host, on_device>;

template <class Program>
status run_blocks(const host_executor& ex, const trace::launch_record& record, const Program& program, index_t blocks) {
  trace::scope watch(ex, record);
  using storage = typename Program::storage;
  return watch.done(each_block_on_host<storage, Program::block_type::threads>(
      ex, blocks, [&](storage& shared, index_t b) { program.run(b, shared); }));
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Program>
__global__ void __launch_bounds__(Program::block_type::threads)
    block_kernel(const __grid_constant__ Program program, index_t blocks) {
  __shared__ typename Program::storage shared;
  sm90::begin_in_turn();
  for (index_t b = static_cast<index_t>(blockIdx.x); b < blocks; b += static_cast<index_t>(gridDim.x)) {
    program.run(b, shared);
    __syncthreads();  // the next block's storage is this one's
  }
}

template <class Program>
status run_blocks(const device& ex, const trace::launch_record& record, const Program& program, index_t blocks) {
  trace::scope watch(ex, record);
  return watch.done(launch(ex, record.program, block_kernel<Program>,
                           {.grid = {min_of<index_t>(blocks, 1 << 20), 1, 1},
                            .block = Program::block_type::threads,
                            .overlaps_previous = true},
                           program, blocks));
}

}  // namespace KILN_ABI
#endif

}  // namespace kiln::rows
