// Hopper's instructions on both executors: products of every type, size and layout, copies at the edges of a tensor,
// and a ring of both. References know the PTX ISA's tables and nothing of the library's maps.
#include <gtest/gtest.h>

#include <cstdint>
#include <kiln/arch/sm90.hpp>
#include <kiln/tile/exchange.hpp>
#include <string>
#include <vector>

#include "tests/arch/one_warpgroup.hpp"
#include "tests/arch/sm90_ring.hpp"
#include "tests/layout/wgmma_tables.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

template <class Executor>
class hopper : public on_executor<Executor> {
 protected:
  void SetUp() override {
    on_executor<Executor>::SetUp();
    if (this->IsSkipped()) return;
    if (const auto why = no_sm90<Executor>(); !why.empty()) GTEST_SKIP() << why;
  }
};
TYPED_TEST_SUITE(hopper, executors, executor_names);

template <class Executor>
using where_of = std::conditional_t<Executor::on_host, on_host, on_device>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// The operand of `extent` rows (or columns) and `depth` elements of K in shared memory: where element (mn, k) lies,
/// and the descriptor of the part from K element `k` on.
struct operand {
  swizzle pattern;
  bool mn_major;
  int extent, depth, element;

  KILN_FN int bytes() const { return round_up(extent * depth * element, 1024); }
  KILN_FN int width() const { return panel_bytes(pattern); }

  KILN_FN int place(int mn, int k) const {
    if (pattern == swizzle::none) {
      return mn_major ? mn / 8 * (depth / 8 * 128) + k / 8 * 128 + k % 8 * 16 + mn % 8 * 2
                      : mn / 8 * (depth * element / 16 * 128) + k * element / 16 * 128 + mn % 8 * 16 + k * element % 16;
    }
    const int row = mn_major ? k : mn, byte = (mn_major ? mn : k) * element;
    const int rows = mn_major ? depth : extent;
    const int chunk = byte % width() / 16, moved = pattern == swizzle::b128  ? chunk ^ row % 8
                                                   : pattern == swizzle::b64 ? chunk ^ row / 2 % 4
                                                                             : chunk ^ row / 4 % 2;
    return byte / width() * rows * width() + row * width() + moved * 16 + byte % 16;
  }

  template <class Group>
  KILN_FN sm90::matrix_descriptor from(Group group, const unsigned char* tile, int k) const {
    const auto address = sm90::descriptor_address(group, tile);
    if (pattern == swizzle::none) {
      const int groups = mn_major ? depth / 8 : depth * element / 16;
      const auto d = sm90::make_descriptor(address, 128, groups * 128, pattern);
      return d.plus(mn_major ? k / 8 * 128 : k * element / 16 * 128);
    }
    if (mn_major) return sm90::make_descriptor(address, depth * width(), 8 * width(), pattern).plus(k * width());
    const int byte = k * element;
    return sm90::make_descriptor(address, 16, 8 * width(), pattern)
        .plus(byte / width() * extent * width() + byte % width());
  }
};

/// Stores element (mn, k) = from[mn * depth + k] for all, as ordinary stores of all threads.
template <class Group, class T>
KILN_FN void fill(Group group, const operand& o, unsigned char* tile, const T* from) {
  group.each([&](int thread) {
    for (int i = thread; i < o.extent * o.depth; i += 128) {
      auto* to = reinterpret_cast<T*>(tile + o.place(i / o.depth, i % o.depth));
      if constexpr (Group::host) twin::note_write(to, static_cast<int>(sizeof(T)), group.first + thread);
      *to = from[i];
    }
  });
}

template <class A, class B, int N, sm90::major MajorA, sm90::major MajorB>
struct shared_product {
  using acc = sm90::wgmma_accumulator_t<A>;
  const A* a;
  const B* b;
  acc* d;  // registers of thread 0, of thread 1, ...
  operand in_a, in_b;

