#pragma once
/// Runs a row program over all rows, on either executor.
#include <kiln/core/abi.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/kernel/rows/config.hpp>
#include <kiln/kernel/rows/row.hpp>

namespace kiln::rows {

namespace detail {
/// Most programs have rows of one length; one that cuts long rows into pieces says how long each is.
template <class Program>
inline constexpr bool has_own_lengths = requires(const Program& program) { program.length_of(index_t{}); };
template <class Program>
KILN_FN index_t length_of(const Program& program, index_t r, index_t length) {
  if constexpr (requires { program.length_of(r); })
    return program.length_of(r);
  else
    return length;
}
}  // namespace detail

/// Block `block` of `blocks` takes rows block * Rows ..., then strides over the grid, so any count of rows works.
KILN_HOST_CALLS template <class Where, class Config, int Width, class Program>
KILN_FN void run_block(const Program& program, index_t count, index_t length, index_t block, index_t blocks,
                       reduce_storage<Where, Config::threads>& shared) {
  for (index_t first = block * Config::rows; first < count; first += blocks * Config::rows) {
    block_scope<Where, Config::block>{}.template split<Config::threads>([&](auto threads) {
      const index_t r = first + threads.number();
      const bool active = r < count;
      const index_t here = active ? r : first;
      row_of<Program, Where, Config::threads, Width, Config::items, Config::whole> one(
          program, program.at(here), detail::length_of(program, here, length), active, threads, shared);
      program.run(one);
    });
  }
}

/// How wide the chunks of a program are: 16 bytes of its widest traffic.
template <class Program>
inline constexpr int chunk_width = 16 / static_cast<int>(sizeof(typename Program::lead));

namespace detail {
/// True if `wide_block` serves the program: with one phase there is nothing to hold a row for, and a program may say
/// that it needs more registers than are left there.
template <class Program>
constexpr bool holds_wide_rows() {
  if constexpr (requires { Program::fits_wide_block; })
    return Program::fits_wide_block;
  else
    return Program::phases > 1;
}
/// A program may say that 64 registers are enough for it, so that more blocks share a multiprocessor.
template <class Config, int Width, class Program>
constexpr int resident_blocks() {
  if constexpr (requires { Program::few_registers; })
    return Config::residents(static_cast<int>(sizeof(typename Program::held)), Width);
  else
    return 1;
}
template <class Program>
bool all_contiguous(const Program& p) {
  bool yes = true;
  p.each_operand([&](const auto& o) { yes = yes && o.step == 1; });
  return yes;
}
template <class Program>
bool all_vectors(const Program& p, index_t length, int width) {
  if (!has_own_lengths<Program> && (length == 0 || length % width != 0)) return false;
  bool yes = true;
  p.each_operand([&](const auto& o) { yes = yes && o.vectors(width); });
  return yes;
}
}  // namespace detail

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Config, int Width, class Program>
__global__ void __launch_bounds__(Config::block, detail::resident_blocks<Config, Width, Program>())
    row_kernel(const __grid_constant__ Program program, index_t count, index_t length) {
  __shared__ reduce_storage<on_device, Config::threads> shared;
  run_block<on_device, Config, Width>(program, count, length, static_cast<index_t>(blockIdx.x),
                                      static_cast<index_t>(gridDim.x), shared);
}

}  // namespace KILN_ABI
#endif

/// One configuration, pinned. `most_blocks` (0: chosen) limits the grid.
template <class Config, int Width, class Program>
status run_pinned(const host_executor&, const char*, const Program& program, index_t count, index_t length,
                  index_t most_blocks = 0) {
  reduce_storage<on_host, Config::threads> shared;
  const index_t all = ceil_div<index_t>(count, Config::rows),
                blocks = most_blocks == 0 ? all : min_of(all, most_blocks);
  for (index_t b = 0; b < blocks; ++b) run_block<on_host, Config, Width>(program, count, length, b, blocks, shared);
  return {};
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {
template <class Config, int Width, class Program>
status run_pinned(const device& ex, const char* name, const Program& program, index_t count, index_t length,
                  index_t most_blocks = 0) {
  // Beyond this many a block takes several rows: enough for an even end, few enough that starting them does not show.
  constexpr index_t waves = 16, threads_of_sm = 2048;
  if (most_blocks == 0)
    most_blocks = device_attribute(cudaDevAttrMultiProcessorCount, 128) * (threads_of_sm / Config::block) * waves;
  const index_t blocks = min_of<index_t>(ceil_div<index_t>(count, Config::rows), most_blocks);
  return launch(ex, name, row_kernel<Config, Width, Program>, {.grid = {blocks, 1, 1}, .block = Config::block}, program,
                count, length);
}
}  // namespace KILN_ABI
#endif

/// Runs with the configuration that suits the length of the rows and their alignment.
template <class Program>
status run(const host_executor& ex, trace::launch_record record, const Program& program, index_t count,
           index_t length) {
  record.schedule = "rows";
  trace::scope watch(ex, record);
  if (detail::all_contiguous(program))
    return watch.done(run_pinned<host_chunks, 8>(ex, record.program, program, count, length));
  return watch.done(run_pinned<host_single, 1>(ex, record.program, program, count, length));
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {
template <class Program>
status run(const device& ex, trace::launch_record record, const Program& program, index_t count, index_t length) {
  constexpr int width = chunk_width<Program>;
  const auto with = [&]<class Config, int Width>(Config, std::integral_constant<int, Width>, const char* schedule) {
    record.schedule = schedule;
    trace::scope watch(ex, record);
    using chosen = std::conditional_t<(Width > 1 && !detail::has_own_lengths<Program>), whole_chunks<Config>, Config>;
    return watch.done(run_pinned<chosen, Width>(ex, record.program, program, count, length));
  };
  constexpr std::integral_constant<int, width> chunks{};
  constexpr std::integral_constant<int, 1> single{};
  if (detail::all_vectors(program, length, width)) {
    if (length <= few_threads::capacity(width)) return with(few_threads{}, chunks, "rows, 8 threads each, held");
    if (length <= one_warp::capacity(width)) return with(one_warp{}, chunks, "rows, a warp each, held");
    if (length <= one_block::capacity(width)) return with(one_block{}, chunks, "rows, a block each, held");
    if constexpr (detail::holds_wide_rows<Program>())
      if (length <= wide_block::capacity(width)) return with(wide_block{}, chunks, "rows, a wide block each, held");
    return with(endless_block{}, chunks, "rows, a block each, read again");
  }
  if (length <= few_threads_single::capacity(1))
    return with(few_threads_single{}, single, "rows, 8 threads each, unaligned");
  return with(endless_single{}, single, "rows, a block each, unaligned, read again");
}
}  // namespace KILN_ABI
#endif

}  // namespace kiln::rows
