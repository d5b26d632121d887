#pragma once
/// The GEMM tile program for Hopper: operands by TMA, products by wgmma. What a tile needs and does; the schedule says
/// when.
#include <kiln/arch/sm90.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/config.hpp>
#include <kiln/kernel/gemm/hopper_finish.hpp>
#include <kiln/schedule/split.hpp>
#include <kiln/schedule/work_order.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln {

/// Arguments and what the host makes of them for TMA.
template <class Arguments, class Where>
struct hopper_parameters {
  Arguments arguments;
  sm90::tensor_map<Where> a, b[Arguments::products];
  sm90::tensor_map<Where> last_a;  ///< of boxes that end with A's last rows, where a box does not
  int last_rows;                   ///< of such a box, a multiple of 8
  store_maps<Arguments, Where> stores;
  split_workspace split;
};

namespace detail {

/// Operand as TMA sees it: [batch, rows, columns], columns along memory, boxes of `box_rows` rows and 128 bytes.
template <class T, class S, int U>
sm90::tensor_request operand_request(const char* name, const tensor<T, 3, S, U>& v, int line_axis, int box_rows) {
  const int along = U;
  auto r = sm90::matrix_request(name, v.data, v.extents[line_axis], v.extents[along], v.strides[line_axis], box_rows,
                                128 / static_cast<int>(sizeof(T)));
  if (v.extents[line_axis] == 1) r.stride[1] = 16;  // never stepped along
  r.rank = 3, r.extent[2] = v.strides[0] == 0 ? 1 : v.extents[0], r.box[2] = 1;
  r.stride[2] = r.extent[2] == 1 ? 16 : v.strides[0] * static_cast<index_t>(sizeof(T));
  return r;
}

/// One function for all tiles; the boxes have so many rows.
template <class Arguments, class Where>
status make_operand_maps(hopper_parameters<Arguments, Where>& p, int a_rows, int b_rows) {
  const auto& x = p.arguments;
  constexpr index_t most =
      0x7ffff000;  // TMA's coordinates are 32-bit, and the last cluster's tiles reach beyond the extent
  if (x.m > most || x.n > most || x.k > most || x.batch > most)
    return fail(errc::unsupported, "gemm: m, n, k and batches are ", x.m, ", ", x.n, ", ", x.k, " and ", x.batch,
                ", warp_specialized needs at most ", most, " of each");
  KILN_TRY(sm90::make_tensor_map(p.a, operand_request("a", x.a, Arguments::a_major == major::k ? 1 : 2, a_rows)));
  for (int q = 0; q < Arguments::products; ++q)
    KILN_TRY(sm90::make_tensor_map(
        p.b[q], operand_request(Arguments::name_of_b(q), x.b[q], Arguments::b_major == major::k ? 2 : 1, b_rows)));
  if constexpr (Arguments::a_major == major::k) {
    p.last_rows = round_up(static_cast<int>(x.m % a_rows), 8);
    if (p.last_rows > 0) KILN_TRY(sm90::make_tensor_map(p.last_a, operand_request("a", x.a, 1, p.last_rows)));
  }
  return {};
}

}  // namespace detail

template <class Arguments, class Config, class Where>
struct hopper_program {
  using a_type = typename Arguments::a_type;
  using b_type = typename Arguments::b_type;
  using accumulator = typename Arguments::accumulator;
  using parameters = hopper_parameters<Arguments, Where>;
  static constexpr int products = Arguments::products, groups = 2;
  static constexpr int cluster_m = Config::block_cluster::m, cluster_n = Config::block_cluster::n,
                       cluster = cluster_m * cluster_n;
  static constexpr bool ping_pong = Config::ping_pong;
  static constexpr int sharers = ping_pong ? 1 : groups;  ///< groups that work on one tile
  static constexpr int tile_m = Config::block_tile::m, tile_k = Config::block_tile::k;
  static constexpr int tile_n = Config::block_tile::n;   ///< of D
  static constexpr int wide_n = tile_n * products;       ///< of the instruction: the products side by side
  static constexpr int group_m = tile_m / sharers;
  static constexpr int blocks = group_m / 64;            ///< instructions along M of one group
  static constexpr int registers = wide_n / 2;           ///< accumulators of a thread and instruction
  static constexpr bool a_k_major = Arguments::a_major == major::k, b_k_major = Arguments::b_major == major::k;
  static constexpr bool promotes = sizeof(a_type) == 1 && !std::is_integral_v<a_type> && Config::promoted;

