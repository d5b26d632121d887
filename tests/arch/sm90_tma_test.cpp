// TMA's twin: what lands where, zero outside the tensor, clipped stores, multicast; and the checks of tensor maps.
#include <gtest/gtest.h>

#include <cstring>
#include <kiln/arch/host/driver.hpp>
#include <kiln/arch/sm90.hpp>
#include <string>
#include <vector>

#include "tests/support/fill.hpp"
#include "tests/support/guarded.hpp"

namespace {
using namespace kiln;
using kiln::index_t;  // not that of <strings.h>
using one = scope<on_host, 1>;

constexpr order all_orders[] = {order::eager, order::late, order::random};

struct storage {
  alignas(1024) unsigned char tile[32768];
  sm90::barrier full;
};

/// Runs `f` in one thread of each of `ctas` blocks.
template <class F>
status with_barrier(const host_executor& ex, F f, int ctas = 1) {
  return twin::run_roles(
      ex, {ctas, 32, sizeof(storage)}, [](twin::block b) { sm90::init(one{}, b.as<storage>().full, 1); },
      twin::role("solo", 0, 32, [&](twin::block b) {
        f(b, b.as<storage>());
        if (b.ctas > 1) sm90::cluster_sync(scope<on_host, 32>{});
      }));
}

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// Every element of a box, at every kind of position, under every swizzle.
template <class T>
void check_matrix_loads(swizzle pattern) {
  const index_t rows = 37, cols = 200, pitch = 208;
  const int box_cols =
      pattern == swizzle::none ? 48 / static_cast<int>(sizeof(T)) : panel_bytes(pattern) / static_cast<int>(sizeof(T));
  const int box_rows = 24;
  test::guarded_input<T, host_space> source(test::uniform<T>(at(rows * pitch), 1));
  sm90::tensor_map<on_host> map;
  ASSERT_TRUE(
      make_tensor_map(map, sm90::matrix_request("a", source.data(), rows, cols, pitch, box_rows, box_cols, pattern))
          .ok());
  const index_t c16 = 16 / static_cast<index_t>(sizeof(T));  // columns that the engine takes are multiples of it
  const index_t corners[][2] = {{0, 0},     {5, c16},
                                {20, 192},  {30, 3 * c16},
                                {-7, -c16}, {36, (cols - 1) / c16 * c16},
                                {37, 0},    {0, round_up(cols, c16)},
                                {-24, 0}};
  for (const order o : all_orders) {
    for (const auto& c : corners) {
      const auto s = with_barrier(host.with_order(o, 5).with_checks(), [&](twin::block, storage& m) {
        sm90::arrive_expect_bytes(one{}, m.full, box_rows * box_cols * static_cast<int>(sizeof(T)));
        sm90::tma_load(one{}, map, m.tile, m.full, c[1], c[0]);
        sm90::wait(one{}, m.full, 0);
        for (int i = 0; i < box_rows; ++i) {
          for (int j = 0; j < box_cols; ++j) {
            const int linear = (i * box_cols + j) * static_cast<int>(sizeof(T));
            const index_t row = c[0] + i, col = c[1] + j;
            T expected{};
            if (row >= 0 && row < rows && col >= 0 && col < cols) expected = source.data()[row * pitch + col];
            ASSERT_EQ(std::memcmp(m.tile + swizzled(pattern, linear), &expected, sizeof(T)), 0) << i << ", " << j;
          }
        }
        ASSERT_EQ(m.tile[box_rows * box_cols * static_cast<int>(sizeof(T))], 0xff) << "wrote past the box";
      });
      ASSERT_EQ(s.message(), "");
    }
  }
  EXPECT_TRUE(source.intact());
}

TEST(tma, loads_a_box_of_a_matrix) {
  for (const swizzle s : {swizzle::none, swizzle::b32, swizzle::b64, swizzle::b128}) {
    check_matrix_loads<bf16>(s);
    check_matrix_loads<float>(s);
    check_matrix_loads<std::int8_t>(s);
  }
}

TEST(tma, stores_are_clipped_and_undo_the_swizzle) {
  const index_t rows = 21, cols = 72, pitch = 80;
  for (const order o : all_orders) {
    test::guarded_output<bf16, host_space> d(at(rows * pitch), test::prefill::x55);
    const auto values = test::uniform<bf16>(16 * 64, 3);
    sm90::tensor_map<on_host> map;
    ASSERT_TRUE(make_tensor_map(map, sm90::matrix_request("d", d.data(), rows, cols, pitch, 16, 64)).ok());
    const auto s = with_barrier(host.with_order(o, 2).with_checks(), [&](twin::block, storage& m) {
      for (int i = 0; i < 16 * 64; ++i) {
        std::memcpy(m.tile + swizzled(swizzle::b128, 2 * i), &values[at(i)], 2);
        twin::note_write(m.tile + swizzled(swizzle::b128, 2 * i), 2, 0);
      }
      sm90::fence_async(one{});
      sm90::tma_store(one{}, map, m.tile, 32, 10);
      sm90::tma_commit(one{});
      sm90::tma_wait<0>(one{});
    });
    ASSERT_EQ(s.message(), "");
    const auto inside = [&](std::size_t e) {
      const index_t row = static_cast<index_t>(e) / pitch, col = static_cast<index_t>(e) % pitch;
      return row >= 10 && row < rows && col >= 32 && col < cols;
    };
    EXPECT_TRUE(d.wrote_only(inside));
    for (index_t i = 10; i < rows; ++i) {
      for (index_t j = 32; j < cols; ++j) {
        ASSERT_EQ(static_cast<float>(d.data()[i * pitch + j]), static_cast<float>(values[at((i - 10) * 64 + j - 32)]));
      }
    }
    EXPECT_TRUE(d.intact());
  }
}

TEST(tma, five_dimensions_with_free_strides) {
  // extents 16, 3, 2, 4, 2 in a buffer where dimension 3 is stored outermost and dimension 4 repeats (stride 0).
  const index_t extent[5] = {16, 3, 2, 4, 2}, stride[5] = {4, 128, 512, 2048, 0};
  std::vector<std::int32_t> source(at(4 * 2048 / 4));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::int32_t>(i);
  sm90::tensor_request r;
  r.base = source.data(), r.kind = sm90::element_kind::i32, r.element_bytes = 4, r.rank = 5, r.pattern = swizzle::none;
  const int box[5] = {8, 2, 2, 3, 2};
  for (int d = 0; d < 5; ++d) r.extent[d] = extent[d], r.stride[d] = stride[d], r.box[d] = box[d];
  sm90::tensor_map<on_host> map;
  ASSERT_EQ(make_tensor_map(map, r).message(), "");
  const index_t from[5] = {4, 2, 1, 2, -1};
  const auto s = with_barrier(host.with_order(order::late).with_checks(), [&](twin::block, storage& m) {
    sm90::arrive_expect_bytes(one{}, m.full, 8 * 2 * 2 * 3 * 2 * 4);
    sm90::tma_load(one{}, map, m.tile, m.full, from[0], from[1], from[2], from[3], from[4]);
    sm90::wait(one{}, m.full, 0);
    int place = 0;
    for (int e = 0; e < 2; ++e)
      for (int d = 0; d < 3; ++d)
        for (int c = 0; c < 2; ++c)
          for (int b = 0; b < 2; ++b)
            for (int a = 0; a < 8; ++a, place += 4) {
              const index_t x[5] = {from[0] + a, from[1] + b, from[2] + c, from[3] + d, from[4] + e};
              index_t byte = 0;
              bool inside = true;
              for (int k = 0; k < 5; ++k) inside = inside && x[k] >= 0 && x[k] < extent[k], byte += x[k] * stride[k];
              std::int32_t got;
              std::memcpy(&got, m.tile + place, 4);
              ASSERT_EQ(got, inside ? source[at(byte / 4)] : 0) << place;
            }
  });
  EXPECT_EQ(s.message(), "");
}

TEST(tma, multicast_reaches_the_blocks_of_its_mask) {
  const auto values = test::uniform<bf16>(8 * 64, 4);
  sm90::tensor_map<on_host> map;
  ASSERT_TRUE(make_tensor_map(map, sm90::matrix_request("a", values.data(), 8, 64, 64, 8, 64)).ok());
  for (const order o : all_orders) {
    const auto s = with_barrier(
        host.with_order(o, 6).with_checks(),
        [&](twin::block b, storage& m) {
          if (b.cta != 0) sm90::arrive_expect_bytes(one{}, m.full, 1024);
          sm90::cluster_sync(scope<on_host, 32>{});
          if (b.cta == 1) sm90::tma_load_multicast(one{}, map, m.tile + 1024, m.full, 0b110, 0, 0);
          if (b.cta == 0) {
            EXPECT_EQ(m.tile[1024], 0xff);
          } else {
            sm90::wait(one{}, m.full, 0);
            EXPECT_EQ(std::memcmp(m.tile + 1024, values.data(), 16), 0);
          }
        },
        3);
    EXPECT_EQ(s.message(), "");
  }
}

TEST(tma, reduction_adds) {
  std::vector<float> d(4 * 32, 1.5f);
  sm90::tensor_map<on_host> map;
  ASSERT_TRUE(make_tensor_map(map, sm90::matrix_request("d", d.data(), 4, 32, 32, 4, 32)).ok());
  const auto s = with_barrier(host.with_checks(), [&](twin::block, storage& m) {
    for (int i = 0; i < 4 * 32; ++i) {
      const auto x = static_cast<float>(i);
      std::memcpy(m.tile + swizzled(swizzle::b128, 4 * i), &x, 4);
      twin::note_write(m.tile + swizzled(swizzle::b128, 4 * i), 4, 0);
    }
    sm90::fence_async(one{});
    for (int twice = 0; twice < 2; ++twice) sm90::tma_reduce_add(one{}, map, m.tile, 0, 1);
    sm90::tma_commit(one{});
    sm90::tma_wait<0>(one{});
  });
  EXPECT_EQ(s.message(), "");
  for (int i = 0; i < 4 * 32; ++i) EXPECT_EQ(d[at(i)], i < 32 ? 1.5f : 1.5f + 2.0f * static_cast<float>(i - 32));
}

// On the device these end the kernel as an illegal instruction.
TEST(tma, coordinates_that_the_engine_does_not_take) {
  std::vector<float> d(8 * 32);
  sm90::tensor_map<on_host> map;
  ASSERT_TRUE(make_tensor_map(map, sm90::matrix_request("d", d.data(), 8, 32, 32, 4, 32)).ok());
  const auto said = [&](auto copy) { return with_barrier(host, [&](twin::block, storage& m) { copy(m); }).message(); };
  const auto load = [&](int column, int row) {
    return said([&](storage& m) { sm90::tma_load(one{}, map, m.tile, m.full, column, row); });
  };
  const auto store = [&](int column, int row) {
    return said([&](storage& m) { sm90::tma_store(one{}, map, m.tile, column, row); });
  };
  const auto add = [&](int column, int row) {
    return said([&](storage& m) { sm90::tma_reduce_add(one{}, map, m.tile, column, row); });
  };
  for (const int column : {-3, 1, 34}) {
    const std::string sentence =
        "from column " + std::to_string(column) + " of elements of 4 bytes on, TMA needs a multiple of 16 bytes";
    EXPECT_NE(load(column, 0).find(sentence), std::string::npos) << load(column, 0);
    EXPECT_NE(store(column, 0).find(sentence), std::string::npos) << store(column, 0);
  }
  for (const auto& message : {store(-4, 0), add(-4, 0)})
    EXPECT_NE(message.find("stores a box at -4 in dimension 0, TMA stores need at least 0"), std::string::npos)
        << message;
  EXPECT_NE(store(0, -1).find("stores a box at -1 in dimension 1, TMA stores need at least 0"), std::string::npos)
      << store(0, -1);
}

TEST(tma, groups_are_drained_oldest_first) {
  std::vector<float> d(3 * 32, 0.0f);
  sm90::tensor_map<on_host> map;
  ASSERT_TRUE(make_tensor_map(map, sm90::matrix_request("d", d.data(), 3, 32, 32, 1, 32)).ok());
  const auto s = with_barrier(host.with_order(order::late).with_checks(), [&](twin::block, storage& m) {
    const auto fill = [&](int buffer, float x) {
      for (int i = 0; i < 32; ++i) std::memcpy(m.tile + buffer * 1024 + 4 * i, &x, 4);
      twin::note_write(m.tile + buffer * 1024, 128, 0);
      sm90::fence_async(one{});
    };
    for (int row = 0; row < 3; ++row) {
      sm90::tma_wait_read<1>(one{});  // the store before the last has read its buffer
      fill(row % 2, static_cast<float>(row + 1));
      sm90::tma_store(one{}, map, m.tile + row % 2 * 1024, 0, row);
      sm90::tma_commit(one{});
    }
    EXPECT_EQ(d[0], 0.0f) << "written before it had to be";
    sm90::tma_wait<0>(one{});
  });
  EXPECT_EQ(s.message(), "");
  for (int row = 0; row < 3; ++row) EXPECT_EQ(d[at(row * 32)], static_cast<float>(row + 1));
}

/// The message of a request that differs from a good one by `change`.
template <class Change>
std::string refusal(Change change) {
  alignas(16) static bf16 data[64 * 64];
  auto r = sm90::matrix_request("a", data, 64, 64, 64, 8, 64);
  change(r);
  return sm90::check(r).message();
}

TEST(tensor_map, every_rule_is_checked_and_named) {
  using request = sm90::tensor_request;
  EXPECT_EQ(refusal([](request&) {}), "");
  EXPECT_EQ(refusal([](request& r) { r.base = nullptr; }), "null pointer: operand `a` has no data");
  EXPECT_EQ(refusal([](request& r) { r.base = static_cast<const char*>(r.base) + 6; }),
            "bad alignment: operand `a` lies 6 bytes past a 16-byte boundary, TMA needs a multiple of 16");
  EXPECT_EQ(refusal([](request& r) { r.stride[1] = 130; }),
            "bad stride: operand `a`: dimension 1 has a stride of 130 bytes, TMA needs a multiple of 16");
  EXPECT_EQ(refusal([](request& r) { r.stride[1] = index_t{1} << 40; }),
            "bad stride: operand `a`: dimension 1 has a stride of 1099511627776 bytes, TMA needs 0 to 2^40 - 1");
  EXPECT_EQ(refusal([](request& r) { r.extent[1] = (index_t{1} << 32) + 1; }),
            "bad shape: operand `a`: dimension 1 has extent 4294967297, TMA needs 1 to 2^32");
  EXPECT_EQ(refusal([](request& r) { r.extent[0] = 0; }),
            "bad shape: operand `a`: dimension 0 has extent 0, TMA needs 1 to 2^32");
  EXPECT_EQ(refusal([](request& r) { r.extent[1] = index_t{1} << 32; }), "");
  EXPECT_EQ(refusal([](request& r) { r.box[1] = 257; }),
            "bad option: operand `a`: the box has 257 elements in dimension 1, TMA needs 1 to 256");
  EXPECT_EQ(refusal([](request& r) { r.pattern = swizzle::none, r.box[0] = 12; }),
            "bad option: operand `a`: a row of the box has 24 bytes, TMA needs a multiple of 16");
  EXPECT_EQ(refusal([](request& r) { r.pattern = swizzle::b64; }),
            "bad option: operand `a`: a row of the box has 128 bytes, its swizzle needs 64");
  EXPECT_EQ(refusal([](request& r) { r.rank = 6; }), "bad option: operand `a`: rank 6, TMA needs 1 to 5");
  EXPECT_EQ(refusal([](request& r) {
              r.pattern = swizzle::none, r.box[0] = 256, r.box[1] = 256, r.kind = sm90::element_kind::f32,
              r.element_bytes = 4;
            }),
            "bad option: operand `a`: the box has 262144 bytes, shared memory holds at most 232448");
}

}  // namespace
