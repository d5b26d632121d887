#pragma once
/// What the host twins tell the watch about shared memory. Tiny, since device code includes it too.
///
/// The calls do nothing unless a checked block runs on this host thread (checked_block.hpp, driver.hpp). Threads are
/// ranks in their block. On the host a loop over threads ends before the next begins, so a missing barrier never shows
/// in the result; the watch keeps who wrote and read each byte, and reports what nothing orders.
#include <kiln/version.hpp>

namespace kiln::twin {

/// The path by which memory is reached: loads and stores of threads, or the copy engine and wgmma (PTX ISA, "Proxies").
enum class proxy : unsigned char { generic, async };

/// Who listens. Addresses outside the shared memory that it watches mean nothing to it.
struct watcher {
  virtual void read(const void* p, int bytes, int thread, proxy by) = 0;
  virtual void write(const void* p, int bytes, int thread, proxy by) = 0;
  virtual void barrier(int first, int count) = 0;
  virtual void fence_async(int thread) = 0;

 protected:
  ~watcher() = default;
};

inline constinit thread_local watcher* watching = nullptr;

/// As a function, for code that is compiled for the device, too.
inline watcher* listener() { return watching; }

inline void note_read(const void* p, int bytes, int thread, proxy by = proxy::generic) {
  if (watching != nullptr) watching->read(p, bytes, thread, by);
}
inline void note_write(const void* p, int bytes, int thread, proxy by = proxy::generic) {
  if (watching != nullptr) watching->write(p, bytes, thread, by);
}
/// Threads [first, first + count) of the block have met: what each did before is seen by all of them after.
inline void note_barrier(int first, int count) {
  if (watching != nullptr) watching->barrier(first, count);
}
/// The thread ran fence.proxy.async: all that it has written, or has seen written, is ready for the async proxy.
inline void note_fence_async(int thread) {
  if (watching != nullptr) watching->fence_async(thread);
}

}  // namespace kiln::twin