  static_assert(tile_k * static_cast<int>(sizeof(a_type)) == 128,
                "config: K of a Hopper tile is 128 bytes of the operands");
  static_assert(
      tile_m % (sharers * 64) == 0,
      "config: M of a Hopper tile is a multiple of 128, 64 for each of two warpgroups (of 64 with ping_pong)");
  static_assert(tile_n % 16 == 0 && wide_n <= 256,
                "config: N of a warp_specialized tile is a multiple of 16, at most 256, with dual at most 128");
  /// Where two sets of partial sums fit beside the sums, products run while the last ones are added; else block after
  /// block.
  static constexpr bool promotes_in_turn = promotes && 3 * blocks * registers > 192;
  static constexpr int sum_registers = (promotes_in_turn ? blocks + 1 : promotes ? 3 * blocks : blocks) * registers;
  static_assert(sum_registers <= 192, "config: the accumulators of this tile do not fit into the registers");
  static_assert(Arguments::a_major != major::none && Arguments::b_major != major::none,
                "gemm: TMA needs a unit stride in both operands");
  static_assert(sizeof(a_type) == 2 || (a_k_major && b_k_major),
                "gemm: Hopper's 8-bit products need both operands K-major");

  template <class T, int MN, bool KMajor>
  using operand_tile = std::conditional_t<KMajor, shared_tile<T, MN, tile_k>, shared_tile<T, tile_k, MN>>;
  struct slot {
    operand_tile<a_type, tile_m, a_k_major> a;
    operand_tile<b_type, wide_n, b_k_major> b;
  };
  static constexpr int slot_bytes = static_cast<int>(sizeof(slot));

  template <class Group>
  struct state {
    fragments<accumulator, registers, Group> acc[blocks];
    int parity = 0;  ///< of the store buffers
  };
  template <class Group>
  struct partial {
    fragments<accumulator, registers, Group> acc[1];
  };
  using finisher = hopper_finish<Arguments, group_m, tile_n>;
  using scratch = typename finisher::scratch;

  /// Blocks without a cluster of their own may have a tile together, in clusters made at the launch (split.hpp): up to
  /// 8, as many as any GPU takes, and as many halvings as the ring has room for sums.
  static constexpr int join_levels = [] {
    constexpr int of_level = sharers * blocks * registers * 128 * static_cast<int>(sizeof(accumulator));
    return cluster > 1 ? 0 : min_of(3, Config::slot_count * slot_bytes / of_level);
  }();

  static constexpr int panel = 128 / static_cast<int>(sizeof(a_type));  ///< elements of 128 bytes
  // Boxes along M, and along N for each product; the blocks of a cluster that need the same boxes share them out.
  static constexpr int a_boxes = a_k_major ? cluster_n : tile_m / panel;
  static constexpr int b_boxes = b_k_major ? (cluster_m > products ? cluster_m / products : 1) : tile_n / panel;
  static_assert(a_boxes % cluster_n == 0 && products * b_boxes % cluster_m == 0,
                "config: the boxes do not share out over the cluster");
  static_assert(tile_m % (8 * a_boxes) == 0 && tile_n % (8 * b_boxes) == 0, "config: a box is a multiple of 8 rows");
  static_assert(b_k_major || tile_n % panel == 0, "config: N of the tile is a multiple of 64 where B runs along N");

  static status make_maps(parameters& p) {
    KILN_TRY(
        detail::make_operand_maps(p, a_k_major ? tile_m / a_boxes : tile_k, b_k_major ? tile_n / b_boxes : tile_k));
    finisher::make_maps(p.arguments, p.stores);
    return {};
  }

  /// Where in its worker's tile, in tiles, the block of this rank is.
  KILN_FN static constexpr int rank_m(int rank) { return rank % cluster_m; }
  KILN_FN static constexpr int rank_n(int rank) { return rank / cluster_m; }

  /// Bytes that come to a slot of the tile. What a slot has beyond A's last row is left over from before, and so are
  /// the sums of it, which nobody stores.
  KILN_FN static int bytes_of(const parameters& p, tile_index t, int rank) {
    int bytes = slot_bytes;
    if constexpr (a_k_major) {
      constexpr int rows = tile_m / a_boxes;
      KILN_UNROLL
      for (int i = 0; i < a_boxes; ++i) bytes -= 128 * (rows - rows_of_box(p, first_row_of(t, rank) + i * rows));
    }
    return bytes;
  }