  KILN_HOST_CALLS template <class Group>
  KILN_FN void operator()(Group group, unsigned char* shared) const {
    unsigned char* tile_b = shared + in_a.bytes();
    fill(group, in_a, shared, a);
    fill(group, in_b, tile_b, b);
    sm90::fence_async(group);
    sync(group, 1);
    fragments<acc, N / 2, Group> r;
    for (int k = 0; k < in_a.depth; k += sm90::wgmma_k<A>) {
      const auto part_a = in_a.from(group, shared, k), part_b = in_b.from(group, tile_b, k);
      sm90::wgmma_fence(group);
      sm90::wgmma<A, B, MajorA, MajorB>(group, r, part_a, part_b, k > 0);
      sm90::wgmma_commit(group);
      sm90::wgmma_wait<0>(group, r);
    }
    group.each([&](int thread) {
      KILN_UNROLL
      for (int i = 0; i < N / 2; ++i) d[thread * (N / 2) + i] = r.of(thread)[i];
    });
  }
};

template <class A, int N, sm90::major MajorB>
struct register_product {
  const std::uint32_t* a;  // four registers of thread 0, of thread 1, ..., step after step
  const A* b;
  float* d;
  operand in_b;

  KILN_HOST_CALLS template <class Group>
  KILN_FN void operator()(Group group, unsigned char* shared) const {
    fill(group, in_b, shared, b);
    sm90::fence_async(group);
    sync(group, 1);
    fragments<float, N / 2, Group> r;
    fragments<std::uint32_t, 4, Group> ra;
    for (int k = 0; k < in_b.depth; k += 16) {
      group.each([&](int thread) {
        KILN_UNROLL
        for (int i = 0; i < 4; ++i) ra.of(thread)[i] = a[(k / 16 * 128 + thread) * 4 + i];
      });
      const auto part_b = in_b.from(group, shared, k);
      sm90::wgmma_fence(group, r, ra);
      sm90::wgmma<A, MajorB>(group, r, ra, part_b, k > 0);
      sm90::wgmma_commit(group);
      sm90::wgmma_wait<0>(group, r, ra);
    }
    group.each([&](int thread) {
      KILN_UNROLL
      for (int i = 0; i < N / 2; ++i) d[thread * (N / 2) + i] = r.of(thread)[i];
    });
  }
};

