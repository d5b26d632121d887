#pragma once
/// How many blocks of a row kernel share a multiprocessor, and so how many registers a thread has: decided by what a
/// program says of itself, when it is compiled.
#include <kiln/kernel/rows/config.hpp>
#include <kiln/kernel/rows/kept.hpp>

namespace kiln::rows {

/// How wide the chunks of a program are: 16 bytes of its widest traffic.
template <class Program>
inline constexpr int chunk_width = 16 / static_cast<int>(sizeof(typename Program::lead));

namespace detail {
/// True if it is worth while to hold long rows: with one phase there is nothing to hold a row for, and a program may
/// say that it needs more registers than are left then.
template <class Program>
constexpr bool holds_long_rows() {
  if constexpr (requires { Program::fits_wide_block; })
    return Program::fits_wide_block;
  else
    return Program::phases > 1;
}
/// A program may say that much lies beside its rows, in registers too.
template <class Program>
inline constexpr bool much_beside = requires {
  Program::much_beside;
};
/// What lies beside its rows meets more than a store.
template <class Program>
inline constexpr bool more_in_hand = requires {
  Program::more_in_hand;
};
/// Of two rows that are read together one may have elements of 4 bytes beside the other's 2: their sums fill what 64
/// registers leave, and their places beside them would spill.
template <class Program>
inline constexpr bool two_wide_rows = [] {
  if constexpr (requires { Program::two_rows_of_bytes; })
    return Program::two_rows_of_bytes == 6;
  else
    return false;
}();
/// A program may say that few registers are enough for it, so that more blocks share a multiprocessor: 64, or as many
/// as `threads_at_once` leave.
template <class Config, int Width, class Program>
constexpr int resident_blocks() {
  if constexpr (kept<Config, Width, Program>() != keep::nothing) return blocks_that_keep<Config, Width, Program>();
  constexpr int bytes = static_cast<int>(sizeof(typename Program::held));
  if constexpr (requires { Program::few_registers; }) {
    constexpr int beside = bytes_beside<Program, Width>;
    constexpr bool full = Config::whole && bytes * Width * Config::items == 128;
    bool much = much_beside<Program> || (beside >= 32 && Config::block >= 256);
    if constexpr (requires { Program::two_rows_of_bytes; })
      much = much || Program::two_rows_of_bytes == 8 || (two_wide_rows<Program> && Config::blocks == 1);
    int most_at_once = 1024;
    if constexpr (requires { Program::threads_at_once; })
      most_at_once =
          Config::rows == 1 && Config::blocks == 1 ? Program::threads_at_once : min_of(Program::threads_at_once, 1280);
    // Beside rows of 16 bits weights of float32 take twice their registers.
    if (beside >= 64 || (full && beside >= 32 && more_in_hand<Program>))
      most_at_once = 512;
    else if (beside >= 32 && more_in_hand<Program>)
      most_at_once = 768;
    const int blocks = Config::residents(bytes, Width, much, most_at_once);
    // Two blocks of 512 threads get by on 64 registers if nothing lies beside the row: one took 1.4 times as long.
    if constexpr (full && Config::blocks > 1 && Config::block == 512 && !requires { Program::has_mask; })
      return much ? blocks : 2;
    return blocks;
  } else {
    return 1;
  }
}
/// True if a thread holds 8 chunks of a long row: 128 bytes, unless four times that lie beside them.
template <class Program>
constexpr bool holds_eight() {
  return sizeof(typename Program::held) * chunk_width<Program> * 8 <= 128 &&
         bytes_beside<Program, chunk_width<Program>> < 64;
}
}  // namespace detail

}  // namespace kiln::rows
