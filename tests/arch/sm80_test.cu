// The instructions of sm80 on both executors: each whole instruction against a reference that knows the PTX ISA's
// tables and nothing of the library's maps, then all together.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <kiln/arch/sm80.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/shared_tile.hpp>
#include <limits>
#include <vector>

#include "tests/arch/one_block.hpp"
#include "tests/layout/ptx_tables.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// ---- mma

template <class T>
struct mma_once {
  using acc = sm80::mma_accumulator_t<T>;
  const std::uint32_t *a, *b;
  const acc* c;
  acc* d;

  template <class Warp>
  KILN_FN void operator()(Warp warp, unsigned char*) const {
    fragments<std::uint32_t, 4, Warp> fa;
    fragments<std::uint32_t, 2, Warp> fb;
    fragments<acc, 4, Warp> fc;
    warp.each([&](int lane) {
      KILN_UNROLL
      for (int i = 0; i < 4; ++i) fa.of(lane)[i] = a[lane * 4 + i], fc.of(lane)[i] = c[lane * 4 + i];
      KILN_UNROLL
      for (int i = 0; i < 2; ++i) fb.of(lane)[i] = b[lane * 2 + i];
    });
    sm80::mma<T>(
        warp, [&](int lane) { return fa.of(lane); }, [&](int lane) { return fb.of(lane); },
        [&](int lane) { return fc.of(lane); });
    warp.each([&](int lane) {
      KILN_UNROLL
      for (int i = 0; i < 4; ++i) d[lane * 4 + i] = fc.of(lane)[i];
    });
  }
};

// Elements in the order of the PTX ISA's fragments: lane after lane, a0, a1, ... of each.
template <class T, class Place>
std::vector<std::uint32_t> packed(const std::vector<T>& matrix, int cols, int elements_of_lane, Place place) {
  std::vector<T> r(at(32 * elements_of_lane));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements_of_lane; ++i) {
      const ptx::place p = place(lane, i);
      r[at(lane * elements_of_lane + i)] = matrix[at(p.row * cols + p.col)];
    }
  }
  std::vector<std::uint32_t> words(r.size() * sizeof(T) / 4);
  std::memcpy(words.data(), r.data(), words.size() * 4);
  return words;
}

template <class T>
struct product {
  static constexpr int depth = 32 / static_cast<int>(sizeof(T));
  using acc = sm80::mma_accumulator_t<T>;
  std::vector<T> a{std::vector<T>(at(16 * depth))}, b{std::vector<T>(at(depth * 8))};
  std::vector<acc> c{std::vector<acc>(128)};

  // 16 x 8 as the executor computes it, row by row.
  template <class Fixture>
  std::vector<acc> run(Fixture& f) const {
    constexpr bool narrow = sizeof(T) == 1;
    const auto place_a = [](int lane, int i) { return narrow ? ptx::m16n8k32_a(lane, i) : ptx::m16n8k16_a(lane, i); };
    const auto place_b = [](int lane, int i) { return narrow ? ptx::m16n8k32_b(lane, i) : ptx::m16n8k16_b(lane, i); };
    std::vector<acc> c_fragments(128), d(128);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const ptx::place p = ptx::m16n8k16_c(lane, i);
        c_fragments[at(lane * 4 + i)] = c[at(p.row * 8 + p.col)];
      }
    }
    auto& out = f.template output<acc>(128);
    one_block<32>(f.executor(), mma_once<T>{f.input(packed(a, depth, depth / 2, place_a)).data(),
                                            f.input(packed(b, 8, depth / 4, place_b)).data(),
                                            f.input(c_fragments).data(), out.data()});
    const auto values = out.values();
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const ptx::place p = ptx::m16n8k16_c(lane, i);
        d[at(p.row * 8 + p.col)] = values[at(lane * 4 + i)];
      }
    }
    return d;
  }

  // Exact sum in float64 (or int64) and the sum of magnitudes.
  void reference(int m, int n, double& sum, double& magnitudes) const {
    sum = static_cast<double>(c[at(m * 8 + n)]);
    magnitudes = std::abs(sum);
    for (int k = 0; k < depth; ++k) {
      const double x = as_double(a[at(m * depth + k)]) * as_double(b[at(k * 8 + n)]);
      sum += x;
      magnitudes += std::abs(x);
    }
  }
};

