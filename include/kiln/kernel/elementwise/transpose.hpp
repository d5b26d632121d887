#pragma once
/// Copies between views whose unit axes differ: through a tile in shared memory, so that both sides touch whole lines.
#include <cstddef>
#include <cstdint>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln::elementwise {

/// `across` is the axis along which the source is contiguous, the last one that along which the result is.
template <int R, class Out, class In>
struct transposition {
  static constexpr int edge = sizeof(Out) <= 2 && sizeof(In) <= 2 ? 64 : 32;
  /// An odd number of words from one line to the next, so that a column of the tile lies in different banks.
  static constexpr int pitch = edge + (sizeof(In) >= 4 ? 1 : static_cast<int>(4 / sizeof(In)));
  struct shared {
    alignas(16) In tile[edge * pitch];
  };

  loop_nest<R, 2> nest{};
  divisor along[R];  ///< tiles along each axis
  int across = 0;
  Out* out = nullptr;
  const In* in = nullptr;

  /// Sets the axis along which the source is contiguous, and says how many tiles that makes.
  index_t cut(int axis) {
    across = axis;
    index_t n = 1;
    for (int a = 0; a < R; ++a) {
      along[a] = divisor(tiled(a) ? ceil_div<index_t>(nest.extents[a], edge) : nest.extents[a]);
      n *= along[a].value();
    }
    return n;
  }

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void tile(Scope threads, shared& memory, index_t number) const {
    constexpr int inner = R - 1;
    index_t from = 0, to = 0, first_across = 0, first_inner = 0;
    for (int a = inner; a >= 0; --a) {
      const index_t q = along[a].of(number), at = (number - q * along[a].value()) * (tiled(a) ? edge : 1);
      number = q;
      to += at * nest.strides[0][a], from += at * nest.strides[1][a];
      if (a == inner) first_inner = at;
      if (a == across) first_across = at;
    }
    const int height = static_cast<int>(min_of<index_t>(edge, nest.extents[across] - first_across));
    const int width = static_cast<int>(min_of<index_t>(edge, nest.extents[inner] - first_inner));
    const index_t from_step = nest.strides[1][inner], to_step = nest.strides[0][across];

    threads.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < edge * edge; i += Scope::threads) {
        const int line = (i + t) / edge, at = (i + t) % edge;
        if (line < width && at < height) memory.tile[line * pitch + at] = in[from + line * from_step + at];
      }
    });
    sync(threads);
    threads.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < edge * edge; i += Scope::threads) {
        const int line = (i + t) / edge, at = (i + t) % edge;
        if (line < height && at < width)
          out[to + line * to_step + at] = detail::stored_as<Out>(memory.tile[at * pitch + line]);
      }
    });
    sync(threads);
  }

 private:
  KILN_FN bool tiled(int axis) const { return axis == across || axis == R - 1; }
};

/// Copies by tiles and sets `done` where the views are contiguous along different axes of 16 elements or more.
template <class Executor, class From, class To>
status copy_transposed(const Executor& ex, const From& from, const To& to, bool& done) {
  using In = typename From::value_type;
  using Out = typename To::value_type;
  constexpr int R = To::rank;
  if constexpr (R >= 2 && sizeof(In) <= 8 && sizeof(Out) <= 8) {
    if (from.size() == INT64_MAX || to.size() == INT64_MAX) return {};
    for (int a = 0; a < R; ++a)
      if (from.extents[a] != to.extents[a] || from.extents[a] <= 0) return {};
    transposition<R, Out, In> work;
    index_t strides[2][R];
    for (int a = 0; a < R; ++a) strides[0][a] = to.stride(a), strides[1][a] = from.stride(a);
    work.nest = make_nest<R, 2>(to.extents, strides);
    constexpr int inner = R - 1;
    if (work.nest.strides[0][inner] != 1 || work.nest.strides[1][inner] == 1 || work.nest.extents[inner] < 16)
      return {};
    int across = -1;
    for (int a = 0; a < inner; ++a)
      if (work.nest.strides[1][a] == 1 && work.nest.extents[a] >= 16) across = a;
    if (across < 0) return {};
    done = true;
    KILN_TRY(check_view("copy", "the result", to));
    KILN_TRY(check_writable("copy", "the result", plain(to)));
    KILN_TRY(check_view("copy", "input 1", from));
    if (overlaps(from, to) != overlap::none)
      return fail(errc::overlap,
                  "copy: input 1 shares memory with the result, which is contiguous along another axis; needs memory "
                  "of its own");
    work.out = to.data;
    work.in = from.data;
    const double n = static_cast<double>(to.size());
    return run_tiles(
        ex,
        {.program = "copy", .schedule = "transposed tiles", .bytes = n * static_cast<double>(sizeof(In) + sizeof(Out))},
        work, work.cut(across));
  } else {
    return {};
  }
}

}  // namespace kiln::elementwise