/// Small integers, so that every executor's sums are exact and compare by bits.
template <class A, class B, class Acc>
void expect_product(const std::vector<A>& a, const std::vector<B>& b, const std::vector<Acc>& d, int n, int depth,
                    const std::string& what) {
  int wrong = 0;
  for (int t = 0; t < 128; ++t) {
    for (int i = 0; i < n / 2; ++i) {
      const auto [row, col] = ptx::wgmma_d(t, i);
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += as_double(a[at(row * depth + k)]) * as_double(b[at(col * depth + k)]);
      if (static_cast<double>(d[at(t * (n / 2) + i)]) != sum && ++wrong < 4) {
        ADD_FAILURE() << what << ": row " << row << ", column " << col << ": " << d[at(t * (n / 2) + i)] << ", needs "
                      << sum;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << what;
}

const char* name(swizzle s) {
  return s == swizzle::none ? "none" : s == swizzle::b32 ? "b32" : s == swizzle::b64 ? "b64" : "b128";
}

template <class A, class B, int N, sm90::major MajorA = sm90::major::k, sm90::major MajorB = sm90::major::k, class Test>
void check_shared(Test& test, swizzle pattern, int depth, int largest = 4) {
  using executor = decltype(test.executor());
  using body = shared_product<A, B, N, MajorA, MajorB>;
  const auto va = small_integers<A>(at(64 * depth), 1, -largest, largest);
  const auto vb = small_integers<B>(at(N * depth), 2, -largest, largest);
  auto& d = test.template output<typename body::acc>(at(64 * N));
  const operand a{pattern, MajorA == sm90::major::mn, 64, depth, static_cast<int>(sizeof(A))};
  const operand b{pattern, MajorB == sm90::major::mn, N, depth, static_cast<int>(sizeof(B))};
  one_warpgroup<executor>(body{test.input(va).data(), test.input(vb).data(), d.data(), a, b}, a.bytes() + b.bytes());
  expect_product(va, vb, d.values(), N, depth,
                 std::string("N ") + std::to_string(N) + ", " + name(pattern) +
                     (a.mn_major ? ", A along M" : ", A along K") + (b.mn_major ? ", B along N" : ", B along K"));
}

TYPED_TEST(hopper, product_of_every_type) {
  for (const swizzle s : {swizzle::none, swizzle::b32, swizzle::b64, swizzle::b128}) {
    check_shared<f16, f16, 64>(*this, s, 64);
    check_shared<bf16, bf16, 64>(*this, s, 64);
    check_shared<e4m3, e4m3, 64>(*this, s, 128);
    check_shared<e4m3, e5m2, 64>(*this, s, 128);
    check_shared<e5m2, e4m3, 64>(*this, s, 128);
    check_shared<e5m2, e5m2, 64>(*this, s, 128);
    check_shared<std::int8_t, std::int8_t, 64>(*this, s, 256, 128 - 1);
  }
}

TYPED_TEST(hopper, product_of_every_width) {
  check_shared<bf16, bf16, 8>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 16>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 32>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 96>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 128>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 160>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 192>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 224>(*this, swizzle::b128, 64);
  check_shared<bf16, bf16, 256>(*this, swizzle::b128, 128);
  check_shared<std::int8_t, std::int8_t, 256>(*this, swizzle::b128, 128, 127);
  check_shared<e4m3, e4m3, 192>(*this, swizzle::b128, 128);
}

TYPED_TEST(hopper, product_of_every_major) {
  using sm90::major;
  for (const swizzle s : {swizzle::none, swizzle::b32, swizzle::b64, swizzle::b128}) {
    check_shared<bf16, bf16, 128, major::mn, major::k>(*this, s, 64);
    check_shared<bf16, bf16, 128, major::k, major::mn>(*this, s, 64);
    check_shared<f16, f16, 128, major::mn, major::mn>(*this, s, 64);
  }
}

template <class A, int N, sm90::major MajorB, class Test>
void check_registers(Test& test, swizzle pattern, int depth) {
  using executor = decltype(test.executor());
  const auto va = small_integers<A>(at(64 * depth), 3), vb = small_integers<A>(at(N * depth), 4);
  std::vector<std::uint32_t> ra(at(depth / 16 * 128 * 4));
  for (int k = 0; k < depth; k += 16) {
    for (int t = 0; t < 128; ++t) {
      for (int i = 0; i < 8; ++i) {
        const auto [row, col] = ptx::wgmma_a_k16(t, i);
        ra[at((k / 16 * 128 + t) * 4 + i / 2)] |=
            static_cast<std::uint32_t>(bit_cast<std::uint16_t>(va[at(row * depth + k + col)])) << i % 2 * 16;
      }
    }
  }
  auto& d = test.template output<float>(at(64 * N));
  const operand b{pattern, MajorB == sm90::major::mn, N, depth, 2};
  one_warpgroup<executor>(register_product<A, N, MajorB>{test.input(ra).data(), test.input(vb).data(), d.data(), b},
                          b.bytes());
  expect_product(va, vb, d.values(), N, depth, std::string("A from registers, ") + name(pattern));
}

TYPED_TEST(hopper, product_with_a_from_registers) {
  using sm90::major;
  check_registers<bf16, 64, major::k>(*this, swizzle::b128, 64);
  check_registers<f16, 128, major::k>(*this, swizzle::b64, 64);
  check_registers<bf16, 128, major::mn>(*this, swizzle::b128, 48);
  check_registers<f16, 64, major::mn>(*this, swizzle::b32, 32);
}

/// Loads a box, adds one to every element by ordinary stores, and stores it at another place, or adds it there.
template <class Where, bool Add>
struct copy_through {
  sm90::tensor_map<Where> from, to;
  int from_row, from_col, to_row, to_col;
  swizzle pattern;

  KILN_HOST_CALLS template <class Group>
  KILN_FN void operator()(Group group, unsigned char* shared) const {
    constexpr int rows = 16;
    const int bytes = rows * panel_bytes(pattern);
    auto& full = *reinterpret_cast<sm90::barrier*>(shared + 4096);
    sm90::one_thread(group, [&](auto thread) {
      sm90::tma_prefetch(thread, from);
      sm90::init(thread, full, 2);
      sm90::fence_barrier_init(thread);
    });
    sync(group, 1);
    sm90::one_thread(group, [&](auto thread) {
      sm90::arrive_expect_bytes(thread, full, bytes);
      sm90::tma_load<sm90::l2_hint::evict_first>(thread, from, shared, full, from_col, from_row);
      sm90::arrive_at(thread, full, sm90::cluster_rank(thread));
    });
    sm90::wait(group, full, 0);
    group.each([&](int thread) {
      for (int i = thread; i < bytes / 4; i += 128) {
        auto* x = reinterpret_cast<float*>(shared + 4 * i);
        if constexpr (Group::host) {
          twin::note_read(x, 4, group.first + thread);
          twin::note_write(x, 4, group.first + thread);
        }
        *x += 1;
      }
    });
    sm90::fence_async(group);
    sync(group, 1);
    sm90::one_thread(group, [&](auto thread) {
      if constexpr (Add) {
        sm90::tma_reduce_add(thread, to, shared, to_col, to_row);
      } else {
        sm90::tma_store(thread, to, shared, to_col, to_row);
      }
      sm90::tma_commit(thread);
      sm90::tma_wait<0>(thread);
    });
  }
};

template <class Test>
void check_copies(Test& test, swizzle pattern, int from_row, int from_col, int to_row, int to_col) {
  using executor = decltype(test.executor());
  const int rows = 33, cols = 52, width = panel_bytes(pattern) / 4;
  const auto values = small_integers<float>(at(rows * cols), 5);
  auto& source = test.input(values);
  auto& d = test.template output<float>(at(rows * cols), prefill::x55);
  const std::vector<float> before = d.values();
  copy_through<where_of<executor>, false> body{{}, {}, from_row, from_col, to_row, to_col, pattern};
  ASSERT_EQ(
      make_tensor_map(body.from, sm90::matrix_request("from", source.data(), rows, cols, cols, 16, width, pattern))
          .message(),
      "");
  ASSERT_EQ(
      make_tensor_map(body.to, sm90::matrix_request("to", d.data(), rows, cols, cols, 16, width, pattern)).message(),
      "");
  one_warpgroup<executor>(body, 4096 + 8);
  const std::vector<float> after = d.values();
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const int i = r - to_row, j = c - to_col, fr = from_row + i, fc = from_col + j;
      float expected = before[at(r * cols + c)];
      if (i >= 0 && i < 16 && j >= 0 && j < width) {
        const bool inside = fr >= 0 && fr < rows && fc >= 0 && fc < cols;
        expected = (inside ? values[at(fr * cols + fc)] : 0.0f) + 1;
      }
      ASSERT_EQ(after[at(r * cols + c)], expected) << name(pattern) << ", row " << r << ", column " << c;
    }
  }
}

TYPED_TEST(hopper, copies_at_the_edges_of_a_tensor) {
  for (const swizzle s : {swizzle::b32, swizzle::b64, swizzle::b128}) {
    check_copies(*this, s, 0, 0, 0, 0);
    check_copies(*this, s, 3, 8, 17, 20);
    check_copies(*this, s, 25, 40, 30, 48);
    check_copies(*this, s, -5, -4, 33, 12);  // stores take no negative coordinates (sm90_tma_test)
    check_copies(*this, s, 30, -16, 4, 52);
    check_copies(*this, s, -20, 8, 0, 8);
  }
}

TYPED_TEST(hopper, reductions_add_in_global_memory) {
  using executor = TypeParam;
  const int rows = 16, cols = 32;
  const auto values = small_integers<float>(at(rows * cols), 6), start = small_integers<float>(at(rows * cols), 7);
  auto& source = this->input(values);
  guarded_output<float, typename executor::space> d(start);
  copy_through<where_of<executor>, true> body{{}, {}, 0, 0, 2, 4, swizzle::b128};
  ASSERT_TRUE(make_tensor_map(body.from, sm90::matrix_request("from", source.data(), rows, cols, cols, 16, 32)).ok());
  ASSERT_TRUE(make_tensor_map(body.to, sm90::matrix_request("to", d.data(), rows, cols, cols, 16, 32)).ok());
  one_warpgroup<executor>(body, 4096 + 8);
  const auto after = d.values();
  const float times = executor::on_host ? 3 : 1;  // the host runs every body in three orders
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const float more = r >= 2 && c >= 4 ? values[at((r - 2) * cols + c - 4)] + 1 : 0;
      ASSERT_EQ(after[at(r * cols + c)], start[at(r * cols + c)] + times * more) << r << ", " << c;
    }
  }
  EXPECT_TRUE(d.intact());
}

