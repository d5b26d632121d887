#pragma once
/// Programs without reductions: a list of independent items, one thread each.
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/kernel/rows/access.hpp>

namespace kiln::rows {

/// Runs `program.run(item)` for items [0, count).
template <class Program>
status run_items(const host_executor& ex, trace::launch_record record, const Program& program, index_t count) {
  record.schedule = "elements";
  trace::scope watch(ex, record);
  for (index_t i = 0; i < count; ++i) program.run(i);
  return watch.done({});
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {

inline constexpr int items_block = 256;
/// Fewer are spread over more multiprocessors in smaller blocks.
inline constexpr index_t few_items = index_t{1} << 15;

template <class Program>
__global__ void __launch_bounds__(items_block) items_kernel(const __grid_constant__ Program program, index_t count) {
  sm90::begin_in_turn();
  const index_t stride = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) program.run(i);
}

template <class Program>
status run_items(const device& ex, trace::launch_record record, const Program& program, index_t count) {
  record.schedule = "elements, a thread each";
  trace::scope watch(ex, record);
  constexpr index_t most = index_t{1} << 24;  // blocks; longer lists stride over the grid
  const int block = count < few_items ? items_block / 4 : items_block;
  const index_t blocks = min_of<index_t>(ceil_div<index_t>(count, block), most);
  return watch.done(
      launch(ex, record.program, items_kernel<Program>,
             {.grid = {blocks, 1, 1}, .block = block, .overlaps_previous = true}, program, count));
}

}  // namespace KILN_ABI
#endif

}  // namespace kiln::rows
