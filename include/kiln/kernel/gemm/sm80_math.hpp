#pragma once
/// A warp's product with mma.sync: f16, bf16 (any major), 8-bit integers and floats (K-major tiles). Fragments come by
/// ldmatrix. Before 8.9, on 9.0, and where e4m3 meets e5m2, 8-bit floats become f16 in registers.
#include <kiln/arch/sm80.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln {

/// Types of A and B whose products mma.sync makes, exact ones.
template <class A, class B>
inline constexpr bool sm80_pair = std::is_same_v<A, B> ? sm80::has_mma<A> : is_fp8_v<A> && is_fp8_v<B>;

/// A warp tile of WM x WN: blocks of 16 x 8 accumulators, register ((i * WN / 8) + j) * 4 + r of block row i, block
/// column j.
template <class Arguments, int WM, int WN, int K>
struct sm80_math {
  using element = typename Arguments::a_type;
  using accumulator = typename Arguments::accumulator;
  using b_element = typename Arguments::b_type;
  static_assert(sm80_pair<element, b_element>,
                "gemm: the sm80 instructions take f16, bf16, int8, uint8, e4m3 or e5m2, both operands alike or both "
                "8-bit floats");
  static_assert(WM % 16 == 0 && WN % 16 == 0, "config: an sm80 warp tile is a multiple of 16 x 16");

  static constexpr int products = Arguments::products;
  static constexpr int bits = 8 * static_cast<int>(sizeof(element));
  static constexpr int depth = sm80::mma_k<element>;
  static constexpr int rows = WM / 16, cols = WN / 8, registers = rows * cols * 4;
  static constexpr int chunks = rows, chunk_rows = 16, chunk_registers = cols * 4;
  static constexpr int k_multiple = depth;
  // ldmatrix transposes 16-bit elements only; an 8-bit operand is turned K-major on its way into the tile.
  static constexpr bool a_k_major = bits != 16 || Arguments::a_major != major::mn;
  static constexpr bool b_k_major = bits != 16 || Arguments::b_major != major::mn;

  KILN_FN static constexpr coord position(int lane, int r) {
    const tile_coord c = mma_c(lane, r % 4);
    return {r / 4 / cols * 16 + c.row, r / 4 % cols * 8 + c.col};
  }

  /// Registers that hold the operands of two steps of K: one is multiplied while the other is fetched. All products
  /// share A.
  template <class Block>
  struct operands {
    fragments<std::uint32_t, rows * 4, Block> a[2];
    fragments<std::uint32_t, cols * 2, Block> b[products][2];
  };
  static constexpr int steps = K / depth;
  static constexpr int parts = steps;  ///< in which the next slot is loaded
  static_assert(steps % 2 == 0, "config: K of the tile holds an even number of the instruction's steps");

  /// Fetches the operands of step `s` of the warp tile at (row0, col0). The host leaves out those outside the matrix.
  template <class Warp, class ATile, class BTile, class Operands>
  KILN_FN static void fetch(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                            int s, Operands& o) {
    const int k = s * depth;
    const auto a_at = [&](int lane) {
      const tile_coord c = a_k_major ? ldmatrix_a<bits>(lane) : ldmatrix_a_trans(lane);
      return a_k_major ? a.at(row0 + c.row, c.col) : a.at(c.row, row0 + c.col);
    };
    KILN_UNROLL
    for (int i = 0; i < rows; ++i) {
      if (Warp::host && 16 * i >= inside.row) break;
      const auto registers_of = [&](int lane) { return o.a[s % 2].of(warp.first + lane) + 4 * i; };
      if constexpr (a_k_major)
        sm80::ldmatrix<4>(warp, [&](int lane) { return a_at(lane).address(16 * i, k); }, registers_of);
      else
        sm80::ldmatrix_trans<4>(warp, [&](int lane) { return a_at(lane).address(k, 16 * i); }, registers_of);
    }
    KILN_UNROLL
    for (int q = 0; q < products; ++q) {
      const auto b_at = [&](int lane) {
        const tile_coord c = b_k_major ? ldmatrix_b<bits>(lane) : ldmatrix_b_trans(lane);
        return b_k_major ? b[q].at(col0 + c.row, c.col) : b[q].at(c.row, col0 + c.col);
      };
      KILN_UNROLL
      for (int j = 0; j < cols; j += 2) {
        if (Warp::host && 8 * j >= inside.col) break;
        const auto registers_of = [&](int lane) { return o.b[q][s % 2].of(warp.first + lane) + 2 * j; };
        if constexpr (b_k_major)
          sm80::ldmatrix<4>(warp, [&](int lane) { return b_at(lane).address(8 * j, k); }, registers_of);
        else
          sm80::ldmatrix_trans<4>(warp, [&](int lane) { return b_at(lane).address(k, 8 * j); }, registers_of);
      }
    }
  }

