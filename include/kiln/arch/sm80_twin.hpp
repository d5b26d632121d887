#pragma once
/// The host's model of what sm80 instructions do out of a thread's sight: copies on their way, and faults.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/misuse.hpp>
#include <vector>

namespace kiln::twin {

/// What the hardware answers with a trap is an exception here.
inline void require_aligned(const void* p, int bytes, const char* instruction) {
  const auto at = reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes);
  if (at == 0) return;
  char text[160];
  std::snprintf(text, sizeof text, "kiln: %s: saw an address %d bytes beyond a multiple of %d, needs that multiple",
                instruction, static_cast<int>(at), bytes);
  kiln::detail::misuse(text);
}

struct cp_async_copy {
  void* to;
  const void* from;
  int bytes, valid;
};

/// The cp.async copies of one thread. Each lands when its thread waits for it and not before, its source is read then,
/// and until then its destination holds NaN: a missing wait, a slot read too early and a source that changes too early
/// all show.
///
/// Copies are a parameter, so that units which only launch compile no queue.
template <class Copy>
class copy_queue_of {
 public:
  void issue(void* to, const void* from, int bytes, int valid) {
    std::memset(to, 0xff, static_cast<std::size_t>(bytes));
    copies_.push_back({to, from, bytes, valid});
  }
  void commit() {
    groups_.push_back(copies_.size() - committed_);
    committed_ = copies_.size();
  }
  /// Lands all groups but the `newest` latest, the oldest first.
  void wait(std::size_t newest, int thread) {
    if (groups_.size() <= newest) return;
    const std::size_t landing = groups_.size() - newest;
    std::size_t count = 0;
    for (std::size_t g = 0; g < landing; ++g) count += groups_[g];
    for (std::size_t i = 0; i < count; ++i) land(copies_[i], thread);
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
    groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(landing));
    committed_ -= count;
  }
  std::size_t pending() const { return copies_.size(); }

 private:
  static void land(const Copy& c, int thread) {
    note_write(c.to, c.bytes, thread);
    std::memset(c.to, 0, static_cast<std::size_t>(c.bytes));
    if (c.valid > 0) std::memcpy(c.to, c.from, static_cast<std::size_t>(c.valid));
  }
  std::vector<Copy> copies_;
  std::vector<std::size_t> groups_;
  std::size_t committed_ = 0;
};

using copy_queue = copy_queue_of<cp_async_copy>;

/// The queues of the block that runs on this host thread, by rank.
template <class Queue = copy_queue>
std::vector<Queue>& copies_here() {
  static thread_local std::vector<Queue> queues;
  return queues;
}
template <class Queue = copy_queue>
Queue& copies_of(int thread) {
  const auto rank = static_cast<std::size_t>(thread);
  auto& queues = copies_here<Queue>();
  if (queues.size() <= rank) queues.resize(rank + 1);
  return queues[rank];
}

/// At the end of a block: forgets its copies and says how many never landed.
template <class Queue = copy_queue>
std::size_t drop_copies() {
  std::size_t lost = 0;
  for (const auto& q : copies_here<Queue>()) lost += q.pending();
  copies_here<Queue>().clear();
  return lost;
}

/// Forgets them wherever it goes out of scope.
template <class Queue = copy_queue>
struct copies_of_block {
  copies_of_block() = default;
  copies_of_block(const copies_of_block&) = delete;
  copies_of_block& operator=(const copies_of_block&) = delete;
  ~copies_of_block() { static_cast<void>(drop_copies<Queue>()); }
};

}  // namespace kiln::twin
