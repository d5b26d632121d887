// The mbarrier in 64 bits: phases, arrivals and bytes as PTX defines them.
#include <gtest/gtest.h>

#include <kiln/arch/host/mbarrier.hpp>

namespace {
using kiln::twin::mbarrier;

TEST(mbarrier, fresh_barrier_has_completed_parity_one) {
  std::uint64_t word = 0;
  mbarrier b(word);
  b.init(3);
  EXPECT_EQ(b.pending(), 3);
  EXPECT_EQ(b.arrivals(), 3);
  EXPECT_EQ(b.bytes(), 0);
  EXPECT_TRUE(b.done(1));
  EXPECT_FALSE(b.done(0));
}

TEST(mbarrier, phases_alternate) {
  std::uint64_t word = 0;
  mbarrier b(word);
  b.init(2);
  for (int phase = 0; phase < 5; ++phase) {
    EXPECT_EQ(b.parity(), phase % 2);
    EXPECT_FALSE(b.arrive(1));
    EXPECT_FALSE(b.done(phase % 2));
    EXPECT_TRUE(b.arrive(1));
    EXPECT_TRUE(b.done(phase % 2));
    EXPECT_FALSE(b.done(1 - phase % 2));
    EXPECT_EQ(b.pending(), 2);
  }
}

TEST(mbarrier, a_phase_needs_arrivals_and_bytes) {
  std::uint64_t word = 0;
  mbarrier b(word);
  b.init(1);
  EXPECT_FALSE(b.expect(48));
  EXPECT_FALSE(b.arrive(1));
  EXPECT_FALSE(b.land(32));
  EXPECT_EQ(b.bytes(), 16);
  EXPECT_TRUE(b.land(16));
  EXPECT_EQ(b.parity(), 1);
  EXPECT_FALSE(b.expect(16));
  EXPECT_FALSE(b.land(16)) << "bytes alone complete nothing";
  EXPECT_TRUE(b.arrive(1));
}

TEST(mbarrier, bytes_may_land_before_they_are_expected) {
  std::uint64_t word = 0;
  mbarrier b(word);
  b.init(1);
  EXPECT_FALSE(b.land(4096));
  EXPECT_EQ(b.bytes(), -4096);
  EXPECT_EQ(b.pending(), 1);
  EXPECT_EQ(b.arrivals(), 1);
  EXPECT_FALSE(b.expect(4096));
  EXPECT_TRUE(b.arrive(1));
}

TEST(mbarrier, extremes_fit) {
  std::uint64_t word = 0;
  mbarrier b(word);
  b.init(mbarrier::most_arrivals);
  EXPECT_FALSE(b.expect(mbarrier::most_bytes));
  EXPECT_EQ(b.bytes(), mbarrier::most_bytes);
  EXPECT_EQ(b.pending(), mbarrier::most_arrivals);
  EXPECT_FALSE(b.land(2 * mbarrier::most_bytes));
  EXPECT_EQ(b.bytes(), -mbarrier::most_bytes);
  EXPECT_EQ(b.arrivals(), mbarrier::most_arrivals);
  EXPECT_EQ(b.parity(), 0);
}

}  // namespace
