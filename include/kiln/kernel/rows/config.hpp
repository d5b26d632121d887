#pragma once
/// Configurations of the row kernels: how many threads take a row, and how much of it they hold.
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>

namespace kiln::rows {

/// `Threads` of a row: a power of two up to 32 with `Rows` rows a block, or a whole block of any size with one. `Items`
/// chunks of a thread are held in registers; 0 reads the row again in each phase and takes any length. `Whole`: rows are
/// made of whole chunks, so that no code is spent on a last one that is not full.
template <int Threads, int Rows, int Items, bool Whole = false>
struct config {
  static_assert(Threads > 0 && Rows > 0 && Items >= 0);
  static_assert(Threads > 32 ? Rows == 1 : (Threads & (Threads - 1)) == 0,
                "a row is taken by a whole block, or by 1, 2, 4 ... 32 threads");
  static_assert(Threads * Rows <= 1024, "a block has at most 1024 threads");
  static constexpr int threads = Threads, rows = Rows, items = Items, block = Threads * Rows;
  static constexpr bool whole = Whole;

  /// Blocks that share a multiprocessor at least, where chunks are `width` elements of `bytes` in registers: 1,024 threads
  /// of up to 64 registers, if that leaves enough for the rest. Fewer have too few bytes in flight while some reduce; not
  /// measured yet.
  static constexpr int residents(int bytes, int width) {
    return Whole && Items > 0 && bytes * width * Items <= (bytes <= 2 ? 128 : 64) ? 1024 / block : 1;
  }

  /// The longest row that `width` elements a chunk can hold.
  static constexpr index_t capacity(int width) {
    return Items > 0 ? static_cast<index_t>(Threads) * Items * width : (limits<index_t>::max)();
  }
};

// On the device, chunks of 16 bytes:
using few_threads = config<8, 16, 2>;     // 128 columns of 2 bytes: four rows a warp, or most lanes would idle
using one_warp = config<32, 4, 4>;        // 1,024: no barrier; 4 loads of a thread in flight
using one_block = config<256, 1, 4>;      // 8,192: the hidden sizes of most models
using wide_block = config<512, 1, 8>;     // 32,768: 64 floats of a thread fit in its 128 registers
using endless_block = config<512, 1, 0>;  // longer: read again, mostly from L2
/// The same for rows of whole chunks.
template <class C>
using whole_chunks = config<C::threads, C::rows, C::items, true>;
// On the device, rows that are not aligned, element by element:
using few_threads_single = config<8, 16, 4>;  // 32
using endless_single = config<256, 1, 0>;
// On the host a loop over few threads; their accumulators give the compiler lanes to vectorise.
using host_chunks = config<4, 1, 0>;
using host_single = config<16, 1, 0>;

}  // namespace kiln::rows
