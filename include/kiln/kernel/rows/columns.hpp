#pragma once
/// The program of reductions along columns.
///
/// A thread takes a chunk of neighbouring columns down every so many rows, several loads at a time. The threads of a
/// block that have the same columns join their results, and so do the blocks of a cluster, each of which has a part of
/// the rows: always in the same order.
#include <kiln/arch/sm90/remote.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/kernel/hopper_code.hpp>
#include <kiln/kernel/rows/blocks.hpp>
#include <kiln/kernel/rows/reduce.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln::rows {

/// Powers of two: chunks side by side in a block, and blocks that share the rows.
struct column_shape {
  int log_across = 0, log_parts = 0;
};

template <class Where, int Width, class X, class Y, reduction Op>
struct column_reduce_program {
  using op = reducer<Op>;
  static constexpr bool host = std::is_same_v<Where, on_host>;
  static constexpr int log_threads = host ? 4 : 9, threads = 1 << log_threads, batch = 8;
  static constexpr int log_parts = 3, widest_part = 32;  ///< most parts, and most chunks side by side if there are any
  static constexpr int log_width = [] {
    int l = 0;
    while ((1 << l) < Width) ++l;
    return l;
  }();
  using block_type = block_scope<Where, threads>;
  struct storage {
    alignas(16) float partial[threads * Width];
    alignas(16) float of_part[host ? 1 : 1 << log_parts][widest_part * Width];
  };

  operand<const X> x;
  line<Y> out;
  index_t rows, columns;
  column_shape shape;

  KILN_HOST_CALLS KILN_FN void run(index_t group, [[maybe_unused]] int part, storage& shared) const {
    const block_type block;
    const int across = 1 << shape.log_across, wide = Width << shape.log_across;
    [[maybe_unused]] const int parts = 1 << shape.log_parts;
    if constexpr (!host)
      if (parts > 1) sm90::cluster_arrive(block);  // all have begun before one writes into another
    block.each([&](int t) {
      const index_t c = ((group << shape.log_across) + (t & (across - 1))) * Width;
      const index_t first = (static_cast<index_t>(part) << (log_threads - shape.log_across)) + (t >> shape.log_across);
      float a[Width];
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) a[i] = op::identity;
      if (c < columns) gather(first, log_threads - shape.log_across + shape.log_parts, c, a);
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) shared.partial[t * Width + i] = a[i];
    });
    sync(block);
    for (int left = threads >> shape.log_across; left > 1;) {
      const int each = left < 8 ? left : 8;
      left /= each;
      join(block, shared, left, each, wide);
    }
    if constexpr (!host) {
      if (parts > 1) {
        sm90::cluster_wait(block);
        block.each([&](int t) {
          if (t * 4 >= wide) return;
          const auto v = *reinterpret_cast<const vec<float, 4>*>(shared.partial + t * 4);
          sm90::store_at(block, t, reinterpret_cast<vec<float, 4>*>(shared.of_part[part] + t * 4), 0, v);
        });
        sm90::cluster_sync(block);
        if (part != 0) return;
      }
    }
    block.each([&](int t) {
      for (int i = t; i < wide; i += threads) {
        const index_t c = group * wide + i;
        if (c >= columns) return;
        float a = shared.partial[i];
        if constexpr (!host)
          if (parts > 1) {
            a = shared.of_part[0][i];
            for (int p = 1; p < parts; ++p) a = op{}(a, shared.of_part[p][i]);
          }
        out[c] = convert<Y>(op::finished(a, rows));
      }
    });
  }

 private:
  /// Row after row from `r`, 2^log_step apart; sums are closed after `most_in_turn` and joined to one of sums.
  KILN_FN void gather(index_t r, int log_step, index_t c, float (&all)[Width]) const {
    if (r >= rows) return;
    index_t n = ((rows - 1 - r) >> log_step) + 1;
    while (n > 0) {
      int left = static_cast<int>(min_of<index_t>(n, most_in_turn));
      n -= left;
      float a[Width];
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) a[i] = op::identity;
      if (rows <= x.inner_size) {
        const index_t step = x.inner << log_step;
        const X* at = x.data + r * x.inner + c * x.step;
        r += static_cast<index_t>(left) << log_step;
        KILN_NO_UNROLL
        for (; left >= batch; left -= batch) {
          chunk<X, Width> v[batch];
          KILN_UNROLL
          for (int k = 0; k < batch; ++k, at += step) load(line<const X>{at, 1}, 0, Width, v[k]);
          KILN_UNROLL
          for (int k = 0; k < batch; ++k) add(c, v[k], a);
        }
        KILN_NO_UNROLL
        for (; left > 0; --left, at += step) add_one({at, 1}, c, 0, a);
      } else {
        KILN_NO_UNROLL
        for (; left > 0; --left, r += index_t{1} << log_step) add_one(x.at(r), c, c, a);
      }
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) all[i] = op{}(all[i], a[i]);
    }
  }
  KILN_FN static void add_one(const line<const X>& l, index_t c, index_t at, float (&a)[Width]) {
    chunk<X, Width> v;
    load(l, at, Width, v);
    add(c, v, a);
  }
  KILN_FN static void add(index_t c, const chunk<X, Width>& v, float (&a)[Width]) {
    KILN_UNROLL
    for (int i = 0; i < Width; ++i) a[i] = op{}(a[i], static_cast<float>(v[i]), c);
  }

  /// `each` lines of `left` each: line i of partial becomes the sum of lines i, i + left, i + 2 left ...
  KILN_HOST_CALLS KILN_FN static void join(block_type block, storage& shared, int left, int each, int wide) {
    fragments<float, Width, block_type> kept;
    block.each([&](int t) {
      KILN_UNROLL
      for (int k = 0; k < Width; ++k) {
        const int i = t + k * threads;
        if (i >= left * wide) continue;
        float a = shared.partial[i];
        for (int e = 1; e < each; ++e) a = op{}(a, shared.partial[i + e * left * wide]);
        kept.of(t)[k] = a;
      }
    });
    sync(block);
    block.each([&](int t) {
      KILN_UNROLL
      for (int k = 0; k < Width; ++k) {
        const int i = t + k * threads;
        if (i < left * wide) shared.partial[i] = kept.of(t)[k];
      }
    });
    sync(block);
  }
};

