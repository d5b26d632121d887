#pragma once
/// Configurations of the row kernels: how many threads take a row, and how much of it they hold.
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>

namespace kiln::rows {

/// What is known of a row's length: nothing, that it is a multiple of a chunk and not 0, or that all chunks that can be
/// held are there.
enum class fit { any, whole, full };

/// What a block that takes several rows has in shared memory: nothing, what lies beside all rows, or that and the next
/// row, which comes while this one is in hand.
enum class keep { nothing, beside, next_row };

/// `Threads` of a block for a row: a power of two up to 32 with `Rows` rows a block, or a whole block of any size with
/// one; `Blocks` of a cluster share a row. `Items` chunks of a thread are held in registers; 0 reads the row again in
/// each phase and takes any length. `Whole`: rows are made of whole chunks, so that no code is spent on a last one that
/// is not full.
template <int Threads, int Rows, int Items, bool Whole = false, int Blocks = 1, keep Keep = keep::nothing>
struct config {
  static_assert(Threads > 0 && Rows > 0 && Items >= 0 && Blocks > 0);
  static_assert(Threads > 32 ? Rows == 1 : (Threads & (Threads - 1)) == 0,
                "a row is taken by a whole block, or by 1, 2, 4 ... 32 threads");
  static_assert(Threads * Rows <= 1024, "a block has at most 1024 threads");
  static_assert(Blocks == 1 || (Rows == 1 && Threads % 32 == 0 && Threads > 32),
                "the blocks of a cluster are made of whole warps and take one row");
  static_assert(Keep == rows::keep::nothing || (Rows == 1 && Items > 0), "blocks that keep something hold one row");
  static constexpr int threads = Threads, rows = Rows, items = Items, block = Threads * Rows, blocks = Blocks;
  static constexpr bool whole = Whole;
  static constexpr rows::keep keep = Keep;

  /// Blocks that share a multiprocessor at least, where chunks are `width` elements of `bytes` in registers: 1,024
  /// threads of up to 64 registers, if that leaves enough for the rest; of a row that fills them 768 of 80 where much
  /// lies beside it or its elements are float32, 512 where both. Never more than `most_at_once`.
  static constexpr int residents(int bytes, int width, bool much_beside, int most_at_once) {
    constexpr int most = 128;  // bytes of a thread
    if (!Whole || Items == 0 || bytes * width * Items > most) return 1;
    const bool full = bytes * width * Items == most, long_elements = bytes == 4 && width == 4;
    const int of_full = !(much_beside || long_elements) ? 1024 : much_beside && long_elements ? 512 : 768;
    const int at_once = full ? min_of(of_full, most_at_once) : most_at_once;
    return at_once < block ? 1 : at_once / block;
  }

  /// The longest row that `width` elements a chunk can hold.
  KILN_FN static constexpr index_t capacity(int width) {
    return Items > 0 ? static_cast<index_t>(Threads) * Blocks * Items * width : (limits<index_t>::max)();
  }
};
/// The same for rows of whole chunks.
template <class C>
using whole_chunks = config<C::threads, C::rows, C::items, true, C::blocks, C::keep>;

// On the device, chunks of 16 bytes; lengths are those of 16-bit elements. A thread holds 64 or 128 bytes and a block
// has as few threads as hold a row: what is loaded, reduced and stored at a time by different blocks of a
// multiprocessor keeps memory busy, and a block whose threads hold one chunk each took twice as long.
using few_threads = config<8, 16, 2>;  // 128 columns: four rows a warp, or most lanes would idle
using one_warp = config<32, 4, 4>;     // 1,024: no barrier
template <int Threads, int Items, int Blocks = 1, keep Keep = keep::nothing>
using blocks_of = config<Threads, 1, Items, false, Blocks, Keep>;
using one_block = blocks_of<256, 4>;      // 8,192
using wide_block = blocks_of<512, 8>;     // 32,768, where there are no clusters
using endless_block = config<512, 1, 0>;  // read again in each phase, mostly from L2
// On the device, rows that are not aligned, element by element:
using few_threads_single = config<8, 16, 4>;  // 32
using endless_single = config<256, 1, 0>;
// On the host a loop over few threads; their accumulators give the compiler lanes to vectorise.
using host_chunks = config<4, 1, 0>;
using host_single = config<16, 1, 0>;

}  // namespace kiln::rows
