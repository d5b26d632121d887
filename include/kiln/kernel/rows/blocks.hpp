#pragma once
/// Runs a program of whole blocks with shared memory: `program.run(block, shared)` for blocks [0, blocks).
#include <kiln/core/executor.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/kernel/rows/reduce.hpp>
#include <type_traits>

namespace kiln::rows {

template <class Executor>
using where_of = std::conditional_t<Executor::on_host, on_host, on_device>;

template <class Program>
status run_blocks(const host_executor& ex, const trace::launch_record& record, const Program& program, index_t blocks) {
  trace::scope watch(ex, record);
  typename Program::storage shared;
  for (index_t b = 0; b < blocks; ++b) program.run(b, shared);
  return watch.done({});
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {
template <class Program>
status run_blocks(const device& ex, const trace::launch_record& record, const Program& program, index_t blocks) {
  trace::scope watch(ex, record);
  return watch.done(launch(ex, record.program, column_kernel<Program>,
                           {.grid = {min_of<index_t>(blocks, 1 << 20), 1, 1}, .block = Program::block_type::threads},
                           program, blocks));
}
}  // namespace KILN_ABI
#endif

}  // namespace kiln::rows