  /// The map that brings each box of A of a tile; null where no row of the box is A's.
  struct maps_of_a {
    const sm90::tensor_map<Where>* of_box[a_boxes];
  };
  KILN_FN static maps_of_a maps_of(const parameters& p, tile_index t, int rank) {
    constexpr int rows = tile_m / a_boxes;
    maps_of_a maps;
    KILN_UNROLL
    for (int i = 0; i < a_boxes; ++i) {
      const int come = a_k_major ? rows_of_box(p, first_row_of(t, rank) + i * rows) : rows;
      maps.of_box[i] = come == rows ? &p.a : come > 0 ? &p.last_a : nullptr;
    }
    return maps;
  }

  /// The boxes that this block brings: those of A also to the blocks beside it along N, those of B to those along M.
  /// Whole: no row of the tile is beyond A's last.
  template <bool Whole, class Thread>
  KILN_FN static void load(Thread thread, const parameters& p, const maps_of_a& maps, tile_index t, int step, slot& s,
                           sm90::barrier& full, int rank) {
    const auto fetch = [&](auto sharers, int blocks_mask, const auto& map, void* to, int first, int second, int batch) {
      if constexpr (decltype(sharers)::value == 1) sm90::tma_load(thread, map, to, full, first, second, batch);
      else
        sm90::tma_load_multicast(thread, map, to, full, static_cast<std::uint16_t>(blocks_mask), first, second, batch);
    };
    constexpr int beside = every_nth_bit(cluster_m, cluster_n), below = every_nth_bit(1, cluster_m);
    boxes_of_a<Whole>(p, maps, t, step, rank, [&](int in_slot, int first, int second, int batch, const auto& map) {
      const auto to = a_k_major ? s.a.address(in_slot, 0) : s.a.address(0, in_slot);
      fetch(std::integral_constant<int, cluster_n>{}, beside << rank_m(rank), map, to, first, second, batch);
    });
    boxes_of_b(p, t, step, rank, [&](int q, int in_slot, int first, int second, int batch) {
      const auto to = b_k_major ? s.b.address(in_slot, 0) : s.b.address(0, in_slot);
      fetch(std::integral_constant<int, cluster_m>{}, below << (rank_n(rank) * cluster_m), p.b[q], to, first, second,
            batch);
    });
  }

  /// Has the L2 fetch the boxes of a step.
  template <class Thread>
  KILN_FN static void prefetch(Thread thread, const parameters& p, tile_index t, int step, int rank) {
    const maps_of_a maps = maps_of(p, t, rank);
    boxes_of_a<false>(p, maps, t, step, rank, [&](int, int first, int second, int batch, const auto& map) {
      sm90::tma_prefetch_box(thread, map, first, second, batch);
    });
    boxes_of_b(p, t, step, rank, [&](int q, int, int first, int second, int batch) {
      sm90::tma_prefetch_box(thread, p.b[q], first, second, batch);
    });
  }

  /// Starts the products of one slot, into `into[block]`. `number` is the group's.
  template <class Group, class Fragments>
  KILN_FN static void multiply(Group group, int number, const slot& s, Fragments& into, bool add) {
    multiply_blocks<0, blocks>(group, number, s, into, add);
  }
  /// Those of the blocks [First, First + Count), into `into[block - First]`.
  template <int First, int Count, class Group, class Fragments>
  KILN_FN static void multiply_blocks(Group group, int number, const slot& s, Fragments& into, bool add) {
    constexpr int depth = sm90::wgmma_k<a_type>;
    constexpr auto a_along = a_k_major ? sm90::major::k : sm90::major::mn,
                   b_along = b_k_major ? sm90::major::k : sm90::major::mn;
    const int row = ping_pong ? 0 : number * group_m;
    const auto b = [&] {
      if constexpr (b_k_major) return sm90::k_major_descriptor<swizzle::b128>(group, s.b.storage);
      else return sm90::mn_major_descriptor<swizzle::b128>(group, s.b.storage, tile_k * 128);
    }();
    // Sums that are promoted were read since their last product; others may still be in flight, and are not named.
    if constexpr (promotes && Count == 1) sm90::wgmma_fence(group, into[0]);
    else sm90::wgmma_fence(group);
    KILN_UNROLL
    for (int block = First; block < First + Count; ++block) {
      const auto a = [&] {
        if constexpr (a_k_major)
          return sm90::k_major_descriptor<swizzle::b128>(group, s.a.storage + (row + 64 * block) * 128);
        else
          return sm90::mn_major_descriptor<swizzle::b128>(group, s.a.storage + (row / panel + block) * tile_k * 128,
                                                          tile_k * 128);
      }();
      KILN_UNROLL
      for (int k = 0; k < tile_k; k += depth)
        sm90::wgmma<a_type, b_type, a_along, b_along>(group, into[block - First],
                                                      a.plus(a_k_major ? k / depth * 32 : k * 128),
                                                      b.plus(b_k_major ? k / depth * 32 : k * 128), add || k > 0);
    }
    sm90::wgmma_commit(group);
  }