template <class E, class T>
struct on {
  using executor = E;
  using type = T;
};
template <class E>
class mma_of_one_type;
template <class E, class T>
class mma_of_one_type<on<E, T>> : public on_executor<E> {
 protected:
  void SetUp() override {
    on_executor<E>::SetUp();
#if defined(__CUDACC__)
    if constexpr (!E::on_host) {
      int major = 0, minor = 0;
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
      if (!this->IsSkipped() && major * 10 + minor < sm80::mma_needs<T>) GTEST_SKIP() << name_of<T>() << " needs 8.9";
    }
#endif
  }
};
using mma_types =
    ::testing::Types<on<host_executor, f16>, on<host_executor, bf16>, on<host_executor, e4m3>, on<host_executor, e5m2>,
                     on<host_executor, std::int8_t>, on<host_executor, std::uint8_t>
#if defined(__CUDACC__)
                     ,
                     on<device, f16>, on<device, bf16>, on<device, e4m3>, on<device, e5m2>, on<device, std::int8_t>,
                     on<device, std::uint8_t>
#endif
                     >;
struct mma_names {
  template <class P>
  static std::string GetName(int) {
    return executor_names::GetName<typename P::executor>(0) + "_" + name_of<typename P::type>();
  }
};
TYPED_TEST_SUITE(mma_of_one_type, mma_types, mma_names);

TYPED_TEST(mma_of_one_type, is_exact_for_small_integers) {
  using T = typename TypeParam::type;
  product<T> p;
  const int low = std::is_same_v<T, std::uint8_t> ? 0 : -4;
  p.a = small_integers<T>(p.a.size(), 11, low);
  p.b = small_integers<T>(p.b.size(), 12, low);
  p.c = small_integers<typename product<T>::acc>(128, 13);
  const auto d = p.run(*this);
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      double sum, magnitudes;
      p.reference(m, n, sum, magnitudes);
      EXPECT_EQ(static_cast<double>(d[at(m * 8 + n)]), sum) << m << ", " << n;
    }
  }
}

// Host: K additions in float32, each within 2^-24 of its result, which stays below the sum of magnitudes (first order,
// plus one for the higher orders). Device: the unit aligns the K products and c to the largest of them and cuts what
// lies below its last bit, 2^-23 for 16-bit operands and 2^-13 for 8-bit floats; the result is cut to float32 at the
// end.
TYPED_TEST(mma_of_one_type, is_within_the_bound_of_its_accumulation) {
  using T = typename TypeParam::type;
  product<T> p;
  p.a = uniform<T>(p.a.size(), 21);
  p.b = uniform<T>(p.b.size(), 22);
  p.c = uniform<typename product<T>::acc>(128, 23);
  if constexpr (std::is_integral_v<T>)
    for (auto& x : p.c) x /= 2;
  const auto d = p.run(*this);
  constexpr int depth = product<T>::depth;
  const double unit = std::is_integral_v<T>          ? 0
                      : TypeParam::executor::on_host ? 0x1p-24
                      : sizeof(T) == 2               ? 0x1p-23
                                                     : 0x1p-13;
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      double sum, magnitudes;
      p.reference(m, n, sum, magnitudes);
      EXPECT_LE(std::abs(static_cast<double>(d[at(m * 8 + n)]) - sum), (depth + 2) * unit * magnitudes)
          << m << ", " << n;
    }
  }
}

