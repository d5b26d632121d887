#pragma once
/// From a warpgroup's accumulators to the sinks on Hopper.
///
/// Stores whose rows are 16-byte aligned leave by TMA: the group writes 64 rows of up to 128 bytes into one of two
/// buffers, or 128 rows into both, one thread sends them off, and the group computes what comes next while they are
/// read. Rows below D's last are left out by TMA. Other stores, and columns at D's right edge, go through the same
/// buffers by hand. With a reduction among the sinks all of them take the way through staging memory, as on other
/// architectures.
#include <kiln/arch/sm90.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/finish.hpp>
#include <kiln/layout/wgmma.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln {

/// How 16 rows of a warp and some columns lie in its accumulators: the one chunk of a staged finish.
template <int Cols>
struct wgmma_strip {
  static constexpr int chunks = 1, chunk_rows = 16, chunk_registers = Cols / 2;
  KILN_FN static constexpr coord position(int lane, int r) { return wgmma_d(lane, r); }
};

/// The maps by which sinks are stored; the bit of a sink is set if TMA can store it.
template <class Arguments, class Where>
struct store_maps {
  sm90::tensor_map<Where> of_sink[Arguments::sink_count];
  std::uint32_t usable = 0;
};

/// The map of a sink's view, in boxes of 64 rows and a panel of the pattern; whether TMA can store through it. One
/// function for all tiles.
template <class Map, class Sink, class Arguments>
bool make_store_map(Map& map, const Sink& sink, const Arguments& p, swizzle pattern) {
  constexpr int bytes = static_cast<int>(sizeof(typename Sink::element));
  const index_t pitch = p.m == 1 ? 0 : sink.view.stride(1);  // of one row any, up to the largest number
  auto r = sm90::matrix_request("d", sink.view.data, p.m, p.n, pitch, 64, panel_bytes(pattern) / bytes, pattern);
  r.rank = 3, r.extent[2] = p.batch, r.box[2] = 1;
  r.stride[2] = p.batch > 1 ? sink.view.stride(0) * bytes : 16;  // never stepped along
  if (p.m == 1) r.stride[1] = 16;
  return sm90::make_tensor_map(map, r).ok() && sink.template vectors<2>();
}

template <class Arguments, int Rows, int Cols>
struct hopper_finish {
  using accumulator = typename Arguments::accumulator;
  static constexpr int products = Arguments::products;
  static constexpr int strip =
      Cols % (32 / products) == 0 ? 32 / products : 16;  ///< columns that a staged warp takes at a time
  using staged = staged_finish<Arguments, wgmma_strip<strip>, 16, strip>;

  union alignas(1024) scratch {
    unsigned char buffers[2][64 * 128];
    typename staged::scratch of_warp[4];
    scratch() = delete;
  };

  static constexpr bool reduces = Arguments::any_reduction;

  template <class Sink>
  static constexpr bool stored_by_rows = [] {
    if constexpr (Sink::reduces) return false;
    else
      return decltype(Sink::view)::unit_axis == 2 && sizeof(typename Sink::element) <= 4 &&
             Cols * sizeof(typename Sink::element) % 32 == 0;
  }();
  static constexpr index_t row_parts_of_tile = Cols / strip;
  static constexpr index_t column_parts_of_group = Rows / 16;

  /// Asks TMA for each sink; what it refuses is stored by threads.
  template <class Where>
  static void make_maps(const Arguments& p, store_maps<Arguments, Where>& maps) {
    maps.usable = 0;
    p.sinks.each([&](const auto& sink, auto number) {
      using sink_type = std::remove_cvref_t<decltype(sink)>;
      [[maybe_unused]] constexpr int i = decltype(number)::value;
      if constexpr (!reduces) {
        if constexpr (stored_by_rows<sink_type>) {
          if (make_store_map(maps.of_sink[i], sink, p, swizzle_for<typename sink_type::element>(Cols)))
            maps.usable |= 1u << i;
        }
      }
    });
  }

