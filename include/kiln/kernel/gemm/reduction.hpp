#pragma once
/// Reductions across tiles: every warp writes its partial results to the workspace, and one pass folds them in fixed
/// order, so two runs give the same bits. No atomics.
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/kernel/gemm/finish.hpp>
#include <kiln/kernel/launch.hpp>

namespace kiln {
namespace detail {

/// Partial results of one element: of a column reduction one for each group of rows, of a row reduction for each of
/// columns.
struct part_counts {
  index_t of_rows, of_columns;  ///< groups that D's rows, and its columns, are cut into
};

/// What one reduction sink keeps in the workspace.
template <class Sink, class Arguments>
struct partials_of {
  static constexpr bool over_columns = Sink::over == reduced_axis::columns;
  using value = typename Sink::template partial<typename Arguments::accumulator>;
  static constexpr index_t parts(const part_counts& c) { return over_columns ? c.of_columns : c.of_rows; }
  static constexpr index_t extent(const Arguments& p) { return over_columns ? p.m : p.n; }
  static constexpr std::size_t bytes(const Arguments& p, const part_counts& c) {
    return round_up<std::size_t>(static_cast<std::size_t>(parts(c) * p.batch * extent(p)) * sizeof(value), 256);
  }
};

template <class Arguments>
std::size_t partial_bytes(const Arguments& p, const part_counts& parts) {
  std::size_t bytes = 0;
  p.sinks.each([&](const auto& sink, auto) {
    using sink_type = std::remove_cvref_t<decltype(sink)>;
    if constexpr (sink_type::reduces) bytes += partials_of<sink_type, Arguments>::bytes(p, parts);
  });
  return bytes;
}

/// Gives each reduction sink its part of the `partial_bytes` at `next`.
template <class Arguments>
void place_partials(Arguments& p, const part_counts& parts, unsigned char* next) {
  p.sinks.each([&](const auto& sink, auto number) {
    using sink_type = std::remove_cvref_t<decltype(sink)>;
    if constexpr (sink_type::reduces) {
      p.partials[decltype(number)::value] = next;
      next += partials_of<sink_type, Arguments>::bytes(p, parts);
    }
  });
}

/// Scratch memory of one run: the executor's. The host takes memory for itself where its caller gave too little.
struct run_scratch {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;

  run_scratch() = default;
  run_scratch(const run_scratch&) = delete;
  run_scratch& operator=(const run_scratch&) = delete;
  ~run_scratch() { delete[] own_; }

  /// The run makes use of `wanted` bytes, and cannot do without `least`.
  template <class Executor>
  status take(const Executor& ex, const char* program, std::size_t wanted, std::size_t least) {
    if (ex.scratch.data != nullptr) data = static_cast<unsigned char*>(ex.scratch.data), bytes = ex.scratch.bytes;
    if constexpr (Executor::on_host)
      if (bytes < wanted) {
        const std::size_t count = ceil_div(wanted, sizeof(std::max_align_t));
        own_ = new std::max_align_t[count]();
        data = reinterpret_cast<unsigned char*>(own_), bytes = count * sizeof(std::max_align_t);
      }
    if (bytes < least)
      return fail(errc::workspace_too_small, program, ": the executor's workspace has ", bytes, " bytes, needs ", least,
                  " (plan.workspace_size(); pass device(stream, workspace{p, bytes}))");
    if (wanted > 0 && reinterpret_cast<std::uintptr_t>(data) % 16 != 0)
      return fail(errc::bad_alignment, program, ": the executor's workspace is at an address that is ",
                  reinterpret_cast<std::uintptr_t>(data) % 16, " bytes past a multiple of 16, needs 0");
    return {};
  }

 private:
  std::max_align_t* own_ = nullptr;
};

/// Result number i of batch `batch`: its parts in order.
template <class Value, class Sink>
KILN_FN void fold_one(const Sink& sink, void* partials, index_t parts, index_t batches, index_t extent, index_t batch,
                      index_t i) {
  Value sum = Sink::template identity<Value>();
  for (index_t part = 0; part < parts; ++part)
    sum = Sink::combine(sum, partial_at<const Value>(partials, part, batch, batches, extent, i));
  sink.write(batch, i, sum);
}

}  // namespace detail

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Value, class Sink>
__global__ void __launch_bounds__(128)
    fold_kernel(const Sink sink, void* partials, index_t parts, index_t batches, index_t extent) {
  sm90::begin_in_turn();
  const index_t count = batches * extent;
  for (index_t i = static_cast<index_t>(blockIdx.x) * 128 + threadIdx.x; i < count;
       i += static_cast<index_t>(gridDim.x) * 128)
    detail::fold_one<Value>(sink, partials, parts, batches, extent, i / extent, i % extent);
}

}  // namespace KILN_ABI
#endif

namespace detail {

template <class Executor, class Arguments>
status fold_partials([[maybe_unused]] const Executor& ex, const Arguments& p, const part_counts& parts) {
  status s;
  p.sinks.each([&](const auto& sink, auto number) {
    using sink_type = std::remove_cvref_t<decltype(sink)>;
    if constexpr (sink_type::reduces) {
      if (!s.ok()) return;
      using mine = partials_of<sink_type, Arguments>;
      using value = typename mine::value;
      void* partials = p.partials[decltype(number)::value];
      const index_t extent = mine::extent(p), count = p.batch * extent;
      if constexpr (Executor::on_host) {
        for (index_t i = 0; i < count; ++i)
          fold_one<value>(sink, partials, mine::parts(parts), p.batch, extent, i / extent, i % extent);
      } else {
#if defined(__CUDACC__)
        s = launch(ex, "gemm: fold reductions", fold_kernel<value, sink_type>,
                   {.grid = {min_of<index_t>(ceil_div<index_t>(count, 128), 65536), 1, 1},
                    .block = 128,
                    .overlaps_previous = true},
                   sink, partials, mine::parts(parts), p.batch, extent);
#endif
      }
    }
  });
  return s;
}

/// Reductions of a D without elements: 0 for sums, the least number for maxima, for each row or column that there is.
template <class Executor, class Arguments>
status fold_nothing([[maybe_unused]] const Executor& ex, [[maybe_unused]] const Arguments& p) {
  if constexpr (Arguments::any_reduction) {
    trace::scope watch(ex, {.program = "gemm", .schedule = "reductions of nothing"});
    return watch.done(fold_partials(ex, p, {0, 0}));
  } else {
    return {};
  }
}

}  // namespace detail
}  // namespace kiln
