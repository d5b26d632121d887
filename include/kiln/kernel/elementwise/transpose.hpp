#pragma once
/// Copies between views whose unit axes differ: through a tile in shared memory, so that both sides touch whole lines.
#include <cstddef>
#include <cstdint>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/watched.hpp>

namespace kiln::elementwise {

/// Four of the bytes of a (numbers 0 to 3) and b (4 to 7), as the digits of `which` say, lowest first.
KILN_FN std::uint32_t picked(std::uint32_t a, std::uint32_t b, std::uint32_t which) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, which);
#else
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t r = 0;
  for (unsigned i = 0; i < 4; ++i) r |= static_cast<std::uint32_t>(both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
#endif
}

/// `across` is the axis along which the source is contiguous, the last one that along which the result is.
///
/// A thread reads `chunk` neighbours of each of `lines` neighbouring lines of the source and turns them in registers
/// into words of the tile, which has the result's lines as rows; chunks of `Access` bytes of those go to the result.
/// `Access` is 16 where both sides are aligned for it, else 4, or the size of an element.
///
/// `Along` and `Across` count 128 bytes along a line of the source and of the result.
template <int R, class Out, class In, int Access, int Along, int Across>
struct transposition {
  static constexpr int size = static_cast<int>(sizeof(Out));
  static constexpr int chunk = Access / size;
  static constexpr int unit = Access < 4 ? Access : size < 4 ? 4 : size;  ///< bytes of a word of the tile
  static constexpr int lines = unit / size;
  static constexpr int height = Along * 128 / size,
                       width = Across * 128 / size;  ///< rows of the tile, and elements of one
  static constexpr int row_chunks = width / chunk;
  /// Chunks of a row stand in an order of their own, so that neither the words of a warp, which go to the same chunk of
  /// `per_line` rows a chunk apart, nor the chunks that it reads meet in a bank.
  static constexpr int per_line = 128 / Access;
  struct shared {
    alignas(16) Out tile[height * width];
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
      along[a] = divisor(ceil_div<index_t>(nest.extents[a], tiled(a)));
      n *= along[a].value();
    }
    return n;
  }

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void tile(Scope threads, shared& memory, index_t number) const {
    constexpr int inner = R - 1;
    index_t from = 0, to = 0, first_across = 0, first_inner = 0;
    KILN_UNROLL
    for (int a = inner; a >= 0; --a) {
      const index_t q = along[a].of(number), at = (number - q * along[a].value()) * tiled(a);
      number = q;
      to += at * nest.strides[0][a], from += at * nest.strides[1][a];
      if (a == inner) first_inner = at;
      if (a == across) first_across = at;
    }
    const int rows = static_cast<int>(min_of<index_t>(height, nest.extents[across] - first_across));
    const int columns = static_cast<int>(min_of<index_t>(width, nest.extents[inner] - first_inner));
    const index_t from_step = nest.strides[1][inner], to_step = nest.strides[0][across];

    // A warp takes `lanes` chunks of 32 / lanes * lines lines: 128 bytes of each line.
    constexpr int lanes = per_line < 32 ? per_line : 32, warps = Scope::threads / 32;
    constexpr int warps_along = height / chunk / lanes, warps_across = warps / warps_along;
    constexpr int step = warps_across * (32 / lanes) * lines;  // between the lines that a thread reads
    constexpr int reads = width / step, at_once = reads * lines <= 8 ? reads : 8 / lines;
    static_assert(warps % warps_along == 0 && width % step == 0 && reads % at_once == 0);
    const watch_of watch(threads);
    threads.each([&](int t) {
      const int lane = t % 32, warp = t / 32;
      const int row = (lane % lanes + warp % warps_along * lanes) * chunk;
      const int first = (lane / lanes + warp / warps_along * (32 / lanes)) * lines;
      const In* const begin = in + from + row;
      if (row >= rows) return;
      KILN_NO_UNROLL
      for (int part = 0; part < reads; part += at_once) {
        Out r[at_once][lines][chunk];
        if constexpr (Scope::host) __builtin_memset(static_cast<void*>(r), 0, sizeof(r));
        KILN_UNROLL
        for (int k = 0; k < at_once; ++k) {
          const int column = first + (part + k) * step;
          if (column >= columns) continue;
          KILN_UNROLL
          for (int l = 0; l < lines; ++l) {
            if constexpr (std::is_same_v<In, Out>) {
              load_chunk(begin + (column + l) * from_step, r[k][l]);
            } else {
              In x[chunk];
              load_chunk(begin + (column + l) * from_step, x);
              KILN_UNROLL
              for (int c = 0; c < chunk; ++c) r[k][l][c] = detail::stored_as<Out>(x[c]);
            }
          }
        }
        KILN_UNROLL
        for (int k = 0; k < at_once; ++k) {
          const int column = first + (part + k) * step;
          if (column >= columns) continue;
          Out* const words = memory.tile + place(row, column);
          word<unit> turned[chunk];
          turn(r[k], turned);
          KILN_UNROLL
          for (int c = 0; c < chunk; ++c) {
            move<unit>(words + c * width, &turned[c]);
            watch.write(words + c * width, unit, t);
          }
        }
      }
    });
    sync(threads);
    constexpr int row_step = Scope::threads / row_chunks, writes = height / row_step;
    constexpr int writes_at_once = writes < 4 ? writes : 4;
    static_assert(Scope::threads % row_chunks == 0 && height % row_step == 0 && writes % writes_at_once == 0);
    threads.each([&](int t) {
      const int first = t / row_chunks, column = t % row_chunks * chunk;
      Out* const begin = out + to + column;
      if (column >= columns) return;
      KILN_NO_UNROLL
      for (int part = 0; part < writes; part += writes_at_once) {
        alignas(Access) Out x[writes_at_once][chunk];
        KILN_UNROLL
        for (int k = 0; k < writes_at_once; ++k) {
          const Out* const at = memory.tile + place(first + (part + k) * row_step, column);
          move<Access>(x[k], at);
          watch.read(at, Access, t);
        }
        KILN_UNROLL
        for (int k = 0; k < writes_at_once; ++k) {
          const int row = first + (part + k) * row_step;
          if (row < rows) store_chunk(begin + row * to_step, x[k]);
        }
      }
    });
    sync(threads);
  }

 private:
  /// Elements of a tile along an axis.
  KILN_FN index_t tiled(int axis) const { return axis == R - 1 ? width : axis == across ? height : 1; }

  KILN_FN static int place(int row, int column) {
    return row * width + ((column / chunk) ^ (row / chunk % per_line)) * chunk + column % chunk;
  }
  /// Word c gets element c of each line.
  KILN_FN static void turn(const Out (&from)[lines][chunk], word<unit> (&to)[chunk]) {
    if constexpr (size == 1 && lines == 4) {  // the compiler would move single bytes
      std::uint32_t w[4][chunk / 4];
      __builtin_memcpy(w, from, sizeof(w));
      KILN_UNROLL
      for (int i = 0; i < chunk / 4; ++i) {
        const std::uint32_t a = picked(w[0][i], w[1][i], 0x5140), b = picked(w[2][i], w[3][i], 0x5140);
        const std::uint32_t c = picked(w[0][i], w[1][i], 0x7362), d = picked(w[2][i], w[3][i], 0x7362);
        to[4 * i] = picked(a, b, 0x5410), to[4 * i + 1] = picked(a, b, 0x7632);
        to[4 * i + 2] = picked(c, d, 0x5410), to[4 * i + 3] = picked(c, d, 0x7632);
      }
    } else {
      KILN_UNROLL
      for (int c = 0; c < chunk; ++c) {
        Out x[lines];
        KILN_UNROLL
        for (int l = 0; l < lines; ++l) x[l] = from[l][c];
        __builtin_memcpy(&to[c], x, unit);
      }
    }
  }
  template <int Bytes>
  KILN_FN static void move(void* to, const void* from) {
    __builtin_memcpy(__builtin_assume_aligned(to, Bytes), __builtin_assume_aligned(from, Bytes), Bytes);
  }
};

