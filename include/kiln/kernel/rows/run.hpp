#pragma once
/// Runs a row program over all rows, on either executor.
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/core/architectures.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/kernel/rows/config.hpp>
#include <kiln/kernel/rows/kept.hpp>
#include <kiln/kernel/rows/residents.hpp>
#include <kiln/kernel/rows/row.hpp>

namespace kiln::rows {

namespace detail {
template <class Where, class Config>
using storage_of = reduce_storage<Where, Config::threads * Config::blocks, Config::blocks>;
/// Most programs have rows of one length; one that cuts long rows into pieces says how long each is, and may know
/// whether all are made of whole chunks.
template <class Program>
inline constexpr bool has_own_lengths = requires(const Program& program) {
  program.length_of(index_t{});
};
template <class Program>
inline constexpr bool knows_whole = requires(const Program& program) {
  program.whole(index_t{});
};
template <class Program>
KILN_FN index_t length_of(const Program& program, index_t r, index_t length) {
  if constexpr (has_own_lengths<Program>)
    return program.length_of(r);
  else
    return length;
}
/// Whether all rows have the length that the kernel is told.
template <class Program>
KILN_FN bool one_length(const Program& program) {
  if constexpr (knows_whole<Program>)
    return program.cuts.runs() == 1;
  else
    return !has_own_lengths<Program>;
}
}  // namespace detail

/// Block (or cluster) `block` of `blocks` takes rows block * Rows ..., then strides over the grid, so any count of rows
/// works. Rows that fill what can be held have code without tests.
KILN_HOST_CALLS template <class Where, class Config, int Width, class Program>
KILN_FN void run_block(const Program& program, index_t count, index_t length, index_t block, index_t blocks,
                       detail::storage_of<Where, Config>& shared, [[maybe_unused]] unsigned char* memory = nullptr) {
  int turn = 0;
  const auto run_rows = [&](auto what) {
    constexpr keep kept = detail::kept<Config, Width, Program>();
    if constexpr (kept != keep::nothing) {
      using scope_type =
          std::conditional_t<(Config::blocks > 1),
                             cluster_scope<Where, Config::threads * Config::blocks, Config::blocks>,
                             block_scope<Where, Config::block>>;
      using row = row_of<Program, Where, Config::threads * Config::blocks, Width, Config::items, what.value,
                         Config::blocks, kept>;
      using beside = typename Program::template beside<Width>;
      row one(program, program.at(block), length, scope_type{}, shared, turn);
      unsigned char* const stage = row::host ? memory : memory + row::template beside_bytes<beside>;
      if constexpr (kept == keep::next_row) one.send(true, one.lines, stage);
      auto with = one.template keep_beside<beside>(Program::loads(one.lines), memory);
      if constexpr (Config::blocks > 1 && std::is_same_v<Where, on_device>) wait_for_cluster();
      if constexpr (kept == keep::next_row) one.template take<1>(stage);
      KILN_NO_UNROLL
      for (index_t r = block;;) {
        r += blocks;
        if constexpr (kept == keep::next_row) one.send(r < count, program.at(r), stage);
        // From here on this block only computes and stores, and the next kernel's may come as blocks end: RMSNorm of
        // 32,768 columns took 0.98 of the time on an H200. With the next row in shared memory it took up to 1.02.
        if constexpr (kept == keep::beside && !row::host)
          if (r >= count) sm90::launch_dependents();
        program.run(one, with);
        if (r >= count) return;
        if constexpr (kept == keep::next_row)
          one.template take<0>(stage);
        else
          one.begin(program.at(r));
      }
    } else {
      const auto with = [&](auto threads, index_t r) {
        row_of<Program, Where, Config::threads * Config::blocks, Width, Config::items, what.value, Config::blocks> one(
            program, program.at(r), detail::length_of(program, r, length), threads, shared, turn);
        if constexpr (Config::blocks > 1 && std::is_same_v<Where, on_device>)
          if (r == block) wait_for_cluster();
        if constexpr (has_beside<Program>) {
          auto beside = one.template beside<typename Program::template beside<Width>>(Program::loads(one.lines));
          program.run(one, beside);
        } else {
          program.run(one);
        }
      };
      if constexpr (Config::blocks > 1) {
        for (index_t r = block; r < count; r += blocks)
          with(cluster_scope<Where, Config::threads * Config::blocks, Config::blocks>{}, r);
      } else if constexpr (Config::rows == 1) {
        for (index_t r = block; r < count; r += blocks) with(block_scope<Where, Config::block>{}, r);
      } else {
        block_scope<Where, Config::block>{}.template split<Config::threads>([&](auto threads) {
          for (index_t r = block * Config::rows + threads.number(); r < count; r += blocks * Config::rows)
            with(threads, r);
        });
      }
    }
  };
  if constexpr (!Config::whole || Config::items == 0)
    run_rows(std::integral_constant<fit, (Config::whole ? fit::whole : fit::any)>{});
  else if (length == Config::capacity(Width) && detail::one_length(program))
    run_rows(std::integral_constant<fit, fit::full>{});
  else
    run_rows(std::integral_constant<fit, fit::whole>{});
}

namespace detail {
template <class Program>
bool all_contiguous(const Program& p) {
  bool yes = true;
  p.each_operand([&](const auto& o) { yes = yes && o.step == 1; });
  return yes;
}
template <class Program>
bool all_vectors(const Program& p, index_t length, int width) {
  if constexpr (knows_whole<Program>) {
    if (!p.whole(width)) return false;
  } else if constexpr (!has_own_lengths<Program>) {
    if (length == 0 || length % width != 0) return false;
  }
  bool yes = true;
  p.each_operand([&](const auto& o) { yes = yes && o.vectors(width); });
  return yes;
}
}  // namespace detail

#if defined(__CUDACC__)
namespace detail {
inline namespace KILN_ABI {
/// Whether some code of this build is for GPUs with clusters, and some for those without.
template <class...>
inline constexpr bool builds_clusters = architectures(900) > 0;
template <class...>
inline constexpr bool builds_without_clusters = architectures(0, 900) > 0 || architectures() == 0;
}  // inline namespace KILN_ABI
}  // namespace detail

inline namespace KILN_ABI {

template <class Config, int Width, class Program>
__global__ void __launch_bounds__(Config::block, detail::resident_blocks<Config, Width, Program>())
    row_kernel(const __grid_constant__ Program program, index_t count, index_t length) {
#if __CUDA_ARCH__ < 900
  if constexpr (Config::blocks > 1) return;  // there are no clusters, and nobody launches them
#endif
  __shared__ detail::storage_of<on_device, Config> shared;
  if constexpr (Config::blocks > 1) begin_exchanges(shared);
  sm90::begin_in_turn();
  unsigned char* memory = nullptr;
  if constexpr (detail::kept<Config, Width, Program>() != keep::nothing) {
    extern __shared__ __align__(16) unsigned char kiln_shared_memory[];
    memory = kiln_shared_memory;
  }
  run_block<on_device, Config, Width>(program, count, length, static_cast<index_t>(blockIdx.x) / Config::blocks,
                                      static_cast<index_t>(gridDim.x) / Config::blocks, shared, memory);
}

}  // namespace KILN_ABI
#endif

/// One configuration, pinned. `most_blocks` (0: chosen) limits the grid, to no less than a cluster.
template <class Config, int Width, class Program>
status run_pinned(const host_executor&, const char*, const Program& program, index_t count, index_t length,
                  index_t most_blocks = 0) {
  detail::storage_of<on_host, Config> shared;
  const index_t all = ceil_div<index_t>(count, Config::rows),
                blocks = most_blocks == 0 ? all : min_of(all, max_of<index_t>(most_blocks / Config::blocks, 1));
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
  constexpr keep kept = detail::kept<Config, Width, Program>();
  if (most_blocks == 0) {
    const index_t processors = device_attribute(cudaDevAttrMultiProcessorCount, 128);
    most_blocks = processors * (threads_of_sm / Config::block) * waves;
    // Two rows a block read what lies beside them once instead of twice. With four each the last blocks of 8,192 rows
    // of 4,096 were alone for longer than that saved. With the next row on its way, resident blocks take all rows.
    const index_t resident = processors * detail::resident_blocks<Config, Width, Program>();
    if (kept == keep::beside && count * Config::blocks >= resident * 4) most_blocks = count * Config::blocks / 2;
    if constexpr (kept == keep::next_row)
      most_blocks = Config::blocks *
                    resident_clusters(row_kernel<Config, Width, Program>, Config::blocks, Config::block,
                                      detail::bytes_kept<Config, Width, Program, Config::keep>(),
                                      static_cast<int>(resident / Config::blocks));
  }
  const index_t workers =
      min_of<index_t>(ceil_div<index_t>(count, Config::rows), max_of<index_t>(most_blocks / Config::blocks, 1));
  constexpr int kept_bytes = detail::bytes_kept<Config, Width, Program, kept>();
  return launch(ex, name, row_kernel<Config, Width, Program>,
                {.grid = {workers * Config::blocks, 1, 1},
                 .block = Config::block,
                 .shared_bytes = kept_bytes,
                 .cluster = Config::blocks,
                 .overlaps_previous = true,
                 .granted = kept == keep::next_row},
                program, count, length);
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
    using chosen =
        std::conditional_t<(Width > 1 && (detail::knows_whole<Program> || !detail::has_own_lengths<Program>)),
                           whole_chunks<Config>, Config>;
    return watch.done(run_pinned<chosen, Width>(ex, record.program, program, count, length));
  };
  constexpr std::integral_constant<int, width> chunks{};
  constexpr std::integral_constant<int, 1> single{};
  if (!detail::all_vectors(program, length, width)) {
    if (length <= few_threads_single::capacity(1))
      return with(few_threads_single{}, single, "rows, 8 threads each, unaligned");
    return with(endless_single{}, single, "rows, a block each, unaligned, read again");
  }
  const auto holds = [=]<class Config>(Config) { return length <= Config::capacity(width); };
  if (holds(few_threads{})) return with(few_threads{}, chunks, "rows, 8 threads each, held");
  if (holds(one_warp{})) return with(one_warp{}, chunks, "rows, a warp each, held");
  constexpr bool eight = detail::holds_eight<Program>(), much = detail::much_beside<Program>;
  constexpr int items = eight ? 8 : 4;
  using eight_blocks = blocks_of<128, 1, 8>;
  const auto has_clusters = [] {
    if constexpr (detail::builds_clusters<Program>)
      return runs_hopper_code(row_kernel<whole_chunks<eight_blocks>, width, Program>);
    else
      return false;
  };
  // Few rows wait for their latencies one after another: more threads have fewer chunks each, and what lies beside them
  // comes with them.
  if (count <= 128) {
    if (holds(blocks_of<256, 2>{})) return with(blocks_of<256, 2>{}, chunks, "rows, a block each, held");
    if constexpr (detail::builds_clusters<Program>)
      if (holds(eight_blocks{}) && has_clusters()) return with(eight_blocks{}, chunks, "rows, a cluster each, held");
  }
  constexpr keep beside = much ? keep::beside : keep::nothing;
  if (holds(blocks_of<64, 4>{})) return with(blocks_of<64, 4, 1, beside>{}, chunks, "rows, two warps each, held");
  if (holds(blocks_of<128, 4>{})) return with(blocks_of<128, 4, 1, beside>{}, chunks, "rows, a block each, held");
  using large = std::conditional_t<eight && !much, blocks_of<128, 8>, blocks_of<256, 4, 1, beside>>;
  if (holds(large{})) return with(large{}, chunks, "rows, a block each, held");
  if constexpr (detail::holds_long_rows<Program>()) {
    constexpr bool fewer_threads = eight || detail::two_wide_rows<Program>;
    using largest = std::conditional_t<fewer_threads, blocks_of<256, 8>, blocks_of<512, 4>>;
    if constexpr (detail::builds_clusters<Program>) {
      if (has_clusters()) {
        constexpr int scale = eight ? 1 : 2;
        // What lies beside rows this long does not stay in the first-level cache, where blocks of several ranks meet:
        // read anew for each row it took as much of the second level's rate as the rows. With the next row on its way
        // two blocks do what three did; where three fit with all they keep, they do better without.
        constexpr auto keeps = []<class Config>(Config) {
          return detail::kept<whole_chunks<Config>, width, Program>() != keep::nothing;
        };
        constexpr keep kept = !eight ? keep::nothing : much ? keep::next_row : keep::beside;
        using two = blocks_of<256, 4, 2, keep::beside>;
        using first =
            std::conditional_t<eight && keeps(two{}), two,
                               std::conditional_t<much && eight, blocks_of<128, 8, 2>, largest>>;
        if (holds(first{})) return with(first{}, chunks, "rows, a block or two each, held");
        using second = blocks_of<256, items, 2 * scale, kept>;
        if (holds(second{})) return with(second{}, chunks, "rows, a cluster each, held");
        using third = blocks_of<256, items, 4 * scale, kept>;
        if (holds(third{})) return with(third{}, chunks, "rows, a cluster each, held");
        if constexpr (eight) {
          using fourth = blocks_of<256, 8, 8, kept>;
          if (holds(fourth{})) return with(fourth{}, chunks, "rows, a cluster each, held");
        }
        // 131,072 elements of 4 bytes. A row that fills half of what is held took a quarter longer.
        if constexpr (!eight || (!much && sizeof(typename Program::lead) == 4)) {
          using fewer = blocks_of<256, 8, 8, keep::next_row>;
          using fifth = std::conditional_t<!eight && keeps(fewer{}), fewer, blocks_of<512, items, 8>>;
          if (holds(fifth{})) return with(fifth{}, chunks, "rows, a cluster each, held");
        }
      }
    }
    if constexpr (detail::builds_without_clusters<Program>) {
      if (holds(largest{})) return with(largest{}, chunks, "rows, a block each, held");
      // 512 threads: 1,024 would have 64 registers each, too few for 64 bytes of a row and what lies beside it.
      if constexpr (eight || !much) {
        if (holds(wide_block{})) return with(wide_block{}, chunks, "rows, a wide block each, held");
      }
    }
  }
  return with(endless_block{}, chunks, "rows, a block each, read again");
}
}  // namespace KILN_ABI
#endif

}  // namespace kiln::rows