  /// After a wait: the sums in these registers are what the unit left there.
  template <class Group, int Count>
  KILN_FN static void settle(fragments<accumulator, registers, Group> (&sums)[Count]) {
    KILN_UNROLL
    for (int b = 0; b < Count; ++b) sm90::detail::touch(sums[b]);
  }

  /// Zero sums, to which partial ones are added: to select a zero at the first would cost as much as each addition.
  template <class Group>
  KILN_FN static void clear(Group group, state<Group>& st) {
    group.each([&](int t) {
      KILN_UNROLL
      for (int b = 0; b < blocks; ++b) {
        KILN_UNROLL
        for (int i = 0; i < registers; ++i) st.acc[b].of(t)[i] = 0;
      }
    });
  }
  /// Adds finished partial sums to the float32 sums, those of the blocks from `First` on.
  template <int First = 0, class Group, int Count>
  KILN_FN static void promote(Group group, state<Group>& st,
                              const fragments<accumulator, registers, Group> (&partial)[Count]) {
    group.each([&](int t) {
      KILN_UNROLL
      for (int b = 0; b < Count; ++b) {
        KILN_UNROLL
        for (int i = 0; i < registers; ++i) st.acc[First + b].of(t)[i] += partial[b].of(t)[i];
      }
    });
  }

  /// After a segment: with the sums of the tile's other parts, from this block's sums to D.
  template <class Group, class Shared>
  KILN_FN static void finish(Group group, const parameters& p, const work_order& work, const segment& s,
                             const tile_index& t, state<Group>& st, Shared& shared, scratch& memory,
                             std::uint32_t& flag, int rank) {
    const int name = group.number(), share = share_of(group);
    if (join_levels > 0 && work.together > 1) {
      if (!join_parts(group, work, st.acc, shared)) return;
    } else if (s.tile >= work.whole() && !add_parts(group, p, work, s, st.acc, flag, name, rank)) {
      return;
    }
    const coord tile = tile_of(t, rank);
    finisher::run(group, p.arguments, p.stores, t.batch, first_of(tile, share), tile.col * finisher::row_parts_of_tile,
                  (tile.row * sharers + share) * finisher::column_parts_of_group, st.acc, st.parity, memory, name);
  }
  template <class Group>
  KILN_FN static void end(Group group) {
    finisher::end(group);
  }

 private:
  /// Rows of A that a box from row `m` on brings. To have TMA fill those beyond the last with zeros took a fifth of the
  /// time at M = 1031, N = K = 4096 on an H200.
  KILN_FN static int rows_of_box(const parameters& p, int m) {
    constexpr int rows = tile_m / a_boxes;
    const int left = static_cast<int>(p.arguments.m) - m;
    return left >= rows ? rows : left > 0 ? p.last_rows : 0;
  }
  /// The first row of A of the tile.
  KILN_FN static int first_row_of(tile_index t, int rank) {
    return (static_cast<int>(t.row) * cluster_m + rank_m(rank)) * tile_m;
  }

  /// Calls `f(place in the slot, coordinates, map)` for the boxes of A that this block brings, and likewise of B, with
  /// the product's number and without a map.
  template <bool Whole, class F>
  KILN_FN static void boxes_of_a(const parameters& p, const maps_of_a& maps, tile_index t, int step, int rank, F&& f) {
    constexpr int rows = tile_m / a_boxes;
    const int k = step * tile_k, m = first_row_of(t, rank);
    const int batch = p.arguments.a.strides[0] == 0 ? 0 : static_cast<int>(t.batch);
    KILN_UNROLL
    for (int i = 0; i < a_boxes; ++i) {
      if (cluster_n > 1 && i % cluster_n != rank_n(rank)) continue;
      const int row = m + i * rows, first = a_k_major ? k : row, second = a_k_major ? row : k;
      if constexpr (Whole) f(i * rows, first, second, batch, p.a);
      else if (maps.of_box[i] != nullptr) f(i * rows, first, second, batch, *maps.of_box[i]);
    }
  }
  template <class F>
  KILN_FN static void boxes_of_b(const parameters& p, tile_index t, int step, int rank, F&& f) {
    constexpr int rows = tile_n / b_boxes;
    const int k = step * tile_k, n = (static_cast<int>(t.col) * cluster_n + rank_n(rank)) * tile_n;
    KILN_UNROLL
    for (int i = 0; i < products * b_boxes; ++i) {
      if (cluster_m > 1 && i % cluster_m != rank_m(rank)) continue;
      const int q = i / b_boxes, part = i % b_boxes * rows;
      const int batch = p.arguments.b[q].strides[0] == 0 ? 0 : static_cast<int>(t.batch);
      f(q, q * tile_n + part, b_k_major ? k : n + part, b_k_major ? n + part : k, batch);
    }
  }