  /// `first` is the place of the group's rows in D. `sums[b]` holds rows 64 b to 64 b + 63, product after product.
  /// `parity` is the buffer that the next store takes; it lives from tile to tile, as the last store of a tile may
  /// still be read.
  template <class Group, class Fragments, class Where>
  KILN_FN static void run(Group group, const Arguments& p, const store_maps<Arguments, Where>& maps, index_t batch,
                          coord first, index_t row_part, index_t col_part, Fragments& sums, int& parity,
                          scratch& memory, int name) {
    if constexpr (reduces) {
      KILN_UNROLL
      for (int b = 0; b < Rows / 64; ++b) {
        group.template split<32>([&](auto warp) {
          const int in_group = here(warp.number()) & 3;
          KILN_UNROLL
          for (int c = 0; c < Cols / strip; ++c) {
            staged::run(
                warp, p, batch, coord{first.row + 64 * b + 16 * in_group, first.col + strip * c}, row_part + c,
                col_part + 4 * b + in_group,
                [&](int lane, int q) -> const accumulator* {
                  return sums[b].of(32 * in_group + lane) + q * (Cols / 2) + c * (strip / 2);
                },
                memory.of_warp[in_group]);
          }
        });
      }
    } else {
      // Two instructions' rows at a time share what an expression reads for each column, and the barriers.
      constexpr bool alone = any_crowded(static_cast<decltype(Arguments::sinks)*>(nullptr));
      constexpr int together = Rows / 64 % 2 == 0 && !alone ? 2 : 1;
      KILN_UNROLL
      for (int b = 0; b < Rows / 64; b += together) {
        const coord at{first.row + 64 * b, first.col};
        p.sinks.each([&](const auto& sink, auto number) {
          using sink_type = std::remove_cvref_t<decltype(sink)>;
          [[maybe_unused]] constexpr int i = decltype(number)::value;
          constexpr int most = chunk_cols<sink_type>, rest = Cols % most;
          // No early way out of it, even where a cluster's last block has nothing of D: with one, the addresses of the
          // main loop were no longer in uniform registers, and narrow tiles took a tenth longer.
          const auto store = [&](auto columns, int c) {
            constexpr int cols = decltype(columns)::value;
            if constexpr (stored_by_rows<sink_type>) {
              using element = typename sink_type::element;
              if ((maps.usable >> i & 1u) && at.row < p.m && at.col + c + cols <= p.n) {
                using buffer = shared_tile<element, 64, cols, swizzle_for<element>(Cols)>;
                send<buffer, together>(group, maps.of_sink[i], sink, batch, at, p.m - 1, c, &sums[b], memory, parity,
                                       name);
                return;
              }
            }
            KILN_UNROLL
            for (int block = 0; block < together; ++block)
              put_staged<cols>(group, p, sink, batch, coord{at.row + 64 * block, at.col}, c, sums[b + block], memory,
                               name);
          };
          if constexpr (one_copy<sink_type>) {
            KILN_NO_UNROLL
            for (int c = 0; c + most <= Cols; c += most) store(std::integral_constant<int, most>{}, c);
          } else {
            KILN_UNROLL
            for (int c = 0; c + most <= Cols; c += most) store(std::integral_constant<int, most>{}, c);
          }
          if constexpr (rest > 0) store(std::integral_constant<int, rest>{}, Cols - rest);
        });
      }
    }
  }

  /// Before the block ends: the buffers have been read.
  template <class Group>
  KILN_FN static void end(Group group) {
    if constexpr (!reduces) sm90::one_thread(group, [](auto thread) { sm90::tma_wait_read<0>(thread); });
  }

 private:
  /// Whether sums, more than 128 a thread, leave few registers for what an expression reads: then one instruction's
  /// rows are finished at a time, and 16 columns.
  template <class Sink>
  static constexpr bool crowded = Rows / 64 * Cols * products / 2 > 128 && decltype(Sink::expr)::instructions > 0;
  template <class... Sinks>
  KILN_FN static constexpr bool any_crowded(const bundle<Sinks...>*) {
    return (crowded<Sinks> || ...);
  }

  /// The two neighbours in registers r and r + 1 of each product, of which there are `Each`.
  template <int Each>
  KILN_FN static accumulators<accumulator, products, 2> pair_of(const accumulator* c, int r) {
    accumulators<accumulator, products, 2> x;
    KILN_UNROLL
    for (int q = 0; q < products; ++q) x.v[q] = {{c[q * Each + r], c[q * Each + r + 1]}};
    return x;
  }

  /// Whether the columns that are taken one after the other share one copy of the code. For long expressions that
  /// compiles without spills and in half the time, and was not slower.
  template <class Sink>
  static constexpr bool one_copy = products == 1 && decltype(Sink::expr)::instructions >= 12;

