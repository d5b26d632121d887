#pragma once
/// What blocks that take several rows keep in shared memory, as far as there is room: decided when they are compiled.
#include <kiln/kernel/rows/config.hpp>
#include <kiln/kernel/rows/row.hpp>

namespace kiln::rows {

/// Whether something lies beside the rows of a program, the same for all: `loads(lines)` reads it.
template <class Program>
inline constexpr bool has_beside = requires {
  typename Program::template beside<1>;
};

/// Bytes that lie beside a chunk.
template <class Program, int Width>
inline constexpr int bytes_beside = 0;
template <class Program, int Width>
requires has_beside<Program>
inline constexpr int bytes_beside<Program, Width> = static_cast<int>(sizeof(typename Program::template beside<Width>));

namespace detail {
/// Bytes of shared memory for what a block keeps.
template <class Config, int Width, class Program, keep Keep>
KILN_FN constexpr int bytes_kept() {
  if constexpr (Keep == keep::nothing) {
    return 0;
  } else {
    using row = row_of<Program, on_device, Config::threads * Config::blocks, Width, Config::items, fit::whole,
                       Config::blocks, Keep>;
    constexpr int beside = row::template beside_bytes<typename Program::template beside<Width>>;
    return beside + (Keep == keep::next_row ? row::stage_bytes() : 0);
  }
}
/// How many blocks share a multiprocessor then. Two with the next row fill its memory; others need fewer registers than
/// those that load what lies beside a row.
template <class Config, int Width, class Program>
KILN_FN constexpr int blocks_that_keep() {
  if (Config::keep == keep::next_row) return 2;
  const bool full = sizeof(typename Program::held) * Width * Config::items == 128;
  return (full || bytes_beside<Program, Width> >= 64 ? 768 : 1024) / Config::block;
}
/// What blocks of a configuration keep for a program: nothing unless something lies beside its rows, it says that these
/// are read from lines (`rows_are_lines`, `each_input(lines, f)`), and there is memory for as many blocks as registers.
template <class Config, int Width, class Program>
KILN_FN constexpr keep kept() {
  if constexpr (Config::whole && Config::keep != keep::nothing && has_beside<Program> &&
                requires { Program::rows_are_lines; })
    return bytes_kept<Config, Width, Program, Config::keep>() * blocks_that_keep<Config, Width, Program>() <= 208 * 1024
               ? Config::keep
               : keep::nothing;
  else
    return keep::nothing;
}
}  // namespace detail

}  // namespace kiln::rows
