#pragma once
/// The program of all elementwise kernels: a tile is 256 threads, and each thread takes one item of work.
///
/// An item is a chunk of V neighbouring elements, or one single element in front of the first aligned chunk or behind
/// the last whole one. Items are numbered in 64 bits; a grid strides over the tiles.
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/core/types.hpp>
#include <kiln/kernel/elementwise/divisor.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/tile/watched.hpp>
#include <type_traits>

namespace kiln::elementwise {

inline constexpr int elementwise_threads = 256;
/// Beyond this many blocks each takes several tiles.
inline constexpr index_t most_blocks = index_t{1} << 22;

/// How `rows` runs of `inner` elements fall into items: in each run `head` single elements, `full` chunks, then the
/// rest.
class item_plan {
 public:
  item_plan() = default;
  /// `full` chunks of `chunk` elements behind `head` singles in each run.
  item_plan(index_t rows, index_t inner, int chunk, index_t head, index_t full)
      : chunks_(rows * full),
        items_(rows * (inner - full * (chunk - 1))),
        head_(head),
        full_elements_(full * chunk),
        full_(full),
        singles_(inner - full * chunk) {}

  KILN_FN index_t items() const { return items_; }

  /// Calls `body(integral_constant<int, elements>, row, position in the row)`. V is the plan's chunk.
  KILN_HOST_CALLS template <int V, class Body>
  KILN_FN void visit(index_t item, Body&& body) const {
    if (item < chunks_) {
      const index_t r = full_.of(item);
      body(std::integral_constant<int, V>{}, r, head_ + (item - r * full_.value()) * V);
    } else {
      const index_t i = item - chunks_, r = singles_.of(i), at = i - r * singles_.value();
      body(std::integral_constant<int, 1>{}, r, at < head_ ? at : at + full_elements_);
    }
  }

 private:
  index_t chunks_ = 0, items_ = 0, head_ = 0, full_elements_ = 0;
  divisor full_, singles_;
};

/// One tile: thread t takes item `tile * threads + t`, if there is one.
KILN_HOST_CALLS template <class Scope, class Work>
KILN_FN void element_tile(Scope threads, const Work& work, index_t tile) {
  threads.each([&](int t) {
    const index_t item = tile * Scope::threads + t;
    if (item < work.plan.items()) work.item(item);
  });
}

/// Calls `body(i)` for first, first + step, ... below `end`, counted in 64 bits.
KILN_HOST_CALLS template <class Body>
KILN_FN void stride_over(index_t first, index_t step, index_t end, Body&& body) {
  for (index_t i = first; i < end; i += step) body(i);
}

inline constexpr index_t tiles_of(index_t items) { return ceil_div(items, index_t{elementwise_threads}); }

inline namespace KILN_ABI {

#if defined(__CUDACC__)
template <class Work>
__global__ void __launch_bounds__(elementwise_threads)
    elementwise_kernel(const __grid_constant__ Work work, index_t tiles) {
  using block = block_scope<on_device, elementwise_threads>;
  sm90::begin_in_turn();
  stride_over(blockIdx.x, gridDim.x, tiles, [&](index_t tile) { element_tile(block{}, work, tile); });
}
#endif

/// Runs all items on the executor. `work` has `plan` and `item(number)`.
template <executor Executor, class Work>
status run_items(const Executor& ex, const trace::launch_record& what, const Work& work) {
  const index_t tiles = tiles_of(work.plan.items());
  if (tiles == 0) return {};
  trace::scope<Executor> watch(ex, what);
  if constexpr (Executor::on_host) {
    using block = block_scope<on_host, elementwise_threads>;
    stride_over(0, 1, tiles, [&](index_t tile) { element_tile(block{}, work, tile); });
    return watch.done({});
  } else {
#if defined(__CUDACC__)
    static_assert(sizeof(Work) <= 4000, "too many operands: the views and the functor need to fit into 4000 bytes");
    launch_shape shape;
    shape.grid[0] = min_of(tiles, most_blocks);
    shape.block = elementwise_threads;
    shape.overlaps_previous = true;
    return watch.done(launch(ex, what.program, &elementwise_kernel<Work>, shape, work, tiles));
#endif
  }
}

#if defined(__CUDACC__)
template <class Work>
__global__ void __launch_bounds__(elementwise_threads) tile_kernel(const __grid_constant__ Work work, index_t tiles) {
  __shared__ typename Work::shared memory;
  using block = block_scope<on_device, elementwise_threads>;
  sm90::begin_in_turn();
  stride_over(blockIdx.x, gridDim.x, tiles, [&](index_t tile) { work.tile(block{}, memory, tile); });
}
#endif

/// Runs `work.tile(scope, shared memory, number)` for all tiles: programs whose threads exchange elements.
template <executor Executor, class Work>
status run_tiles(const Executor& ex, const trace::launch_record& what, const Work& work, index_t tiles) {
  if (tiles == 0) return {};
  trace::scope<Executor> watch(ex, what);
  if constexpr (Executor::on_host) {
    using shared = typename Work::shared;
    return watch.done(each_block_on_host<shared, elementwise_threads>(ex, tiles, [&](shared& memory, index_t tile) {
      work.tile(block_scope<on_host, elementwise_threads>{}, memory, tile);
    }));
  } else {
#if defined(__CUDACC__)
    static_assert(sizeof(Work) <= 4000, "too many operands: the views and the functor need to fit into 4000 bytes");
    launch_shape shape;
    shape.grid[0] = min_of(tiles, most_blocks);
    shape.block = elementwise_threads;
    shape.overlaps_previous = true;
    return watch.done(launch(ex, what.program, &tile_kernel<Work>, shape, work, tiles));
#endif
  }
}

}  // namespace KILN_ABI
}  // namespace kiln::elementwise