TYPED_TEST(mma_of_one_type, keeps_nan_and_wraps_integers) {
  using T = typename TypeParam::type;
  product<T> p;
  p.a = small_integers<T>(p.a.size(), 31, 1, 3);
  p.b = small_integers<T>(p.b.size(), 32, 1, 3);
  constexpr int depth = product<T>::depth;
  if constexpr (std::is_integral_v<T>) {
    for (auto& x : p.c) x = std::numeric_limits<std::int32_t>::max() - 3;
  } else {
    p.a[at(5 * depth + 9)] = value_of<T>(std::numeric_limits<float>::quiet_NaN());
    p.c[at(7 * 8 + 3)] = std::numeric_limits<float>::infinity();
  }
  const auto d = p.run(*this);
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      const auto got = d[at(m * 8 + n)];
      if constexpr (std::is_integral_v<T>) {
        double sum, magnitudes;
        p.reference(m, n, sum, magnitudes);
        EXPECT_EQ(static_cast<double>(got), sum - 0x1p32);
      } else {
        EXPECT_EQ(std::isnan(got), m == 5) << m << ", " << n;
        EXPECT_EQ(std::isinf(got), m == 7 && n == 3) << m << ", " << n;
      }
    }
  }
}

// ---- cp.async

constexpr int copiers = 64;

// Thread t copies its piece to a place of another; its neighbour carries that place out.
template <int Bytes>
struct copy_pieces {
  const unsigned char* from;
  const int* valid;
  unsigned char* to;

  KILN_FN static int place(int thread) { return (thread * 5 + 3) % copiers * Bytes; }

  template <class Block>
  KILN_FN void operator()(Block block, unsigned char* shared) const {
    block.each([&](int t) {
      sm80::cp_async<Bytes>(block, t, shared + place(t), valid[t] == 0 ? nullptr : from + t * Bytes, valid[t]);
    });
    sm80::cp_async_commit(block);
    sm80::cp_async_wait<0>(block);
    sync(block);
    block.each([&](int t) {
      const int other = (t + 1) % copiers;
      for (int i = 0; i < Bytes; ++i) to[other * Bytes + i] = shared[place(other) + i];
    });
  }
};

template <int Bytes, class Fixture>
void check_copies(Fixture& f) {
  // The last piece ends inside its 16 bytes, where the source's buffer ends, too.
  constexpr int last = Bytes - 1;
  std::vector<unsigned char> source(at((copiers - 1) * Bytes + last));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(hash(Bytes, i) | 1);
  std::vector<int> valid(copiers);
  for (int t = 0; t < copiers; ++t) valid[at(t)] = t == copiers - 1 ? last : t % (Bytes + 1);
  auto& out = f.template output<unsigned char>(at(copiers * Bytes));
  one_block<copiers>(f.executor(), copy_pieces<Bytes>{f.input(source).data(), f.input(valid).data(), out.data()},
                     copiers * Bytes);
  const auto got = out.values();
  for (int t = 0; t < copiers; ++t) {
    for (int i = 0; i < Bytes; ++i) {
      const int expected = i < valid[at(t)] ? source[at(t * Bytes + i)] : 0;
      EXPECT_EQ(got[at(t * Bytes + i)], expected) << Bytes << " bytes, thread " << t << ", byte " << i;
    }
  }
}

KILN_ON_EXECUTORS(sm80_instructions);

TYPED_TEST(sm80_instructions, cp_async_copies_the_valid_bytes_and_fills_with_zero) {
  check_copies<4>(*this);
  check_copies<8>(*this);
  check_copies<16>(*this);
}

// ---- ldmatrix

template <int Count, bool Trans>
struct load_once {
  std::uint32_t* to;

  // Lines lie scattered, so that only the addresses can find them.
  KILN_FN static int line(int i) { return (i * 11 + 5) % 32 * 16; }

