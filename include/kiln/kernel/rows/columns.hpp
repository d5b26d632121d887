#pragma once
/// The program of reductions along columns.
///
/// A thread takes a chunk of neighbouring columns down every so many rows, several loads at a time. The threads of a
/// block that have the same columns join their results, and so do the blocks of a cluster, each of which has a part of
/// the rows: always in the same order. Where that leaves most of a GPU idle, for there are few columns, several such
/// clusters share the rows; each leaves a row of results in the workspace, and the same program joins those.
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/arch/sm90/remote.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/kernel/rows/blocks.hpp>
#include <kiln/kernel/rows/reduce.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln::rows {

/// Powers of two: chunks side by side in a block, blocks of a cluster, and clusters that share the rows.
struct column_shape {
  int log_across = 0, log_parts = 0, log_splits = 0;
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
    alignas(16) float joined[threads * Width / 2];
    alignas(16) float of_part[host ? 1 : 1 << log_parts][widest_part * Width];
  };

  operand<const X> x;
  line<Y> out;
  index_t rows, columns;
  column_shape shape;
  index_t elements = rows;   ///< of a column, for its mean
  float* partial = nullptr;  ///< [splits, columns]

  KILN_HOST_CALLS KILN_FN void run(index_t group, index_t split, [[maybe_unused]] int part, storage& shared) const {
    const block_type block;
    const watch_of watch(block);
    const int across = 1 << shape.log_across, wide = Width << shape.log_across;
    [[maybe_unused]] const int parts = 1 << shape.log_parts;
    block.each([&](int t) {
      const index_t c = ((group << shape.log_across) + (t & (across - 1))) * Width;
      const index_t part_of_all = (split << shape.log_parts) + part;
      const index_t first = (part_of_all << (log_threads - shape.log_across)) + (t >> shape.log_across);
      float* const mine = shared.partial + t * Width;
      KILN_UNROLL
      for (int i = 0; i < Width; ++i) mine[i] = op::identity;
      if (c < columns) gather(first, log_threads - shape.log_across + shape.log_parts + shape.log_splits, c, mine);
      watch.write(mine, Width * static_cast<int>(sizeof(float)), t);
    });
    if constexpr (!host)
      if (parts > 1) sm90::cluster_arrive(block);  // all have begun before one writes into another
    sync(block);
    float *results = shared.partial, *other = shared.joined;
    for (int left = threads >> shape.log_across; left > 1;) {
      const int each = left < 8 ? left : 8;
      left /= each;
      join(block, results, other, left * wide, each);
      float* const done = other;
      other = results, results = done;
    }
    if constexpr (!host) {
      if (parts > 1) {
        sm90::cluster_wait(block);
        block.each([&](int t) {
          if (t * 4 >= wide) return;
          const auto v = *reinterpret_cast<const vec<float, 4>*>(results + t * 4);
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
        float a = results[i];
        watch.read(results + i, sizeof(float), t);
        if constexpr (!host)
          if (parts > 1) {
            a = shared.of_part[0][i];
            for (int p = 1; p < parts; ++p) a = op{}(a, shared.of_part[p][i]);
          }
        if (partial != nullptr)
          partial[split * columns + c] = a;
        else
          out[c] = convert<Y>(op::finished(a, elements));
      }
    });
  }

 private:
  /// Row after row from `r`, 2^log_step apart; sums are closed after `most_in_turn` and joined to one of sums.
  KILN_FN void gather(index_t r, int log_step, index_t c, float* all) const {
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
        constexpr int few = 2;
        KILN_NO_UNROLL
        for (; left > 0; left -= few) {
          chunk<X, Width> v[few];
          KILN_UNROLL
          for (int k = 0; k < few; ++k, at += step)
            if (k < left) load(line<const X>{at, 1}, 0, Width, v[k]);
          KILN_UNROLL
          for (int k = 0; k < few; ++k)
            if (k < left) add(c, v[k], a);
        }
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

  /// to[i] = from[i], from[i + n], from[i + 2 n] ... joined, `each` of them.
  KILN_HOST_CALLS KILN_FN static void join(block_type block, const float* from, float* to, int n, int each) {
    const watch_of watch(block);
    block.each([&](int t) {
      KILN_NO_UNROLL
      for (int i = t; i < n; i += threads) {
        float a = from[i];
        KILN_UNROLL
        for (int e = 1; e < 8; ++e)
          if (e < each) a = op{}(a, from[i + e * n]);
        for (int e = 0; host && e < each; ++e) watch.read(from + i + e * n, sizeof(float), t);
        to[i] = a;
        watch.write(to + i, sizeof(float), t);
      }
    });
    sync(block);
  }
};

/// Blocks side by side have whole lines of memory, 128 bytes, where rows are long enough for that and for every thread
/// to have some; as many share the rows as there are multiprocessors for.
inline column_shape shape_of_columns(index_t rows, index_t chunks, int log_threads, index_t batch, int log_parts,
                                     index_t multiprocessors) {
  column_shape s;
  while (s.log_across < 3 && (index_t{1} << s.log_across) < chunks) ++s.log_across;
  while (s.log_across < log_threads && (index_t{1} << s.log_across) < chunks &&
         rows < batch << (log_threads - s.log_across))
    ++s.log_across;
  const index_t groups = ceil_div<index_t>(chunks, index_t{1} << s.log_across);
  const auto more = [&] {
    const int log_all = s.log_parts + s.log_splits;
    return s.log_across <= 5 && groups << (log_all + 1) <= multiprocessors &&
           rows >= batch << (log_threads - s.log_across + log_all);
  };
  while (s.log_parts < log_parts && more()) ++s.log_parts;
  while (more()) ++s.log_splits;
  return s;
}

template <class Program>
status launch_columns(const host_executor& ex, const trace::launch_record& record, const Program& program,
                      index_t groups) {
  trace::scope watch(ex, record);
  using storage = typename Program::storage;
  return watch.done(each_block_on_host<storage, Program::threads>(
      ex, groups, [&](storage& shared, index_t g) { program.run(g, 0, 0, shared); }));
}

template <int Width, reduction Op, class X, class Y>
status run_columns(const host_executor& ex, trace::launch_record record, const operand<const X>& x, const line<Y>& out,
                   index_t rows, index_t columns) {
  using program = column_reduce_program<on_host, Width, X, Y, Op>;
  record.schedule = "columns";
  constexpr column_shape shape{2, 0, 0};
  return launch_columns(ex, record, program{x, out, rows, columns, shape},
                        ceil_div<index_t>(columns, Width << shape.log_across));
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {

/// With more than the 64 registers that two blocks leave, the compiler issues all loads of a batch before the first
/// sum; 32768 rows of 1024 bf16 then took 1.3 times as long on an H200.
template <class Program>
__global__ void __launch_bounds__(Program::threads, 2) columns_kernel(const __grid_constant__ Program program) {
  __shared__ typename Program::storage shared;
  sm90::begin_in_turn();
  const int log_parts = program.shape.log_parts, log_splits = program.shape.log_splits;
  const index_t cluster = blockIdx.x >> log_parts;
  program.run(cluster >> log_splits, cluster & ((index_t{1} << log_splits) - 1),
              static_cast<int>(blockIdx.x & ((1u << log_parts) - 1)), shared);
}

template <class Program>
status launch_columns(const device& ex, const trace::launch_record& record, const Program& program, index_t groups) {
  trace::scope watch(ex, record);
  const column_shape& s = program.shape;
  return watch.done(launch(ex, record.program, columns_kernel<Program>,
                           {.grid = {groups << (s.log_parts + s.log_splits), 1, 1},
                            .block = Program::threads,
                            .cluster = 1 << s.log_parts,
                            .overlaps_previous = true},
                           program));
}

/// The shape for a matrix on the current GPU.
template <class Program>
column_shape shape_on_device(index_t rows, index_t chunks) {
  return shape_of_columns(rows, chunks, Program::log_threads, Program::batch,
                          runs_hopper_code(columns_kernel<Program>) ? Program::log_parts : 0,
                          device_attribute(cudaDevAttrMultiProcessorCount, 128));
}

template <int Width, reduction Op, class X, class Y>
status run_columns(const device& ex, trace::launch_record record, const operand<const X>& x, const line<Y>& out,
                   index_t rows, index_t columns) {
  using program = column_reduce_program<on_device, Width, X, Y, Op>;
  const index_t chunks = ceil_div<index_t>(columns, Width);
  program first{x, out, rows, columns, shape_on_device<program>(rows, chunks)};
  column_shape& shape = first.shape;
  const auto address = reinterpret_cast<std::uintptr_t>(ex.scratch.data);
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(columns << shape.log_splits);
  if (address == 0 || address % 256 != 0 || ex.scratch.bytes < bytes) shape.log_splits = 0;
  record.schedule = shape.log_splits > 0 ? "columns, parts" : shape.log_parts > 0 ? "columns, clusters" : "columns";
  const index_t groups = ceil_div<index_t>(chunks, index_t{1} << shape.log_across);
  if (shape.log_splits == 0) return launch_columns(ex, record, first, groups);

  first.elements = rows, first.partial = static_cast<float*>(ex.scratch.data);
  KILN_TRY(launch_columns(ex, record, first, groups));
  const index_t splits = index_t{1} << shape.log_splits;
  operand<const float> parts;
  parts.data = first.partial, parts.inner = columns, parts.inner_size = splits;
  using joining = column_reduce_program<on_device, 1, float, Y, Op>;
  const joining last{parts, out, splits, columns, {5, 0, 0}, rows};
  return launch_columns(ex, {.program = record.program, .schedule = "parts of columns", .bytes = 0}, last,
                        ceil_div<index_t>(columns, 32));
}

}  // namespace KILN_ABI
#endif

}  // namespace kiln::rows