  /// sums += A * B of step `s`. `sums(lane, product)` gives the lane's registers.
  template <class Warp, class Operands, class Acc>
  KILN_FN static void multiply(Warp warp, const Operands& o, int s, coord inside, Acc&& sums) {
    if constexpr (widens()) multiply_widened(warp, o, s, inside, sums);
    else multiply_plain(warp, o, s, inside, sums);
  }

  /// The first fetch of a slot.
  template <class Warp, class ATile, class BTile, class Operands>
  KILN_FN static void begin(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                            Operands& o) {
    fetch(warp, a, b, row0, col0, inside, 0, o);
  }
  /// All of a slot but its last products; afterwards the slot has been read. Calls `beside(part)` for parts 1 and on,
  /// each before the products of one step.
  template <class Warp, class ATile, class BTile, class Operands, class Acc, class Beside>
  KILN_FN static void most(Warp warp, const ATile& a, const BTile (&b)[products], int row0, int col0, coord inside,
                           index_t, Operands& o, Acc&& sums, Beside&& beside) {
    KILN_UNROLL
    for (int s = 0; s + 1 < steps; ++s) {
      fetch(warp, a, b, row0, col0, inside, s + 1, o);
      beside(s + 1);
      multiply(warp, o, s, inside, sums);
    }
  }
  /// The last products.
  template <class Warp, class Operands, class Acc>
  KILN_FN static void last(Warp warp, const Operands& o, coord inside, Acc&& sums) {
    multiply(warp, o, steps - 1, inside, sums);
  }

 private:
  /// Whether 8-bit floats become f16 here. GPUs of 9.0 have no such mma.sync either: the assembler writes it out, in
  /// more registers than there are.
  KILN_FN static constexpr bool widens() {
#if defined(__CUDA_ARCH__)
    constexpr bool own = __CUDA_ARCH__ >= 10 * sm80::mma_needs<element> && __CUDA_ARCH__ != 900;
    return is_fp8_v<element> && (!own || !std::is_same_v<element, b_element>);
#else
    return is_fp8_v<element>;
#endif
  }

  template <class Warp, class Operands, class Acc>
  KILN_FN static void multiply_plain(Warp warp, const Operands& o, int s, coord inside, Acc&& sums) {
    KILN_UNROLL
    for (int q = 0; q < products; ++q) {
      KILN_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (Warp::host && 16 * i >= inside.row) break;
        KILN_UNROLL
        for (int j = 0; j < cols; ++j) {
          if (Warp::host && 8 * j >= inside.col) break;
          sm80::mma<element>(
              warp, [&](int lane) { return o.a[s % 2].of(warp.first + lane) + 4 * i; },
              [&](int lane) { return o.b[q][s % 2].of(warp.first + lane) + 2 * j; },
              [&](int lane) { return sums(lane, q) + (i * cols + j) * 4; });
        }
      }
    }
  }

  /// A register's lower (0) or upper (1) two elements as f16.
  template <class T>
  KILN_FN static std::uint32_t widened(std::uint32_t four, int which) {
    return widen2<T>(static_cast<std::uint16_t>(four >> (16 * which)));
  }

  /// The same with f16's instruction, twice for one step: it is half as deep. Which k an element stands for is all the
  /// same as long as A and B agree: of each register, the lower elements are the first half of the instruction's k.
  template <class Warp, class Operands, class Acc>
  KILN_FN static void multiply_widened(Warp warp, const Operands& o, int s, coord inside, Acc&& sums) {
    KILN_UNROLL
    for (int half = 0; half < 2; ++half) {
      KILN_UNROLL
      for (int q = 0; q < products; ++q) {
        fragments<std::uint32_t, cols * 2, Warp> b;
        warp.each([&](int lane) {
          const std::uint32_t* from = o.b[q][s % 2].of(warp.first + lane);
          KILN_UNROLL
          for (int j = 0; j < 2 * cols; ++j) b.of(lane)[j] = widened<b_element>(from[j / 2 * 2 + half], j % 2);
        });
        KILN_UNROLL
        for (int i = 0; i < rows; ++i) {
          if (Warp::host && 16 * i >= inside.row) break;
          fragments<std::uint32_t, 4, Warp> a;
          warp.each([&](int lane) {
            const std::uint32_t* from = o.a[s % 2].of(warp.first + lane) + 4 * i + 2 * half;
            KILN_UNROLL
            for (int r = 0; r < 4; ++r) a.of(lane)[r] = widened<element>(from[r % 2], r / 2);
          });
          KILN_UNROLL
          for (int j = 0; j < cols; ++j) {
            if (Warp::host && 8 * j >= inside.col) break;
            sm80::mma<f16>(
                warp, [&](int lane) { return a.of(lane); }, [&](int lane) { return b.of(lane) + 2 * j; },
                [&](int lane) { return sums(lane, q) + (i * cols + j) * 4; });
          }
        }
      }
    }
  }
};

}  // namespace kiln
