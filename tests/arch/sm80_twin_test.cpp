// What the host's model adds to sm80 instructions: copies land as late as they may, and mistakes between threads are
// told.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/sm80.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/shared_tile.hpp>
#include <stdexcept>
#include <string>

namespace {
using namespace kiln;
using warp_t = warp_scope<on_host>;
using block_t = block_scope<on_host, 64>;

class sm80_twin : public ::testing::Test {
 protected:
  void TearDown() override { twin::drop_copies(); }

  static bool is_poison(const unsigned char* p, int bytes) {
    for (int i = 0; i < bytes; ++i)
      if (p[i] != 0xff) return false;
    return true;
  }
  alignas(16) std::array<unsigned char, 256> shared_{};
  alignas(16) std::array<unsigned char, 256> global_{};
};

TEST_F(sm80_twin, a_copy_lands_at_the_wait_and_not_before) {
  const scope<on_host, 1> thread{5};
  global_.fill(7);
  sm80::cp_async<16>(thread, 0, shared_.data(), global_.data());
  EXPECT_TRUE(is_poison(shared_.data(), 16)) << "before the wait the destination holds NaN";
  sm80::cp_async_commit(thread);
  EXPECT_TRUE(is_poison(shared_.data(), 16));
  global_[3] = 9;
  sm80::cp_async_wait<0>(thread);
  EXPECT_EQ(shared_[0], 7);
  EXPECT_EQ(shared_[3], 9) << "the source is read as late as the copy lands";
  EXPECT_EQ(shared_[16], 0) << "nothing beyond";
}

TEST_F(sm80_twin, a_wait_lands_all_but_the_latest_groups) {
  const scope<on_host, 1> thread{};
  for (int g = 0; g < 4; ++g) {
    global_[static_cast<std::size_t>(g) * 16] = static_cast<unsigned char>(g + 1);
    sm80::cp_async<16>(thread, 0, &shared_[static_cast<std::size_t>(g) * 16],
                       &global_[static_cast<std::size_t>(g) * 16]);
    if (g == 1) sm80::cp_async_commit(thread);  // an empty group follows
    sm80::cp_async_commit(thread);
  }
  const auto landed = [&](std::size_t g) { return shared_[g * 16] == g + 1; };
  sm80::cp_async_wait<3>(thread);  // of groups {0}, {1}, {}, {2}, {3}
  EXPECT_TRUE(landed(0) && landed(1));
  EXPECT_FALSE(landed(2) || landed(3));
  sm80::cp_async_wait<1>(thread);
  EXPECT_TRUE(landed(2));
  EXPECT_FALSE(landed(3));
  sm80::cp_async_wait<0>(thread);
  EXPECT_TRUE(landed(3));
}

TEST_F(sm80_twin, a_copy_that_was_not_committed_is_not_waited_for) {
  const scope<on_host, 1> thread{};
  sm80::cp_async<4>(thread, 0, shared_.data(), global_.data());
  sm80::cp_async_wait<0>(thread);
  EXPECT_TRUE(is_poison(shared_.data(), 4));
  sm80::cp_async_commit(thread);
  sm80::cp_async_wait<0>(thread);
  EXPECT_FALSE(is_poison(shared_.data(), 4));
}

TEST_F(sm80_twin, threads_wait_for_their_own_copies_only) {
  const scope<on_host, 1> one{1}, two{2};
  sm80::cp_async<8>(one, 0, &shared_[0], &global_[0]);
  sm80::cp_async<8>(two, 0, &shared_[8], &global_[8]);
  sm80::cp_async_commit(one);
  sm80::cp_async_commit(two);
  sm80::cp_async_wait<0>(two);
  EXPECT_TRUE(is_poison(&shared_[0], 8));
  EXPECT_FALSE(is_poison(&shared_[8], 8));
  EXPECT_EQ(twin::drop_copies(), 1u);
  EXPECT_EQ(twin::drop_copies(), 0u);
}

TEST_F(sm80_twin, a_misaligned_address_is_refused) {
  const scope<on_host, 1> thread{};
  EXPECT_THROW(sm80::cp_async<16>(thread, 0, &shared_[8], &global_[0]), std::logic_error);
  EXPECT_THROW(sm80::cp_async<16>(thread, 0, &shared_[0], &global_[4]), std::logic_error);
  EXPECT_NO_THROW(sm80::cp_async<8>(thread, 0, &shared_[8], &global_[8]));
  EXPECT_NO_THROW(sm80::cp_async<16>(thread, 0, &shared_[0], &global_[4], 0)) << "a source that is not read";
  fragments<std::uint32_t, 1, warp_t> r;
  try {
    sm80::ldmatrix<1>(
        warp_t{}, [&](int lane) { return &shared_[static_cast<std::size_t>(lane) * 16 + 2]; },
        [&](int lane) { return r.of(lane); });
    ADD_FAILURE() << "ldmatrix took rows at 2 bytes beyond a multiple of 16";
  } catch (const std::logic_error& e) {
    EXPECT_NE(std::string(e.what()).find("ldmatrix: saw an address 2 bytes beyond a multiple of 16"), std::string::npos)
        << e.what();
  }
}

// One step of a ring: all threads fill a tile by cp.async, both warps read all of it. `skip` leaves out one thing.
enum class skip { nothing, wait, barrier_before_reading, barrier_before_refilling };

struct ring_step {
  using tile = shared_tile<f16, 64, 16, swizzle::b32>;
  status reported;
  bool poison_read = false;

