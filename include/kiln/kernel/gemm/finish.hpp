#pragma once
/// From a warp's accumulators to the sinks, chunk by chunk through the warp's staging memory: there each lane gets
/// eight neighbours of one row, so that the epilogue's loads and stores are vectors and a row's reduction stays among
/// few lanes.
#include <kiln/epilogue/sinks.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/staging.hpp>

namespace kiln {

/// A partial result of a reduction sink: of part `part`, batch and row or column i of D.
template <class P>
KILN_FN P& partial_at(void* partials, index_t part, index_t batch, index_t batches, index_t extent, index_t i) {
  return static_cast<P*>(partials)[(part * batches + batch) * extent + i];
}

/// `Math` says how a warp tile of WM x WN lies in registers. `First` is the place of the warp tile in D.
template <class Arguments, class Math, int WM, int WN>
struct staged_finish {
  using accumulator = typename Arguments::accumulator;
  static constexpr int products = Arguments::products;
  static constexpr int vectors_of_row = WN / 8;
  static constexpr int vectors = Math::chunk_rows * vectors_of_row;  // of eight, in a chunk
  static constexpr int per_lane = (vectors + 31) / 32;
  static_assert(vectors_of_row <= 32 && (vectors_of_row & (vectors_of_row - 1)) == 0,
                "config: the warp tile's columns are 8 times a power of two, at most 256");

  struct scratch {
    staging<accumulator, Math::chunk_rows, WN> part[products];
  };

  /// `sums(lane, product)` gives the lane's registers. `row_part` and `col_part` number this warp among those that
  /// share D's rows and columns.
  template <class Warp, class Acc>
  KILN_FN static void run(Warp warp, const Arguments& p, index_t batch, coord first, index_t row_part, index_t col_part,
                          Acc&& sums, scratch& memory) {
    const bool whole_rows = p.n - first.col >= WN;
    KILN_UNROLL
    for (int chunk = 0; chunk < Math::chunks; ++chunk) {
      warp.each([&](int thread) {
        const int lane = lane_of(thread);
        KILN_UNROLL
        for (int q = 0; q < products; ++q) {
          const accumulator* c = sums(lane, q) + chunk * Math::chunk_registers;
          KILN_UNROLL
          for (int r = 0; r < Math::chunk_registers; ++r) {
            const coord at = Math::position(lane, r);
            memory.part[q].put(warp, lane, static_cast<int>(at.row), static_cast<int>(at.col), c[r]);
          }
        }
      });
      sync(warp);
      p.sinks.each([&](const auto& sink, auto number) {
        using sink_type = std::remove_cvref_t<decltype(sink)>;
        if constexpr (sink_type::reduces) {
          reduce(warp, p, sink, p.partials[decltype(number)::value], batch, first, chunk, row_part, col_part, memory);
          sync(warp);  // a later sink may overwrite what other lanes of the reduction still read
        } else {
          const bool vectors_only = whole_rows && (p.vector_sinks >> decltype(number)::value & 1u);
          warp.each([&](int thread) {
            const int lane = lane_of(thread);
            KILN_UNROLL
            for (int i = 0; i < per_lane; ++i) {
              place at;
              accumulators<accumulator, products, 8> x;
              if (!read(warp, lane, i, p, batch, first, chunk, memory, at, x)) continue;
              if (vectors_only) {
                at.count = 8, at.vectors = true;  // known when compiled: no tests of addresses
                sink.put(x, at);
              } else {
                sink.put(x, at);
              }
            }
          });
        }
      });
      sync(warp);
    }
  }

 private:
  /// The lane, known to be one of 32: there are no signs to extend.
  KILN_FN static int lane_of(int thread) { return thread & 31; }

  /// The lane's `i`-th vector of the chunk, or false where it is outside D.
  template <class Warp>
  KILN_FN static bool read(Warp warp, int lane, int i, const Arguments& p, index_t batch, coord first, int chunk,
                           const scratch& memory, place& at, accumulators<accumulator, products, 8>& x) {
    // Lanes take whole rows, so that a vector's row is the first one's and a constant.
    const int row = lane / vectors_of_row + i * (32 / vectors_of_row), col = lane % vectors_of_row * 8;
    at.batch = batch, at.row = first.row + (chunk * Math::chunk_rows + row), at.col = first.col + col;
    const index_t left = p.n - at.col;
    if ((vectors % 32 != 0 && row >= Math::chunk_rows) || at.row >= p.m || left <= 0) return false;
    at.count = left < 8 ? static_cast<int>(left) : 8;
    KILN_UNROLL
    for (int q = 0; q < products; ++q) x.v[q] = memory.part[q].get(warp, lane, row, col);
    return true;
  }

  template <class Warp, class Sink>
  KILN_FN static void reduce(Warp warp, const Arguments& p, const Sink& sink, void* partials, index_t batch,
                             coord first, int chunk, index_t row_part, index_t col_part, const scratch& memory) {
    using value = typename Sink::template partial<accumulator>;
    const auto combine = [](value x, value y) { return Sink::combine(x, y); };
    if constexpr (Sink::over ==
                  reduced_axis::columns) {  // one result per row: fold a vector, then the lanes of the row
      fragments<value, per_lane, Warp> sums;
      warp.each([&](int thread) {
        const int lane = lane_of(thread);
        KILN_UNROLL
        for (int i = 0; i < per_lane; ++i) {
          place at;
          accumulators<accumulator, products, 8> x;
          const bool inside = read(warp, lane, i, p, batch, first, chunk, memory, at, x);
          sums.of(lane)[i] = inside ? sink.fold(x, at) : Sink::template identity<value>();
        }
      });
      group_reduce<vectors_of_row>(warp, sums, combine);
      warp.each([&](int thread) {
        const int lane = lane_of(thread);
        if (lane % vectors_of_row != 0) return;
        KILN_UNROLL
        for (int i = 0; i < per_lane; ++i) {
          const int v = lane + 32 * i;
          const index_t r = first.row + chunk * Math::chunk_rows + v / vectors_of_row;
          if (v < vectors && r < p.m) partial_at<value>(partials, row_part, batch, p.batch, p.m, r) = sums.of(lane)[i];
        }
      });
    } else {  // one result per column: fold the chunk's rows, one column a lane
      warp.each([&](int thread) {
        const int lane = lane_of(thread);
        for (int c = lane; c < vectors_of_row; c += 32) {
          vec<value, 8> sum;
          KILN_UNROLL
          for (int j = 0; j < 8; ++j) sum[j] = Sink::template identity<value>();
          const index_t col = first.col + 8 * c;
          for (int r = 0; r < Math::chunk_rows; ++r) {
            place at{batch, first.row + chunk * Math::chunk_rows + r, col,
                     p.n - col < 8 ? static_cast<int>(p.n - col) : 8};
            if (at.row >= p.m || at.count <= 0) break;
            accumulators<accumulator, products, 8> x;
            for (int q = 0; q < products; ++q) x.v[q] = memory.part[q].get(warp, lane, r, 8 * c);
            const vec<value, 8> e = sink.values(x, at);
            KILN_UNROLL
            for (int j = 0; j < 8; ++j)
              if (j < at.count) sum[j] = combine(sum[j], e[j]);
          }
          KILN_UNROLL
          for (int j = 0; j < 8; ++j) {
            if (col + j >= p.n) break;
            partial_at<value>(partials, col_part * Math::chunks + chunk, batch, p.batch, p.n, col + j) = sum[j];
          }
        }
      });
    }
  }
};

}  // namespace kiln
