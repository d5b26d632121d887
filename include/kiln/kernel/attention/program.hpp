#pragma once
/// The attention tile program: what a tile of queries loads, computes and finishes; not when.
#include <kiln/kernel/attention/arguments.hpp>
#include <kiln/kernel/attention/config.hpp>
#include <kiln/kernel/attention/load.hpp>
#include <kiln/kernel/attention/simt_math.hpp>
#include <kiln/kernel/attention/sm80_math.hpp>

namespace kiln::attn {

template <class Arguments, class Config>
struct program {
  using value = typename Arguments::value_type;
  using math = std::conditional_t<Config::is_sm80, sm80_math<value, Config::keys, Config::dim>,
                                  simt_math<Config::keys, Config::dim>>;
  static constexpr int rows = Config::rows, keys = Config::keys;
  static constexpr int warp_rows = math::rows, warps = rows / warp_rows, threads = 32 * warps;
  static constexpr bool async = Config::slot_count > 1;
  static_assert(threads <= 1024, "attention_config: a block has at most 32 warps, of 16 (sm80) or 8 (simt) rows each");

  using parameters = Arguments;
  using tile = query_tile;
  template <int Rows>
  using lines =
      shared_tile<typename math::tile_value, Rows, Config::dim, swizzle_for<typename math::tile_value>(Config::dim)>;
  struct resident {
    lines<rows> q;
    typename math::scratch of_warp[warps];
  };
  struct slot {
    lines<keys> k, v;
  };
  template <class Block>
  using state = fragments<typename math::registers, 1, Block>;

  KILN_FN static int steps(const parameters&, const tile& t) { return ceil_div(t.visible, keys); }

  template <class Block>
  KILN_FN static void load_resident(Block block, const parameters& p, const tile& t, resident& r) {
    load_lines<async, math::reads_padding, value>(
        block, r.q, p.head_dim, p.q.strides[3], p.q_vectors, [&](int row) -> const value* {
          if (row >= t.rows) return nullptr;
          const index_t packed = t.first + row, query = packed / p.group, member = packed - query * p.group;
          return p.q.data + t.batch * p.q.strides[0] + query * p.q.strides[1] +
                 (t.kv_head * p.group + member) * p.q.strides[2];
        });
  }

  /// Keys that no row of the tile sees are not read: they count as zeros.
  template <class Block>
  KILN_FN static void load(Block block, const parameters& p, const tile& t, int step, slot& s) {
    const int first = step * keys;
    const auto some = [&](auto& to, const auto& from, int cols, bool vectors) {
      const value* head = from.data + t.batch * from.strides[0] + t.kv_head * from.strides[2] + first * from.strides[1];
      const index_t apart = from.strides[1];
      const int inside = t.visible - first;
      load_lines<async, math::reads_padding, value>(
          block, to, cols, from.strides[3], vectors,
          [=](int row) -> const value* { return row < inside ? head + row * apart : nullptr; });
    };
    some(s.k, p.k, p.head_dim, p.k_vectors);
    some(s.v, p.v, p.value_dim, p.v_vectors);
  }

  template <class Block>
  KILN_FN static void begin(Block block, const parameters& p, const tile& t, const resident& r, state<Block>& st) {
    block.template split<32>([&](auto warp) {
      const int row0 = warp.number() * warp_rows;
      warp.each([&](int lane) {
        math::clear(st.of(warp.first + lane)[0], lane, [&](int row) { return seen_by(p, t, row0 + row); });
      });
      if (t.visible > 0) math::begin(warp, r.q, row0, registers_of(warp, st));
    });
  }

  template <class Block>
  KILN_FN static void compute(Block block, const parameters& p, const tile& t, int step, resident& r, const slot& s,
                              state<Block>& st) {
    block.template split<32>([&](auto warp) {
      const int number = warp.number(), row0 = number * warp_rows;
      if (row0 >= t.rows) return;
      const int first = step * keys;
      const step_extents e{
          first, min_of(keys, t.visible - first), min_of(warp_rows, t.rows - row0), p.head_dim, p.value_dim, p.scale};
      math::compute(warp, r.q, s.k, s.v, row0, e, r.of_warp[number], registers_of(warp, st));
    });
  }

  /// Each row of the sequence is written once; rows behind its last query are left as they are.
  template <class Block>
  KILN_FN static void finish(Block block, const parameters& p, const tile& t, state<Block>& st) {
    using out_type = typename Arguments::out_type;
    block.template split<32>([&](auto warp) {
      const int row0 = warp.number() * warp_rows;
      if (row0 >= t.rows) return;
      math::finish(
          warp, p.value_dim, registers_of(warp, st),
          [&](int row) -> out_type* {
            if (row0 + row >= t.rows) return nullptr;
            const index_t packed = t.first + row0 + row, query = packed / p.group, member = packed - query * p.group;
            return p.out.data + t.batch * p.out.strides[0] + query * p.out.strides[1] +
                   (t.kv_head * p.group + member) * p.out.strides[2];
          },
          p.out.strides[3], p.out_pairs,
          [&](int row, float log_sum_exp) {
            if (p.lse.data == nullptr || row0 + row >= t.rows) return;
            const index_t packed = t.first + row0 + row, query = packed / p.group, member = packed - query * p.group;
            p.lse(t.batch, query, t.kv_head * p.group + member) = log_sum_exp;
          });
    });
  }

 private:
  template <class Warp, class State>
  KILN_FN static auto registers_of(Warp warp, State& st) {
    return [&st, first = warp.first](int lane) -> typename math::registers& { return st.of(first + lane)[0]; };
  }
};

}  // namespace kiln::attn