/// Whether all accesses to chunks of `n` elements are aligned: of the source along `across`, of the result along the
/// last axis, and whether both are made of whole chunks.
template <int R, class Out, class In>
bool transposes_chunks(const loop_nest<R, 2>& nest, int across, const Out* out, const In* in, index_t n) {
  constexpr int inner = R - 1;
  const int out_bytes = access_bytes(sizeof(Out) * static_cast<std::size_t>(n)),
            in_bytes = access_bytes(sizeof(In) * static_cast<std::size_t>(n));
  bool good = is_aligned(out, out_bytes) && is_aligned(in, in_bytes) && nest.extents[inner] % n == 0 &&
              nest.extents[across] % n == 0;
  for (int a = 0; a < R; ++a) {
    if (a != inner) good = good && nest.strides[0][a] * static_cast<index_t>(sizeof(Out)) % out_bytes == 0;
    if (a != across) good = good && nest.strides[1][a] * static_cast<index_t>(sizeof(In)) % in_bytes == 0;
  }
  return good;
}

/// Elements that pass through a tile: words of memory, of 1, 2, 4 or 8 bytes.
template <class T>
inline constexpr bool is_word_sized = sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0;

/// Copies by tiles and sets `done` where the views are contiguous along different axes of 16 elements or more.
template <class Executor, class From, class To>
status copy_transposed(const Executor& ex, const From& from, const To& to, bool& done) {
  using In = typename From::value_type;
  using Out = typename To::value_type;
  constexpr int R = To::rank;
  if constexpr (R >= 2 && is_word_sized<In> && is_word_sized<Out>) {
    if (from.size() == INT64_MAX || to.size() == INT64_MAX) return {};
    for (int a = 0; a < R; ++a)
      if (from.extents[a] != to.extents[a] || from.extents[a] <= 0) return {};
    index_t strides[2][R];
    for (int a = 0; a < R; ++a) strides[0][a] = to.stride(a), strides[1][a] = from.stride(a);
    const auto nest = make_nest<R, 2>(to.extents, strides);
    constexpr int inner = R - 1;
    if (nest.strides[0][inner] != 1 || nest.strides[1][inner] == 1 || nest.extents[inner] < 16) return {};
    int across = -1;
    for (int a = 0; a < inner; ++a)
      if (nest.strides[1][a] == 1 && nest.extents[a] >= 16) across = a;
    if (across < 0) return {};
    done = true;
    KILN_TRY(check_view("copy", "the result", to));
    KILN_TRY(check_writable("copy", "the result", plain(to)));
    KILN_TRY(check_view("copy", "input 1", from));
    if (overlaps(from, to) != overlap::none)
      return fail(errc::overlap,
                  "copy: input 1 shares memory with the result, which is contiguous along another axis; needs memory "
                  "of its own");
    const double n = static_cast<double>(to.size());
    trace::launch_record what{
        .program = "copy", .schedule = "transposed tiles", .bytes = n * static_cast<double>(sizeof(In) + sizeof(Out))};
    const auto with = [&]<int Access, int Along, int Across>() {
      transposition<R, Out, In, Access, Along, Across> work;
      work.nest = nest, work.out = to.data, work.in = from.data;
      return run_tiles(ex, what, work, work.cut(across));
    };
    constexpr int size = static_cast<int>(sizeof(Out));
    // On an H200 these are the fastest of those between 4 and 32 KB, at 0.96 to 0.99 of a copy's rate.
    constexpr int lines = size == 1 ? 1 : 2, rows = size <= 2 ? 1 : 2;
    if (transposes_chunks(nest, across, to.data, from.data, 16 / size))
      return with.template operator()<16, lines, rows>();
    if constexpr (size < 4) {
      what.schedule = "transposed tiles, words";
      if (transposes_chunks(nest, across, to.data, from.data, 4 / size)) return with.template operator()<4, 1, 1>();
    }
    what.schedule = "transposed tiles, elements";
    return with.template operator()<size, 1, 1>();
  } else {
    return {};
  }
}

}  // namespace kiln::elementwise