#if defined(__CUDACC__)
template <int Ctas>
__global__ void __launch_bounds__(KILN_SM90A ? 384 : threads_without_sm90a, 1)
    ring_kernel(const __grid_constant__ typename ring<on_device, Ctas>::parameters p) {
#if KILN_SM90A
  using program = ring<on_device, Ctas>;
  extern __shared__ __align__(1024) unsigned char ring_memory[];
  auto& s = *reinterpret_cast<typename program::storage*>(ring_memory);
  if (threadIdx.x == 0) program::setup(scope<on_device, 1>{}, s);
  if constexpr (Ctas > 1) {
    sm90::cluster_sync(scope<on_device, 384>{});
  } else {
    __syncthreads();
  }
  const scope<on_device, 128> group{};
  if (threadIdx.x < 128) {
    sm90::give_registers<40>(group);
    program::load(group, p, s);
  } else {
    sm90::take_registers<232>(group);
    program::consume(group, static_cast<int>(threadIdx.x) / 128 - 1, p, s);
  }
#endif
}
#endif

template <class Executor, int Ctas>
void launch_ring(const typename ring<where_of<Executor>, Ctas>::parameters& p) {
  using program = ring<where_of<Executor>, Ctas>;
  using storage = typename program::storage;
  if constexpr (Executor::on_host) {
    using group = scope<on_host, 128>;
    const status s = twin::run_roles(
        host.with_order(order::late).with_checks(), {Ctas, program::threads, sizeof(storage)},
        [](twin::block c) { program::setup(scope<on_host, 1>{0}, c.as<storage>()); },
        twin::role("loader", 0, 128, [&](twin::block c) { program::load(group{0}, p, c.as<storage>()); }),
        twin::role("consumer 0", 128, 128, [&](twin::block c) { program::consume(group{128}, 0, p, c.as<storage>()); }),
        twin::role("consumer 1", 256, 128,
                   [&](twin::block c) { program::consume(group{256}, 1, p, c.as<storage>()); }));
    EXPECT_EQ(s.message(), "");
  } else {
#if defined(__CUDACC__)
    auto* kernel = ring_kernel<Ctas>;
    ASSERT_EQ(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(storage))),
        cudaSuccess);
    cudaLaunchConfig_t c{};
    c.gridDim = dim3(Ctas), c.blockDim = dim3(384), c.dynamicSmemBytes = sizeof(storage);
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = Ctas, cluster.val.clusterDim.y = 1, cluster.val.clusterDim.z = 1;
    c.attrs = &cluster, c.numAttrs = 1;
    ASSERT_EQ(cudaLaunchKernelEx(&c, kernel, p), cudaSuccess);