/// Blocks side by side have whole lines of memory, 128 bytes, where rows are long enough for that and for every thread to
/// have some; as many share the rows as there are multiprocessors for.
inline column_shape shape_of_columns(index_t rows, index_t chunks, int log_threads, index_t batch, int log_parts,
                                     index_t multiprocessors) {
  column_shape s;
  while (s.log_across < 3 && (index_t{1} << s.log_across) < chunks) ++s.log_across;
  while (s.log_across < log_threads && (index_t{1} << s.log_across) < chunks &&
         rows <= (batch / 2) << (log_threads - s.log_across - 1))
    ++s.log_across;
  const index_t groups = ceil_div<index_t>(chunks, index_t{1} << s.log_across);
  while (s.log_parts < log_parts && s.log_across <= 5 && groups << (s.log_parts + 1) <= multiprocessors &&
         rows >= batch << (log_threads - s.log_across + s.log_parts))
    ++s.log_parts;
  return s;
}

template <class Program>
status launch_columns(const host_executor&, const char*, const Program& program, index_t groups) {
  typename Program::storage shared;
  for (index_t g = 0; g < groups; ++g) program.run(g, 0, shared);
  return {};
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Program>
__global__ void __launch_bounds__(Program::threads, 2) columns_kernel(const __grid_constant__ Program program) {
  __shared__ typename Program::storage shared;
  const int log_parts = program.shape.log_parts;
  program.run(static_cast<index_t>(blockIdx.x >> log_parts), static_cast<int>(blockIdx.x & ((1u << log_parts) - 1)),
              shared);
}

template <class Program>
status launch_columns(const device& ex, const char* name, const Program& program, index_t groups) {
  return launch(ex, name, columns_kernel<Program>,
                {.grid = {groups << program.shape.log_parts, 1, 1},
                 .block = Program::threads,
                 .cluster = 1 << program.shape.log_parts},
                program);
}

}  // namespace KILN_ABI
#endif

template <int Width, reduction Op, class Executor, class X, class Y>
status run_columns(const Executor& ex, trace::launch_record record, const operand<const X>& x, const line<Y>& out,
                   index_t rows, index_t columns) {
  using program = column_reduce_program<where_of<Executor>, Width, X, Y, Op>;
  const index_t chunks = ceil_div<index_t>(columns, Width);
  column_shape shape{2, 0};
  record.schedule = "columns";
#if defined(__CUDACC__)
  if constexpr (!Executor::on_host) {
    shape = shape_of_columns(rows, chunks, program::log_threads, program::batch,
                             runs_hopper_code() ? program::log_parts : 0,
                             device_attribute(cudaDevAttrMultiProcessorCount, 128));
    if (shape.log_parts > 0) record.schedule = "columns, clusters";
  }
#endif
  trace::scope watch(ex, record);
  return watch.done(launch_columns(ex, record.program, program{x, out, rows, columns, shape},
                                   ceil_div<index_t>(chunks, index_t{1} << shape.log_across)));
}

}  // namespace kiln::rows
