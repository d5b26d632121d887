#pragma once
/// The GEMM tile program for block-wide schedules: what a tile loads, multiplies and finishes; not when.
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/config.hpp>
#include <kiln/kernel/gemm/finish.hpp>
#include <kiln/kernel/gemm/simt_math.hpp>
#include <kiln/kernel/gemm/sm80_math.hpp>
#include <kiln/tile/box_copies.hpp>
#include <kiln/tile/load.hpp>

namespace kiln {

template <class Arguments, class Config>
struct gemm_program {
  using a_type = typename Arguments::a_type;
  using b_type = typename Arguments::b_type;
  using accumulator = typename Arguments::accumulator;
  using block_tile = typename Config::block_tile;
  static constexpr int tile_m = block_tile::m, tile_n = block_tile::n, tile_k = block_tile::k;
  static constexpr int warp_m = Config::warp::m, warp_n = Config::warp::n;
  static constexpr int warps_m = tile_m / warp_m, warps_n = tile_n / warp_n, warps = warps_m * warps_n;
  static constexpr int threads = 32 * warps;
  static constexpr int products = Arguments::products;

  using math =
      std::conditional_t<std::is_same_v<typename Config::instruction_set, instructions::simt>,
                         simt_math<Arguments, warp_m, warp_n, tile_k>, sm80_math<Arguments, warp_m, warp_n, tile_k>>;
  static_assert(threads <= 1024, "config: the block tile holds more than 32 warp tiles");
  static_assert(tile_k % math::k_multiple == 0,
                "config: K of the tile is not a multiple of what the instructions take");
  using finish_part = staged_finish<Arguments, math, warp_m, warp_n>;

  // A tile's rows run along the operand's memory where the instructions can read it so; elsewhere they are K-major.
  template <class T, int MN, bool KMajor>
  using operand_tile = std::conditional_t<KMajor, shared_tile<T, MN, tile_k, swizzle_for<T>(tile_k)>,
                                          shared_tile<T, tile_k, MN, swizzle_for<T>(MN)>>;

  struct slot {
    operand_tile<a_type, tile_m, math::a_k_major> a;
    operand_tile<b_type, tile_n, math::b_k_major> b[products];
  };
  struct scratch {
    typename finish_part::scratch of_warp[warps];
  };
  using parameters = Arguments;
  /// Both operands run along their tiles' rows, so that boxes of them may travel as vectors.
  static constexpr bool as_vectors = Arguments::a_major == (math::a_k_major ? major::k : major::mn) &&
                                     Arguments::b_major == (math::b_k_major ? major::k : major::mn);
  struct no_copies {};
  template <class Block, class T, int MN, bool KMajor>
  using copies_of = typename std::conditional_t<
      as_vectors, std::type_identity<box_copies<Block, operand_tile<T, MN, KMajor>, KMajor ? 1 : 0>>,
      std::type_identity<no_copies>>::type;
  /// A slot is loaded in so many parts, each beside a step of the products before it.
  static constexpr int parts = math::parts;

  template <class Block>
  struct state {
    fragments<accumulator, math::registers, Block> acc[products];
    typename math::template operands<Block> held;
    copies_of<Block, a_type, tile_m, math::a_k_major> a;
    copies_of<Block, b_type, tile_n, math::b_k_major> b[products];
    int in_parts;  ///< steps whose slots are loaded in parts
  };

  KILN_FN static int steps(const parameters& p) { return static_cast<int>(ceil_div<index_t>(p.k, tile_k)); }

  template <class Block>
  KILN_FN static void begin(Block block, const parameters& p, tile_index t, state<Block>& s) {
    block.each([&](int thread) {
      KILN_UNROLL
      for (int q = 0; q < products; ++q) {
        KILN_UNROLL
        for (int i = 0; i < math::registers; ++i) s.acc[q].of(thread)[i] = 0;
      }
    });
    s.in_parts = 0;
    if constexpr (as_vectors) {
      if (!p.a_vectors || !p.b_vectors) return;
      s.in_parts = min_of(s.a.boxes(a_lines(p, t), first_row(t)), s.b[0].boxes(b_lines(p, t, 0), first_col(t)));
      if (s.in_parts == 0) return;
      s.a.begin(block, a_lines(p, t), first_row(t));
      KILN_UNROLL
      for (int q = 0; q < products; ++q) s.b[q].begin(block, b_lines(p, t, q), first_col(t));
    }
  }