#endif
  }
}

template <int Ctas, class Test>
void check_ring(Test& test) {
  using executor = decltype(test.executor());
  using program = ring<where_of<executor>, Ctas>;
  const int tiles = 3, steps = 4, m = Ctas * tiles * 128 - 5, n = 56, k = steps * 64 - 8;
  const auto a = small_integers<bf16>(at(m * k), 1), b = small_integers<bf16>(at(n * k), 2);
  auto& d = test.template output<bf16>(at(m * n));
  typename program::parameters p{};
  p.tiles = tiles, p.steps = steps;
  ASSERT_EQ(make_tensor_map(p.a, sm90::matrix_request("a", test.input(a).data(), m, k, k, 128, 64)).message(), "");
  ASSERT_EQ(
      make_tensor_map(p.b, sm90::matrix_request("b", test.input(b).data(), n, k, k, program::b_part, 64)).message(),
      "");
  ASSERT_EQ(make_tensor_map(p.d, sm90::matrix_request("d", d.data(), m, n, n, 64, 64)).message(), "");
  launch_ring<executor, Ctas>(p);
  const auto got = d.values();
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += static_cast<float>(a[at(i * k + l)]) * static_cast<float>(b[at(j * k + l)]);
      ASSERT_EQ(static_cast<float>(got[at(i * n + j)]), static_cast<float>(convert<bf16>(sum))) << i << ", " << j;
    }
  }
}

TYPED_TEST(hopper, ring_of_copies_products_and_stores) { check_ring<1>(*this); }
TYPED_TEST(hopper, ring_in_a_cluster_with_multicast) { check_ring<2>(*this); }

}  // namespace
}  // namespace kiln::test