  /// The tile of this block, counted in tiles.
  KILN_FN static coord tile_of(const tile_index& t, int rank) {
    return {static_cast<index_t>(t.row) * cluster_m + rank_m(rank),
            static_cast<index_t>(t.col) * cluster_n + rank_n(rank)};
  }
  /// Which of the groups on this tile.
  template <class Group>
  KILN_FN static int share_of(Group group) {
    return ping_pong ? 0 : group.number() - 1;
  }
  /// The first element of what a group finishes of it.
  KILN_FN static coord first_of(coord tile, int share) {
    return {tile.row * tile_m + share * group_m, tile.col * tile_n};
  }

  /// Of a tile that the blocks of a cluster have together: whether this one has all sums now. Each has one part and no
  /// other tile, so its slots are free.
  template <class Group, class Sums, class Shared>
  KILN_FN static bool join_parts(Group group, const work_order& work, Sums& total, Shared& memory) {
    // A number that the compiler knows to be the same in all lanes, made here: by others the addresses of all products
    // were in ordinary registers.
    const int share = ping_pong ? 0 : sm90::uniform_warp(group) / 4 - 1;
    if constexpr (join_levels > 0)
      return join_sums(group, share, sm90::cluster_rank(group), static_cast<int>(work.together), memory.joint,
                       reinterpret_cast<accumulator*>(memory.ring), total);
    return true;
  }

  /// Of a tile that may be in parts: leaves this one's sums in the workspace, or, for the last to come, adds up those
  /// of all. Whether it was the last.
  template <class Group, class Sums>
  KILN_FN static bool add_parts(Group group, const parameters& p, const work_order& work, const segment& s, Sums& total,
                                std::uint32_t& flag, int name, int rank) {
    const tile_part part = work.part_of(s);
    if (part.count == 1) return true;
    constexpr int of_block = registers * 128, all = blocks * of_block;  // sums of a group
    const auto share = static_cast<std::uint32_t>(share_of(group)), block_rank = static_cast<std::uint32_t>(rank);
    const auto place_of = [&](int number, int block) {
      const std::uint64_t place =
          (static_cast<std::uint64_t>(part.owner + static_cast<std::uint32_t>(number)) * 2 + (number == 0 ? 1 : 0)) *
              cluster +
          block_rank;
      return reinterpret_cast<accumulator*>(p.split.sums) + (place * sharers + share) * all + block * of_block;
    };
    std::uint32_t* arrived =
        p.split.arrived + (static_cast<std::uint64_t>(s.tile - work.whole()) * cluster + block_rank) * sharers + share;
    const auto others = static_cast<std::uint32_t>(part.count - 1);
    int kept = -1;  // the part whose sums are in registers
    if ((part.number == 0 || part.count == 2) && count_parts(group, arrived, 0, flag, name) == others) {
      kept = part.number;
    } else {
      KILN_UNROLL
      for (int b = 0; b < blocks; ++b) put_sums(group, place_of(part.number, b), total[b]);
      if (count_parts(group, arrived, 1, flag, name) != others) return false;
    }
    KILN_UNROLL
    for (int b = 0; b < blocks; ++b) {
      if (kept < 0) get_sums<false>(group, place_of(0, b), total[b]);
      KILN_NO_UNROLL
      for (int other = kept < 0 ? 1 : 0; other < part.count; ++other)
        if (other != kept) get_sums<true>(group, place_of(other, b), total[b]);
    }
    return true;
  }

  /// Bits 0, step, 2 step, ... of which there are `count`.
  KILN_FN static constexpr int every_nth_bit(int step, int count) {
    int bits = 0;
    for (int i = 0; i < count; ++i) bits |= 1 << (i * step);
    return bits;
  }
};

}  // namespace kiln