  explicit ring_step(skip what) {
    alignas(16) static f16 source[64 * 16] = {};
    twin::checked_block checked(sizeof(tile), 64);
    tile& t = *reinterpret_cast<tile*>(checked.shared());
    const block_t block{};
    for (int round = 0; round < 2; ++round) {
      block.each([&](int thread) {
        for (int col = 0; col < 16; col += 8)
          sm80::cp_async<16>(block, thread, t.address(thread, col), source + thread * 16 + col);
      });
      sm80::cp_async_commit(block);
      if (what != skip::wait) sm80::cp_async_wait<0>(block);
      if (what != skip::barrier_before_reading) sync(block);
      block.split<32>([&](warp_t warp) {
        fragments<std::uint32_t, 4, warp_t> r;
        for (int top = 0; top < 64; top += 16) {
          const auto from = [&](int lane) {
            const auto [row, col] = ldmatrix_a<16>(lane);
            return t.address(top + row, col);
          };
          sm80::ldmatrix<4>(warp, from, [&](int lane) { return r.of(lane); });
          warp.each([&](int lane) {
            for (std::uint32_t x : r.of(lane)) poison_read = poison_read || x == 0xffffffffu;
          });
        }
      });
      if (what != skip::barrier_before_refilling) sync(block);
    }
    reported = checked.result();
    twin::drop_copies();
  }
};

TEST_F(sm80_twin, a_ring_step_with_all_its_barriers_is_clean) {
  const ring_step step(skip::nothing);
  EXPECT_TRUE(step.reported.ok()) << step.reported.message();
  EXPECT_FALSE(step.poison_read);
}
TEST_F(sm80_twin, a_missing_wait_gives_nan) { EXPECT_TRUE(ring_step(skip::wait).poison_read); }
TEST_F(sm80_twin, a_missing_barrier_between_copy_and_ldmatrix_is_reported) {
  const auto s = ring_step(skip::barrier_before_reading).reported;
  EXPECT_EQ(s.code(), errc::protocol);
  EXPECT_NE(s.message().find("reads shared byte"), std::string::npos) << s.message();
}
TEST_F(sm80_twin, a_slot_refilled_while_it_is_read_is_reported) {
  const auto s = ring_step(skip::barrier_before_refilling).reported;
  EXPECT_EQ(s.code(), errc::protocol);
  EXPECT_NE(s.message().find("overwrites shared byte"), std::string::npos) << s.message();
}

}  // namespace
