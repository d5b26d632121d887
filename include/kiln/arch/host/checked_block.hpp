#pragma once
/// A block whose shared memory is watched while this object lives, on the host thread that made it.
///
///     twin::checked_block block(sizeof(storage), 128);
///     run(*reinterpret_cast<storage*>(block.shared()));
///     return block.result();
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <kiln/arch/host/shadow.hpp>
#include <kiln/core/status.hpp>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace kiln::twin {

/// Shared memory as a block gets it: aligned to 1024 bytes, every byte 0xff, which is NaN in every floating-point type.
class shared_memory {
 public:
  explicit shared_memory(std::size_t bytes)
      : size_(bytes), first_(static_cast<std::byte*>(::operator new(bytes, alignment))) {
    std::memset(first_, 0xff, bytes);
  }
  shared_memory(shared_memory&& from) noexcept : size_(from.size_), first_(std::exchange(from.first_, nullptr)) {}
  ~shared_memory() { ::operator delete(first_, alignment); }

  std::byte* data() const { return first_; }
  std::size_t size() const { return size_; }

  /// Offset of an address in it, or -1 if it lies elsewhere.
  std::ptrdiff_t offset_of(const void* p) const {
    const auto at = reinterpret_cast<std::uintptr_t>(p), first = reinterpret_cast<std::uintptr_t>(first_);
    return at >= first && at < first + size_ ? static_cast<std::ptrdiff_t>(at - first) : -1;
  }

 private:
  static constexpr std::align_val_t alignment{1024};
  std::size_t size_;
  std::byte* first_;
};

/// The outcome of a watched run: its first report, and how many more there are.
template <class Reports>
status outcome(const Reports& reports) {
  if (reports.empty()) return {};
  if (reports.size() == 1) return fail(errc::protocol, reports[0]);
  return fail(errc::protocol, reports[0], " (and ", reports.size() - 1, " more)");
}

template <class Shadow>
class block_checked_by final : public watcher, private actor_names {
 public:
  block_checked_by(std::size_t shared_bytes, int thread_count)
      : memory_(shared_bytes), shadow_(thread_count, 1, shared_bytes, *this, reports_), before_(watching) {
    watching = this;
  }
  block_checked_by(const block_checked_by&) = delete;
  block_checked_by& operator=(const block_checked_by&) = delete;
  ~block_checked_by() { watching = before_; }

  std::byte* shared() const { return memory_.data(); }

  /// One sentence for each fault: both threads, the byte's offset, what is missing.
  const std::vector<std::string>& reports() const { return reports_; }
  status result() const { return outcome(reports()); }

  void read(const void* p, int bytes, int thread, proxy by) override {
    if (const auto at = memory_.offset_of(p); at >= 0) {
      shadow_.read(0, static_cast<std::size_t>(at), static_cast<std::size_t>(bytes), thread, shadow_.of(thread), by);
    }
  }
  void write(const void* p, int bytes, int thread, proxy by) override {
    if (const auto at = memory_.offset_of(p); at >= 0) {
      shadow_.write(0, static_cast<std::size_t>(at), static_cast<std::size_t>(bytes), thread, shadow_.of(thread), by);
    }
  }
  void barrier(int first, int count) override { shadow_.meet(first, count); }
  void fence_async(int thread) override { shadow_.fence(thread); }

 private:
  std::string name(int actor) const override { return say({"thread ", actor}); }

  shared_memory memory_;
  std::vector<std::string> reports_;
  Shadow shadow_;
  watcher* before_;
};
using checked_block = block_checked_by<shadow>;

}  // namespace kiln::twin