  /// Loads a slot, unless it is loaded in parts.
  template <class Block>
  KILN_FN static void load(Block block, const parameters& p, tile_index t, int step, slot& s, const state<Block>& st) {
    if (step < st.in_parts) return;
    const index_t k = static_cast<index_t>(step) * tile_k;
    const index_t row = first_row(t), col = first_col(t);
    load_tile(block, s.a, a_lines(p, t), math::a_k_major ? row : k, math::a_k_major ? k : row, p.a_vectors);
    KILN_UNROLL
    for (int q = 0; q < products; ++q)
      load_tile(block, s.b[q], b_lines(p, t, q), math::b_k_major ? col : k, math::b_k_major ? k : col, p.b_vectors);
  }
  /// Starts the copies of part `part`, those of the threads of `where`.
  template <class Where, class State>
  KILN_FN static void load_part(Where where, const parameters& p, tile_index t, int step, slot& s, const State& st,
                                int part) {
    if constexpr (as_vectors) {
      if (step >= st.in_parts) return;
      st.a.template copy<parts>(where, s.a, a_lines(p, t), step, part);
      KILN_UNROLL
      for (int q = 0; q < products; ++q) st.b[q].template copy<parts>(where, s.b[q], b_lines(p, t, q), step, part);
    }
  }

  /// Operands of the first products of a slot, into registers.
  template <class Block>
  KILN_FN static void fetch(Block block, const parameters& p, tile_index t, const slot& s, state<Block>& st) {
    each_warp(block, p, t, [&](auto warp, int row, int col, coord inside) {
      math::begin(warp, s.a, s.b, row, col, inside, st.held);
    });
  }
  /// All products of a slot but the last ones, whose operands are in registers afterwards: the slot is free when all
  /// warps are here. Calls `beside(warp, part)` for parts 1 and on.
  template <class Block, class Beside>
  KILN_FN static void compute(Block block, const parameters& p, tile_index t, int step, const slot& s,
                              state<Block>& st, Beside&& beside) {
    each_warp(block, p, t, [&](auto warp, int row, int col, coord inside) {
      math::most(warp, s.a, s.b, row, col, inside, p.k - static_cast<index_t>(step) * tile_k, st.held,
                 sums_of(warp, st), [&](int part) { beside(warp, part); });
    });
  }
  template <class Block>
  KILN_FN static void compute_last(Block block, const parameters& p, tile_index t, state<Block>& st) {
    each_warp(block, p, t,
              [&](auto warp, int, int, coord inside) { math::last(warp, st.held, inside, sums_of(warp, st)); });
  }

  template <class Block>
  KILN_FN static void finish(Block block, const parameters& p, tile_index t, state<Block>& st, scratch& memory) {
    block.template split<32>([&](auto warp) {
      const int number = warp.number() & 31, wm = number / warps_n,
                wn = number % warps_n;  // not negative: no signs to extend
      const coord first{static_cast<index_t>(t.row) * tile_m + wm * warp_m,
                        static_cast<index_t>(t.col) * tile_n + wn * warp_n};
      finish_part::run(
          warp, p, t.batch, first, static_cast<index_t>(t.col) * warps_n + wn,
          static_cast<index_t>(t.row) * warps_m + wm,
          [&](int lane, int q) -> const accumulator* { return st.acc[q].of(warp.first + lane); },
          memory.of_warp[warp.number()]);
    });
  }

 private:
  KILN_FN static index_t first_row(tile_index t) { return static_cast<index_t>(t.row) * tile_m; }
  KILN_FN static index_t first_col(tile_index t) { return static_cast<index_t>(t.col) * tile_n; }
  /// The operands as matrices of which a tile's rows are lines.
  KILN_FN static auto a_lines(const parameters& p, tile_index t) {
    if constexpr (math::a_k_major) return pick<0>(p.a, t.batch);
    else return transposed(pick<0>(p.a, t.batch));
  }
  KILN_FN static auto b_lines(const parameters& p, tile_index t, int q) {
    if constexpr (math::b_k_major) return transposed(pick<0>(p.b[q], t.batch));
    else return pick<0>(p.b[q], t.batch);
  }
  /// Calls `f(warp, row, col, inside)` with the place of each warp's tile in the block's, and what of it is in D.
  template <class Block, class F>
  KILN_FN static void each_warp(Block block, const parameters& p, tile_index t, F&& f) {
    block.template split<32>([&](auto warp) {
      const int row = warp.number() / warps_n * warp_m, col = warp.number() % warps_n * warp_n;
      const coord inside{p.m - first_row(t) - row, p.n - first_col(t) - col};
      f(warp, row, col, inside);
    });
  }
  template <class Warp, class State>
  KILN_FN static auto sums_of(Warp warp, State& st) {
    return [&st, warp](int lane, int q) -> accumulator* { return st.acc[q].of(warp.first + lane); };
  }
};

}  // namespace kiln