  /// A thread's sums of the columns from `c` on, a multiple of Count. Registers have no addresses, so that each value
  /// of c has moves of its own.
  template <int Count, int From = 0, class Fragment>
  KILN_FN static void take(accumulator (&x)[Count / 2], const Fragment& sums, int thread, int c) {
    if constexpr (From + 2 * Count <= Cols) {
      if (c != From) return take<Count, From + Count>(x, sums, thread, c);
    }
    KILN_UNROLL
    for (int r = 0; r < Count / 2; ++r) x[r] = moved<From>(sums.of(thread)[From / 2 + r]);
  }
  /// `x`, by a move that the compiler does not take for one from elsewhere: it would merge them, and index memory.
  template <int From>
  KILN_FN static accumulator moved(accumulator x) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<accumulator, float>) asm volatile("// %1" : "+f"(x) : "n"(From));
    else asm volatile("// %1" : "+r"(x) : "n"(From));
#endif
    return x;
  }

  /// Columns of a sink that the group takes at a time: as many as a buffer holds.
  template <class Sink>
  static constexpr int chunk_cols = min_of(Cols, stored_by_rows<Sink>
                                                     ? 128 / static_cast<int>(sizeof(typename Sink::element))
                                                     : 64);

  /// Columns from c on, inside D, of 64 rows or of twice 64, by TMA: a box for each panel of a buffer. Rows beyond the
  /// last are stored nowhere; their values are made of what the last one reads. One block takes the buffers in turn.
  template <class Buffer, int Together, class Group, class Map, class Sink, class Fragment>
  KILN_FN static void send(Group group, const Map& map, const Sink& sink, index_t batch, coord first, index_t last_row,
                           int c, const Fragment* sums, scratch& memory, int& parity, int name) {
    const auto buffer = [&](int block) -> Buffer& {
      return *reinterpret_cast<Buffer*>(memory.buffers[Together == 1 ? parity : block]);
    };
    // Many values before the first store: a store could change what an expression reads, so loads would wait for it.
    // With two blocks half the columns at a time, for want of registers.
    constexpr bool once = one_copy<Sink>;
    constexpr int share = Buffer::cols % 32 == 0 ? Buffer::cols / Together : Buffer::cols,
                  step = once ? (share % 32 == 0 ? 32 : 16) : crowded<Sink> ? min_of(share, 16) : share;
    static_assert(Buffer::cols % step == 0);
    using two = vec<typename Sink::element, 2>;
    const auto fill = [&](int part) {
      fragments<two, step / 4, Group> x[Together];
      group.each([&](int thread) {
        const int t = here(thread) & 127;  // that it is not negative spares the divisions their signs
        [[maybe_unused]] accumulator from[Together][step / 2];
        if constexpr (once) {
          KILN_UNROLL
          for (int block = 0; block < Together; ++block) take<step>(from[block], sums[block], thread, c + part);
        }
        KILN_UNROLL
        for (int i = 0; i < step / 2; i += 2) {
          KILN_UNROLL
          for (int block = 0; block < Together; ++block) {
            const auto pair = [&] {
              if constexpr (once) return pair_of<step / 2>(from[block], i);
              else return pair_of<Cols / 2>(sums[block].of(thread), (c + part) / 2 + i);
            }();
            const tile_coord in = wgmma_d(t, i);
            const index_t row = min_of<index_t>(first.row + 64 * block + in.row, last_row);
            x[block].of(thread)[i / 2] = sink.values(pair, place{batch, row, first.col + c + part + in.col, 2, true});
          }
        }
      });
      if (part == 0) {
        // The stores that took these buffers last have read them, and everyone knows.
        sm90::one_thread(group, [](auto thread) { sm90::tma_wait_read<2 - Together>(thread); });
        sm90::named_sync<128>(group, name);
      }
      KILN_UNROLL
      for (int block = 0; block < Together; ++block) {
        Buffer& to = buffer(block);
        if constexpr (sizeof(two) == 4) {
          // A warp's 16 rows, 16 columns at a time: matrices of rows 0 to 7 and 8 to 15 of the left half, then of the
          // right.
          group.template split<32>([&](auto warp) {
            const int w = here(warp.number()) & 3;
            KILN_UNROLL
            for (int i = 0; i < step / 16; ++i) {
              sm90::stmatrix<4>(
                  warp, [&](int lane) { return to.address(16 * w + (lane & 15), part + 16 * i + (lane >> 4) * 8); },
                  [&](int lane) { return x[block].of(32 * w + lane) + 4 * i; });
            }
          });
        } else {
          group.each([&](int thread) {
            const int t = here(thread) & 127;
            KILN_UNROLL
            for (int i = 0; i < step / 2; i += 2) {
              const tile_coord in = wgmma_d(t, part / 2 + i);
              to.template store<2>(group, t, in.row, in.col, x[block].of(thread)[i / 2]);
            }
          });
        }
      }
    };
    if constexpr (once) {
      KILN_NO_UNROLL
      for (int part = 0; part < Buffer::cols; part += step) fill(part);
    } else {
      KILN_UNROLL
      for (int part = 0; part < Buffer::cols; part += step) fill(part);
    }
    sm90::fence_async(group);
    sm90::named_sync<128>(group, name);
    sm90::one_thread(group, [&](auto thread) {
      KILN_UNROLL
      for (int block = 0; block < Together; ++block) {
        KILN_UNROLL
        for (int i = 0; i < Buffer::panels; ++i)
          sm90::tma_store(thread, map, buffer(block).address(0, i * Buffer::panel_cols),
                          first.col + c + i * Buffer::panel_cols, first.row + 64 * block, batch);
      }
      sm90::tma_commit(thread);
    });
    if constexpr (Together == 1) parity ^= 1;
  }

  /// Columns [c, c + Count) of 64 rows: what TMA cannot store, and the edges of D. The sums pass through the buffers,
  /// from which a loop takes eight neighbours at a time; it is not unrolled, since edges are few and code is not free.
  template <int Count, class Group, class Sink, class Fragment>
  KILN_FN static void put_staged(Group group, const Arguments& p, const Sink& sink, index_t batch, coord first, int c,
                                 const Fragment& sums, scratch& memory, int name) {
    constexpr bool once = one_copy<Sink>;
    constexpr int width = Count * products <= (once ? 32 : 64) ? Count : Count % 32 == 0 ? 32 : 16;
    using stage = shared_tile<accumulator, 64, width, swizzle_for<accumulator>(width)>;
    static_assert(Count % width == 0 && sizeof(stage) * products <= sizeof(memory.buffers));
    auto* stages = reinterpret_cast<stage*>(memory.buffers);
    KILN_UNROLL
    for (int w = c; w < c + Count; w += width) {
      sm90::one_thread(group, [](auto thread) { sm90::tma_wait_read<0>(thread); });
      sm90::named_sync<128>(group, name);
      group.each([&](int thread) {
        const int t = here(thread) & 127;  // that it is not negative spares the divisions their signs
        [[maybe_unused]] accumulator from[width / 2];
        if constexpr (once) take<width>(from, sums, thread, w);
        KILN_UNROLL
        for (int q = 0; q < products; ++q) {
          KILN_UNROLL
          for (int i = 0; i < width / 2; i += 2) {
            const tile_coord in = wgmma_d(t, i);
            const accumulator* r = once ? from + i : sums.of(thread) + q * (Cols / 2) + w / 2 + i;
            stages[q].template store<2>(group, t, in.row, in.col, vec<accumulator, 2>{{r[0], r[1]}});
          }
        }
      });
      sm90::named_sync<128>(group, name);
      group.each([&](int thread) {
        KILN_NO_UNROLL
        for (int v = thread; v < 64 * width / 8; v += 128) {
          const int row = v / (width / 8), col = v % (width / 8) * 8;
          const index_t left = p.n - first.col - w - col;
          if (first.row + row >= p.m || left <= 0) continue;
          accumulators<accumulator, products, 8> x;
          KILN_UNROLL
          for (int q = 0; q < products; ++q) {
            KILN_UNROLL
            for (int h = 0; h < 8; h += 4) {
              const auto four = stages[q].template load<4>(group, thread, row, col + h);
              KILN_UNROLL
              for (int e = 0; e < 4; ++e) x.v[q][h + e] = four[e];
            }
          }
          sink.put(x, place{batch, first.row + row, first.col + w + col, left < 8 ? static_cast<int>(left) : 8});
        }
      });
      sm90::named_sync<128>(group, name);
    }
  }
};

}  // namespace kiln