  template <class Warp>
  KILN_FN void operator()(Warp warp, unsigned char* shared) const {
    warp.each([&](int lane) {
      for (int col = 0; col < 8; ++col) {
        if constexpr (Warp::host) twin::note_write(shared + line(lane) + col * 2, 2, lane);
        reinterpret_cast<std::uint16_t*>(shared + line(lane))[col] = static_cast<std::uint16_t>(1000 + lane * 8 + col);
      }
    });
    sync(warp);
    fragments<std::uint32_t, Count, Warp> r;
    const auto address = [&](int lane) { return shared + line(lane); };
    const auto registers = [&](int lane) { return r.of(lane); };
    if constexpr (Trans)
      sm80::ldmatrix_trans<Count>(warp, address, registers);
    else
      sm80::ldmatrix<Count>(warp, address, registers);
    warp.each([&](int lane) {
      for (int i = 0; i < Count; ++i) to[lane * Count + i] = r.of(lane)[i];
    });
  }
};

template <int Count, bool Trans, class Fixture>
void check_load(Fixture& f) {
  auto& out = f.template output<std::uint32_t>(at(32 * Count));
  one_block<32>(f.executor(), load_once<Count, Trans>{out.data()}, 512);
  const auto got = out.values();
  for (int matrix = 0; matrix < Count; ++matrix) {
    for (int row = 0; row < 8; ++row) {
      for (int col = 0; col < 8; ++col) {
        const int r = Trans ? col : row, c = Trans ? row : col;
        const std::uint32_t both = got[at(ptx::ldmatrix_thread_of_pair[r][c / 2] * Count + matrix)];
        EXPECT_EQ(static_cast<int>(c % 2 == 0 ? both & 0xffff : both >> 16), 1000 + (matrix * 8 + row) * 8 + col)
            << "x" << Count << (Trans ? ".trans" : "") << ", matrix " << matrix << ", " << row << ", " << col;
      }
    }
  }
}

TYPED_TEST(sm80_instructions, ldmatrix_distributes_rows_of_8_as_the_ptx_isa_pictures) {
  check_load<1, false>(*this);
  check_load<2, false>(*this);
  check_load<4, false>(*this);
  check_load<1, true>(*this);
  check_load<2, true>(*this);
  check_load<4, true>(*this);
}

// ---- all together: D = A B from swizzled tiles, 64 x 32 x 64 by four warps

template <class T, swizzle S, bool TransA, bool TransB>
struct tile_product {
  static constexpr int m = 64, n = 32, k = 64, chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int rows_a = TransA ? k : m, cols_a = TransA ? m : k;
  static constexpr int rows_b = TransB ? k : n, cols_b = TransB ? n : k;
  // A [k][n] tile of 16-bit elements is 64 bytes wide, so a 128-byte swizzle cannot serve it.
  static constexpr swizzle swizzle_b = TransB && S == swizzle::b128 ? swizzle::b64 : S;
  struct storage {
    shared_tile<T, rows_a, cols_a, S> a;
    shared_tile<T, rows_b, cols_b, swizzle_b> b;
  };
  using acc = sm80::mma_accumulator_t<T>;
  const T *a, *b;  // dense, in the tiles' order
  acc* d;          // [m][n]

  template <class Block, class Tile>
  KILN_FN static void fill(Block block, Tile& tile, const T* from) {
    block.each([&](int t) {
      for (int c = t; c < Tile::rows * Tile::cols / chunk; c += Block::threads) {
        const int at = c * chunk;
        sm80::cp_async<16>(block, t, tile.address(at / Tile::cols, at % Tile::cols), from + at);
      }
    });
  }

  template <class Block>
  KILN_FN void operator()(Block block, unsigned char* shared) const {
    storage& s = *reinterpret_cast<storage*>(shared);
    fill(block, s.a, a);
    fill(block, s.b, b);
    sm80::cp_async_commit(block);
    sm80::cp_async_wait<0>(block);
    sync(block);
    block.template split<32>([&](auto warp) { warp_part(warp, s); });
  }

