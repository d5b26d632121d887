#pragma once
/// The GEMM tile program for block-wide schedules: what a tile loads, multiplies and finishes; not when.
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/config.hpp>
#include <kiln/kernel/gemm/finish.hpp>
#include <kiln/kernel/gemm/simt_math.hpp>
#include <kiln/kernel/gemm/sm80_math.hpp>
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
  template <class Block>
  struct state {
    fragments<accumulator, math::registers, Block> acc[products];
    typename math::template operands<Block> held;
  };

  KILN_FN static int steps(const parameters& p) { return static_cast<int>(ceil_div<index_t>(p.k, tile_k)); }

  template <class Block>
  KILN_FN static void begin(Block block, state<Block>& s) {
    block.each([&](int thread) {
      KILN_UNROLL
      for (int q = 0; q < products; ++q) {
        KILN_UNROLL
        for (int i = 0; i < math::registers; ++i) s.acc[q].of(thread)[i] = 0;
      }
    });
  }

  template <class Block>
  KILN_FN static void load(Block block, const parameters& p, tile_index t, int step, slot& s) {
    const index_t k = static_cast<index_t>(step) * tile_k;
    const auto a = pick<0>(p.a, t.batch);
    if constexpr (math::a_k_major)
      load_tile(block, s.a, a, static_cast<index_t>(t.row) * tile_m, k, p.a_vectors);
    else
      load_tile(block, s.a, transposed(a), k, static_cast<index_t>(t.row) * tile_m, p.a_vectors);
    KILN_UNROLL
    for (int q = 0; q < products; ++q) {
      const auto b = pick<0>(p.b[q], t.batch);
      if constexpr (math::b_k_major)
        load_tile(block, s.b[q], transposed(b), static_cast<index_t>(t.col) * tile_n, k, p.b_vectors);
      else
        load_tile(block, s.b[q], b, k, static_cast<index_t>(t.col) * tile_n, p.b_vectors);
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
  /// warps are here.
  template <class Block>
  KILN_FN static void compute(Block block, const parameters& p, tile_index t, int step, const slot& s,
                              state<Block>& st) {
    each_warp(block, p, t, [&](auto warp, int row, int col, coord inside) {
      math::most(warp, s.a, s.b, row, col, inside, p.k - static_cast<index_t>(step) * tile_k, st.held,
                 sums_of(warp, st));
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
  /// Calls `f(warp, row, col, inside)` with the place of each warp's tile in the block's, and what of it is in D.
  template <class Block, class F>
  KILN_FN static void each_warp(Block block, const parameters& p, tile_index t, F&& f) {
    block.template split<32>([&](auto warp) {
      const int row = warp.number() / warps_n * warp_m, col = warp.number() % warps_n * warp_n;
      const coord inside{p.m - static_cast<index_t>(t.row) * tile_m - row,
                         p.n - static_cast<index_t>(t.col) * tile_n - col};
      f(warp, row, col, inside);
    });
  }
  template <class Warp, class State>
  KILN_FN static auto sums_of(Warp warp, State& st) {
    return [&st, warp](int lane, int q) -> accumulator* { return st.acc[q].of(warp.first + lane); };
  }
};

}  // namespace kiln
