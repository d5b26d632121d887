#pragma once
/// What the parts of the host's cluster share: memories, who runs, the watch, and the reports.
#if !defined(__cpp_exceptions)
#error "arch/host/driver.hpp ends roles by exceptions: compile with -fexceptions, or do not include it"
#endif
#include <cstddef>
#include <cstdint>
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/host/roles.hpp>
#include <kiln/arch/host/shadow.hpp>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/executor.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kiln::twin {

/// What a role waits for.
struct guard {
  virtual bool open() const = 0;
  virtual std::string text() const = 0;

 protected:
  ~guard() = default;
};

/// Thrown in a role to end it, once a fault has made the rest of the run meaningless.
struct unwound {};

/// What the cluster asks of its driver.
struct turns {
  virtual int running_cta() const = 0;
  virtual std::string running_role() const = 0;
  virtual bool in_setup() const = 0;
  virtual bool ended(int cta) const = 0;  ///< all roles of the block have ended
  virtual int live_threads() const = 0;   ///< of all roles that have not ended
  virtual void wait(const guard& g) = 0;  ///< returns when the guard is open
  virtual void pause() = 0;               ///< another role may run now
  virtual void stop() = 0;                ///< ends all roles at their next wait
  virtual std::uint32_t random(std::uint32_t below) = 0;

 protected:
  ~turns() = default;
};

/// Actors, in this order: the threads of all blocks, the wgmma engine of each warpgroup, then one for each mbarrier,
/// which stands for the copies that complete on it.
class cluster_state : public sm_cluster, public watcher, protected actor_names {
 public:
  std::byte* shared(int cta) const { return memories_[at(cta)].data(); }

  /// In the order in which they were seen.
  const std::vector<std::string>& reports() const { return faults_; }
  void fault(sentence what) {
    std::string text = say(what);
    for (const auto& f : faults_) {
      if (f == text) return;
    }
    faults_.push_back(std::move(text));
  }

  /// All threads of all blocks have met: between setup and roles.
  void meet_all() {
    if (checked()) watch_->meet(0, shape_.ctas * shape_.threads);
  }

  void read(const void* p, int bytes, int thread, proxy by) override {
    const location at = find(p);
    if (!checked() || at.cta < 0) return;
    const int a = actor(cta(), thread);
    check_copies(at.cta, at.offset, static_cast<std::size_t>(bytes), a, false);
    watch_->read(at.cta, at.offset, static_cast<std::size_t>(bytes), a, watch_->of(a), by);
  }
  void write(const void* p, int bytes, int thread, proxy by) override {
    const location at = find(p);
    if (!checked() || at.cta < 0) return;
    const int a = actor(cta(), thread);
    check_copies(at.cta, at.offset, static_cast<std::size_t>(bytes), a, true);
    watch_->write(at.cta, at.offset, static_cast<std::size_t>(bytes), a, watch_->of(a), by);
  }
  void barrier(int first, int count) override {
    if (checked()) watch_->meet(actor(cta(), first), count);
  }
  void fence_async(int thread) override {
    if (checked()) watch_->fence(actor(cta(), thread));
  }

  int cta() const override { return driver_.running_cta(); }
  int ctas() const override { return shape_.ctas; }
  std::uint32_t address(const void* p) const override {
    const auto offset = memories_[at(cta())].offset_of(p);
    if (offset < 0) throw std::logic_error("kiln: an address for sm90 lies outside the block's shared memory");
    return static_cast<std::uint32_t>(offset);
  }
  void* in_cta(const void* p, int cta) const override { return shared(cta) + address(p); }

 protected:
  cluster_state(cluster_shape shape, order steps, bool checked, turns& driver)
      : shape_(shape), order_(steps), driver_(driver) {
    for (int c = 0; c < shape.ctas; ++c) memories_.emplace_back(shape.shared_bytes);
    const actor_names& names = *this;
    if (checked)
      watch_.emplace(shape.ctas * (shape.threads + groups()), shape.ctas, shape.shared_bytes, names, faults_);
  }
  cluster_state(const cluster_state&) = delete;
  cluster_state& operator=(const cluster_state&) = delete;
  ~cluster_state() = default;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool checked() const { return watch_.has_value(); }
  int groups() const { return (shape_.threads + 127) / 128; }
  int actor(int cta, int thread) const { return cta * shape_.threads + thread; }
  int engine(int cta, int first) const { return shape_.ctas * shape_.threads + cta * groups() + first / 128; }

  std::string name(int a) const override {
    const int threads = shape_.ctas * shape_.threads, engines = threads + shape_.ctas * groups();
    if (a >= engines) return say({"TMA load on the ", barrier_of(a)});
    const bool thread = a < threads;
    const int of_block = thread ? shape_.threads : groups(), i = thread ? a : a - threads;
    std::string s = say({thread ? "thread " : "wgmma of warpgroup ", i % of_block});
    return shape_.ctas > 1 ? say({s, " of block ", i / of_block}) : s;
  }

  /// A fault of the role that runs; `stop_for` ends the run.
  void fault_here(sentence what) { fault({driver_.running_role(), " ", say(what)}); }
  [[noreturn]] void stop_for(sentence what) {
    fault_here(what);
    stop();
  }
  [[noreturn]] void stop() {
    driver_.stop();
    throw unwound{};
  }

  cluster_shape shape_;
  order order_;
  turns& driver_;
  std::vector<shared_memory> memories_;
  std::vector<std::string> faults_;
  std::optional<shadow> watch_;

 private:
  struct location {
    int cta;
    std::size_t offset;
  };
  location find(const void* p) const {
    for (int c = 0; c < shape_.ctas; ++c) {
      if (const auto o = memories_[at(c)].offset_of(p); o >= 0) return {c, static_cast<std::size_t>(o)};
    }
    return {-1, 0};
  }

  /// Reports an access to bytes that a pending copy reads or writes.
  virtual void check_copies(int cta, std::size_t offset, std::size_t bytes, int who, bool writes) = 0;
  /// The mbarrier that an actor stands for.
  virtual std::string barrier_of(int actor) const = 0;
};

}  // namespace kiln::twin