  template <class Warp>
  KILN_FN void warp_part(Warp warp, const storage& s) const {
    fragments<std::uint32_t, 4, Warp> fa, fb;
    fragments<acc, 16, Warp> sum;
    warp.each([&](int lane) {
      for (acc& x : sum.of(lane)) x = 0;
    });
    const int top = warp.number() * 16;
    KILN_UNROLL
    for (int step = 0; step < k; step += sm80::mma_k<T>) {
      const auto to_a = [&](int lane) { return fa.of(lane); };
      const auto to_b = [&](int lane) { return fb.of(lane); };
      if constexpr (TransA) {
        const auto from = [&](int lane) {
          const auto [row, col] = ldmatrix_a_trans(lane);
          return s.a.address(step + row, top + col);
        };
        sm80::ldmatrix_trans<4>(warp, from, to_a);
      } else {
        const auto from = [&](int lane) {
          const auto [row, col] = ldmatrix_a<8 * sizeof(T)>(lane);
          return s.a.address(top + row, step + col);
        };
        sm80::ldmatrix<4>(warp, from, to_a);
      }
      KILN_UNROLL
      for (int left = 0; left < n; left += 16) {
        if constexpr (TransB) {
          const auto from = [&](int lane) {
            const auto [row, col] = ldmatrix_b_trans(lane);
            return s.b.address(step + row, left + col);
          };
          sm80::ldmatrix_trans<4>(warp, from, to_b);
        } else {
          const auto from = [&](int lane) {
            const auto [row, col] = ldmatrix_b<8 * sizeof(T)>(lane);
            return s.b.address(left + row, step + col);
          };
          sm80::ldmatrix<4>(warp, from, to_b);
        }
        KILN_UNROLL
        for (int half = 0; half < 2; ++half) {
          sm80::mma<T>(
              warp, to_a, [&](int lane) { return fb.of(lane) + half * 2; },
              [&](int lane) { return sum.of(lane) + (left / 8 + half) * 4; });
        }
      }
    }
    warp.each([&](int lane) {
      KILN_UNROLL
      for (int i = 0; i < 16; ++i) {
        const auto [row, col] = mma_c(lane, i % 4);
        d[(top + row) * n + i / 4 * 8 + col] = sum.of(lane)[i];
      }
    });
  }
};

template <class T, swizzle S, bool TransA, bool TransB, class Fixture>
void check_product(Fixture& f) {
  using program = tile_product<T, S, TransA, TransB>;
  constexpr int m = program::m, n = program::n, k = program::k;
  const auto a = small_integers<T>(m * k, 41), b = small_integers<T>(n * k, 42);
  auto& out = f.template output<typename program::acc>(m * n);
  one_block<128>(f.executor(), program{f.input(a).data(), f.input(b).data(), out.data()},
                 sizeof(typename program::storage));
  const auto got = out.values();
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += as_double(a[at(TransA ? l * m + i : i * k + l)]) * as_double(b[at(TransB ? l * n + j : j * k + l)]);
      ASSERT_EQ(static_cast<double>(got[at(i * n + j)]), sum)
          << "swizzle of " << panel_bytes(S) << ", trans " << TransA << TransB << ", at " << i << ", " << j;
    }
  }
}

TYPED_TEST(sm80_instructions, make_a_product_from_swizzled_tiles_in_all_layouts) {
  check_product<f16, swizzle::b128, false, false>(*this);
  check_product<bf16, swizzle::b128, true, false>(*this);
  check_product<f16, swizzle::b128, false, true>(*this);
  check_product<bf16, swizzle::b128, true, true>(*this);
  check_product<bf16, swizzle::b64, false, true>(*this);
  check_product<f16, swizzle::b32, true, false>(*this);
  check_product<bf16, swizzle::none, false, false>(*this);
}
TYPED_TEST(sm80_instructions, make_an_integer_product_from_swizzled_tiles) {
  check_product<std::int8_t, swizzle::b64, false, false>(*this);
  check_product<std::int8_t, swizzle::none, false, false>(*this);
}

}  // namespace
}  // namespace kiln::test
