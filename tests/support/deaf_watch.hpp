#pragma once
/// A program of blocks under the watch as it is, and under one that hears of no barrier.
#include <gtest/gtest.h>

#include <kiln/arch/host/checked_block.hpp>

namespace kiln::test {

class deaf_watch final : public twin::watcher {
 public:
  explicit deaf_watch(twin::checked_block& to) : to_(to) { twin::watching = this; }
  ~deaf_watch() { twin::watching = &to_; }
  void read(const void* p, int bytes, int thread, twin::proxy by) override { to_.read(p, bytes, thread, by); }
  void write(const void* p, int bytes, int thread, twin::proxy by) override { to_.write(p, bytes, thread, by); }
  void barrier(int, int) override {}
  void fence_async(int thread) override { to_.fence_async(thread); }

 private:
  twin::checked_block& to_;
};

/// `run(shared)` is without a fault, and would not be without its barriers.
template <class Shared, int Threads, class Run>
void expect_watched(Run&& run) {
  twin::checked_block watched(sizeof(Shared), Threads);
  run(*reinterpret_cast<Shared*>(watched.shared()));
  EXPECT_EQ(watched.result().message(), "");

  twin::checked_block unordered(sizeof(Shared), Threads);
  const deaf_watch deaf(unordered);
  run(*reinterpret_cast<Shared*>(unordered.shared()));
  const status s = unordered.result();
  EXPECT_EQ(s.code(), errc::protocol);
  EXPECT_NE(s.message().find("with no barrier between"), std::string::npos) << s.message();
}

}  // namespace kiln::test
