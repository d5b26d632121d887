// The watch over shared memory: what nothing orders is reported, what a barrier or fence orders is not.
#include <gtest/gtest.h>

#include <kiln/arch/host/checked_block.hpp>

namespace {
using namespace kiln::twin;

std::string first_report(const checked_block& b) { return b.reports().empty() ? "" : b.reports()[0]; }

TEST(watch, does_nothing_without_a_block) {
  int x = 0;
  note_read(&x, 4, 0);
  note_write(&x, 4, 0);
  note_barrier(0, 128);
  note_fence_async(0);
  EXPECT_EQ(watching, nullptr);
}

TEST(watch, read_of_anothers_write_needs_a_barrier) {
  checked_block b(256, 64);
  note_write(b.shared() + 16, 4, 3);
  note_read(b.shared() + 16, 4, 3);  // its own
  EXPECT_TRUE(b.result().ok());
  note_read(b.shared() + 16, 4, 40);
  EXPECT_EQ(first_report(b), "thread 40 reads shared byte 16, which thread 3 wrote with no barrier between");
  EXPECT_EQ(b.result().code(), kiln::errc::protocol);
}

TEST(watch, barrier_orders_write_and_read) {
  checked_block b(256, 64);
  note_write(b.shared(), 16, 3);
  note_barrier(0, 64);
  for (int t = 0; t < 64; ++t) note_read(b.shared(), 16, t);
  note_barrier(0, 64);
  note_write(b.shared(), 16, 9);
  EXPECT_EQ(first_report(b), "");
}

TEST(watch, barrier_of_another_warp_orders_nothing) {
  checked_block b(256, 64);
  note_write(b.shared(), 4, 3);
  note_barrier(32, 32);
  note_barrier(0, 32);
  note_read(b.shared(), 4, 40);
  EXPECT_EQ(first_report(b), "thread 40 reads shared byte 0, which thread 3 wrote with no barrier between");
}

TEST(watch, knowledge_passes_through_a_third_thread) {
  checked_block b(256, 96);
  note_write(b.shared(), 4, 3);
  note_barrier(0, 64);
  note_barrier(32, 64);
  note_read(b.shared(), 4, 90);
  EXPECT_EQ(first_report(b), "");
}

TEST(watch, overwriting_what_another_reads_or_wrote_needs_a_barrier) {
  checked_block b(256, 128);
  for (int t : {1, 33, 65}) note_read(b.shared() + 8, 4, t);
  note_barrier(0, 64);
  note_write(b.shared() + 8, 4, 0);
  EXPECT_EQ(first_report(b), "thread 0 overwrites shared byte 8, which thread 65 read with no barrier between");
  note_write(b.shared() + 11, 1, 70);
  EXPECT_EQ(b.reports().back(), "thread 70 overwrites shared byte 11, which thread 0 wrote with no barrier between");
}

TEST(watch, every_concurrent_reader_is_kept) {
  for (int late = 0; late < 64; ++late) {
    checked_block b(64, 65);
    for (int t = 0; t < 64; ++t) note_read(b.shared(), 4, t);
    note_barrier(0, late);
    note_barrier(late + 1, 64 - late);
    note_write(b.shared(), 4, 64);
    ASSERT_NE(first_report(b), "") << late;
  }
}

TEST(watch, neighbouring_bytes_are_no_race) {
  checked_block b(64, 64);
  for (int t = 0; t < 64; ++t) note_write(b.shared() + t, 1, t);
  EXPECT_EQ(first_report(b), "");
}

TEST(watch, async_proxy_needs_the_fence_of_the_writer) {
  checked_block b(256, 64);
  note_write(b.shared(), 16, 3);
  note_barrier(0, 64);
  note_read(b.shared(), 16, 0, proxy::async);
  EXPECT_EQ(
      first_report(b),
      "thread 0 reads shared byte 0 through the async proxy, which thread 3 wrote with no fence.proxy.async between");
}

TEST(watch, fence_serves_before_or_after_the_barrier) {
  checked_block b(256, 64);
  note_write(b.shared(), 16, 3);
  note_fence_async(3);
  note_barrier(0, 64);
  note_read(b.shared(), 16, 0, proxy::async);
  note_write(b.shared() + 16, 16, 3);
  note_barrier(0, 64);
  note_fence_async(0);
  note_read(b.shared() + 16, 16, 0, proxy::async);
  EXPECT_EQ(first_report(b), "");
}

TEST(watch, write_after_the_fence_is_not_fenced) {
  checked_block b(256, 64);
  note_fence_async(3);
  note_write(b.shared(), 16, 3);
  note_barrier(0, 64);
  note_read(b.shared(), 16, 0, proxy::async);
  EXPECT_NE(first_report(b), "");
}

TEST(watch, other_memory_is_not_watched) {
  checked_block b(256, 64);
  int x = 0;
  note_write(&x, 4, 0);
  note_read(&x, 4, 1);
  note_write(b.shared() + 256, 4, 0);
  note_read(b.shared() + 256, 4, 1);
  EXPECT_EQ(first_report(b), "");
}

TEST(watch, blocks_nest) {
  checked_block outer(64, 64);
  {
    checked_block inner(64, 64);
    note_write(outer.shared(), 4, 0);
  }
  note_read(outer.shared(), 4, 1);
  EXPECT_EQ(first_report(outer), "") << "the inner block does not watch the outer one's memory";
}

}  // namespace
