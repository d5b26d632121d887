// Collectives of lanes on both executors: the same steps in the same order, so floats are compared bit by bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <kiln/core/numeric.hpp>
#include <kiln/tile/exchange.hpp>
#include <vector>

#include "tests/arch/one_block.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

constexpr int threads = 96, registers = 3;
std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// x -> a x + b modulo 2^32: composing is associative and not commutative.
struct affine {
  std::uint32_t a, b;
};
struct compose {
  KILN_FN affine operator()(affine earlier, affine later) const {
    return {later.a * earlier.a, later.a * earlier.b + later.b};
  }
};
struct add {
  template <class T>
  KILN_FN T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, f16>)
      return f16(float{x} + float{y});
    else
      return static_cast<T>(x + y);
  }
};
struct largest {
  template <class T>
  KILN_FN T operator()(T x, T y) const {
    return x < y ? y : x;
  }
};

// Loads registers[thread][i], lets `step` act on them, stores them.
template <class T, class Step>
struct with_registers {
  const T* from;
  T* to;
  Step step;
  template <class Block>
  KILN_FN void operator()(Block block, unsigned char*) const {
    fragments<T, registers, Block> x;
    block.each([&](int t) {
      for (int i = 0; i < registers; ++i) x.of(t)[i] = from[t * registers + i];
    });
    step(block, x);
    block.each([&](int t) {
      for (int i = 0; i < registers; ++i) to[t * registers + i] = x.of(t)[i];
    });
  }
};

template <class T, class Step, class Fixture>
std::vector<T> run(Fixture& f, const std::vector<T>& values, Step step) {
  auto& out = f.template output<T>(values.size());
  one_block<threads>(f.executor(), with_registers<T, Step>{f.input(values).data(), out.data(), step});
  return out.values();
}

template <int Width, class Op>
struct reduce_step {
  template <class Block, class F>
  KILN_FN void operator()(Block block, F& x) const {
    group_reduce<Width>(block, x, Op{});
  }
};
template <int Width, class Op>
struct scan_step {
  template <class Block, class F>
  KILN_FN void operator()(Block block, F& x) const {
    group_scan<Width>(block, x, Op{});
  }
};

template <class T>
bool same_bits(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}

// The balanced tree over neighbours, which is what a butterfly computes in every lane when op commutes.
template <class T, class Op>
T tree(const std::vector<T>& values, int thread, int reg, int width, Op op) {
  if (width == 1) return values[at(thread * registers + reg)];
  return op(tree(values, thread, reg, width / 2, op), tree(values, thread + width / 2, reg, width / 2, op));
}

template <int Width, class Op, class T, class Fixture>
void check_reduce(Fixture& f, const std::vector<T>& values) {
  const auto got = run(f, values, reduce_step<Width, Op>{});
  for (int t = 0; t < threads; ++t)
    for (int i = 0; i < registers; ++i)
      EXPECT_TRUE(same_bits(got[at(t * registers + i)], tree(values, t / Width * Width, i, Width, Op{})))
          << "width " << Width << ", thread " << t << ", register " << i;
}
template <int Width, class Op, class T, class Fixture>
void check_scan(Fixture& f, const std::vector<T>& values) {
  const auto got = run(f, values, scan_step<Width, Op>{});
  for (int i = 0; i < registers; ++i) {
    T sum{};
    for (int t = 0; t < threads; ++t) {
      const T x = values[at(t * registers + i)];
      sum = t % Width == 0 ? x : Op{}(sum, x);
      EXPECT_TRUE(same_bits(got[at(t * registers + i)], sum))
          << "width " << Width << ", thread " << t << ", register " << i;
    }
  }
}

KILN_ON_EXECUTORS(lane_exchange);

TYPED_TEST(lane_exchange, group_reduce_gives_all_lanes_the_sum_of_their_group) {
  const auto values = uniform<float>(threads * registers, 1);
  check_reduce<1, add>(*this, values);
  check_reduce<2, add>(*this, values);
  check_reduce<4, add>(*this, values);
  check_reduce<8, add>(*this, values);
  check_reduce<16, add>(*this, values);
  check_reduce<32, add>(*this, values);
}
TYPED_TEST(lane_exchange, group_reduce_takes_values_of_1_2_4_and_8_bytes) {
  check_reduce<8, add>(*this, uniform<std::uint8_t>(threads * registers, 2));
  check_reduce<16, add>(*this, uniform<f16>(threads * registers, 3));
  check_reduce<32, largest>(*this, uniform<std::int32_t>(threads * registers, 4));
  check_reduce<4, add>(*this, uniform<double>(threads * registers, 5));
}

TYPED_TEST(lane_exchange, group_scan_combines_lanes_in_their_order) {
  std::vector<affine> values(threads * registers);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = {static_cast<std::uint32_t>(hash(6, i)) | 1, static_cast<std::uint32_t>(hash(7, i))};
  check_scan<1, compose>(*this, values);
  check_scan<2, compose>(*this, values);
  check_scan<8, compose>(*this, values);
  check_scan<32, compose>(*this, values);
  check_scan<32, add>(*this, small_integers<std::int32_t>(threads * registers, 8));
}

// Sources that no pattern of neighbours gives, several lanes reading one.
struct scattered {
  KILN_FN int operator()(int lane) const { return (lane * lane + 7 * lane + 3) % 32; }
};
struct shuffle_step {
  template <class Block, class F>
  KILN_FN void operator()(Block block, F& x) const {
    shuffle(block, x, scattered{});
  }
};

TYPED_TEST(lane_exchange, shuffle_reads_any_lane_of_the_own_warp) {
  const auto values = uniform<float>(threads * registers, 9);
  const auto got = run(*this, values, shuffle_step{});
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < registers; ++i) {
      const int source = t / 32 * 32 + scattered{}(t % 32);
      EXPECT_EQ(got[at(t * registers + i)], values[at(source * registers + i)]) << "thread " << t << ", register " << i;
    }
  }
}

// ---- barriers: a value goes round the parts of a block through shared memory

template <int Parts>
struct pass_round {
  std::int32_t* to;
  template <class Block>
  KILN_FN void operator()(Block block, unsigned char* shared) const {
    auto* cells = reinterpret_cast<std::int32_t*>(shared);
    block.template split<Block::threads / Parts>([&](auto part) {
      constexpr int size = decltype(part)::threads;
      const int number = part.number();
      part.each([&](int t) {
        if constexpr (Block::host) twin::note_write(cells + number * size + t, 4, part.first + t);
        cells[number * size + t] = 100 * number + t;
      });
      if constexpr (size == 32)
        sync(part);
      else
        sync(part, 1 + number);
      part.each([&](int t) {
        const int other = number * size + (t + 1) % size;
        if constexpr (Block::host) twin::note_read(cells + other, 4, part.first + t);
        to[number * size + t] = cells[other];
      });
    });
    sync(block);
  }
};

template <int Parts, class Fixture>
void check_parts(Fixture& f) {
  constexpr int size = 256 / Parts;
  auto& out = f.template output<std::int32_t>(256);
  one_block<256>(f.executor(), pass_round<Parts>{out.data()}, 256 * 4);
  const auto got = out.values();
  for (int t = 0; t < 256; ++t) EXPECT_EQ(got[at(t)], 100 * (t / size) + (t + 1) % size) << t;
}

TYPED_TEST(lane_exchange, sync_joins_a_warp_or_a_named_part_of_the_block) {
  check_parts<8>(*this);
  check_parts<4>(*this);
  check_parts<2>(*this);
  check_parts<1>(*this);
}

}  // namespace
}  // namespace kiln::test
