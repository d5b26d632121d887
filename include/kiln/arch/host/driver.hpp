#pragma once
/// The driver behind `run_roles` (roles.hpp): host threads that pass one turn around.
#include <condition_variable>
#include <exception>
#include <kiln/arch/host/machine.hpp>
#include <kiln/arch/host/roles.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kiln::twin {

class driver final : private turns {
 public:
  driver(const host_executor& ex, cluster_shape shape, const role_entry& setup, const role_entry* roles, int count)
      : shape_(shape),
        order_(ex.steps),
        random_state_(ex.seed),
        roles_(static_cast<std::size_t>(shape.ctas * count)),
        machine_(shape, ex.steps, ex.checked, *this) {
    const seat here(*this);
    for (; setup_cta_ < shape.ctas; ++setup_cta_) setup.call(setup.f, block_of(setup_cta_));
    machine_.meet_all();
    int i = 0;
    for (int c = 0; c < shape.ctas; ++c) {
      for (int r = 0; r < count; ++r, ++i) roles_[at(i)].what = roles[r], roles_[at(i)].cta = c;
    }
  }
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  /// All roles to their ends. Rethrows what a role threw; a fault of the protocol is the status.
  status run() {
    now_ = 0;
    for (int i = 0; i < size(); ++i) {
      roles_[at(i)].thread = std::thread([this, i] { live(i); });
    }
    turn_to(0);
    for (auto& r : roles_) r.thread.join();
    if (error_) std::rethrow_exception(error_);
    if (!stopping_) machine_.end_of_run();
    return outcome(machine_.reports());
  }

 private:
  struct running_role_state {
    role_entry what{};
    int cta = 0;
    const guard* waits_for = nullptr;
    bool ended = false;
    std::thread thread;
    std::condition_variable turn;
  };
  /// While it lives, twins on this host thread talk to this machine.
  struct seat {
    explicit seat(driver& d) : watching_before(watching), cluster_before(current_cluster) {
      watching = &d.machine_, current_cluster = &d.machine_;
    }
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;
    ~seat() { watching = watching_before, current_cluster = cluster_before; }
    watcher* watching_before;
    sm_cluster* cluster_before;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int size() const { return static_cast<int>(roles_.size()); }
  block block_of(int cta) const { return {cta, shape_.ctas, machine_.shared(cta)}; }

  /// One role's host thread.
  void live(int me) {
    running_role_state& r = roles_[at(me)];
    await_turn(me);
    try {
      if (!stopping_) {
        const seat here(*this);
        r.what.call(r.what.f, block_of(r.cta));
      }
    } catch (const unwound&) {
    } catch (...) {
      if (!error_) error_ = std::current_exception();
      stopping_ = true;
    }
    r.ended = true;
    try {
      if (!stopping_) machine_.end_of_role(r.cta, r.what.first, r.what.threads);
      if (const int next = choose(); next >= 0) turn_to(next);
    } catch (const unwound&) {
      if (const int next = choose(); next >= 0) turn_to(next);
    }
  }

  void await_turn(int me) {
    std::unique_lock lock(mutex_);
    roles_[at(me)].turn.wait(lock, [&] { return turn_ == me; });
    now_ = me;
  }
  void turn_to(int next) {
    const std::lock_guard lock(mutex_);
    turn_ = next;
    roles_[at(next)].turn.notify_one();
  }
  void pass_turn() {
    const int me = now_, next = choose();
    if (next != me) {
      turn_to(next);
      await_turn(me);
    }
    if (stopping_) throw unwound{};
  }

  bool can_run(int i) const {
    const running_role_state& r = roles_[at(i)];
    return !r.ended && (r.waits_for == nullptr || r.waits_for->open());
  }

  /// Who runs next; lands copies on the way. -1 if all have ended.
  int choose() {
    for (;;) {
      if (stopping_) return any_alive();
      int open = 0, wants_landing = 0;
      for (int i = 0; i < size(); ++i) open += can_run(i) ? 1 : 0;
      if (order_ == order::random && machine_.loads_pending()) wants_landing = 1;
      if (open + wants_landing == 0 || (open == 0 && any_alive() < 0)) {
        if (any_alive() < 0) return -1;
        if (!machine_.loads_pending()) {
          deadlock();
          continue;
        }
        forwards_ = !forwards_;
        machine_.land_one();
        continue;
      }
      if (order_ == order::random) {
        auto pick = static_cast<int>(random(static_cast<std::uint32_t>(open + wants_landing)));
        if (pick == open) {
          machine_.land_one();
          continue;
        }
        for (int i = 0; i < size(); ++i) {
          if (can_run(i) && pick-- == 0) return i;
        }
      }
      for (int i = 0; i < size(); ++i) {
        const int k = order_ == order::eager ? (now_ + 1 + i) % size() : forwards_ ? i : size() - 1 - i;
        if (can_run(k)) return k;
      }
    }
  }
  int any_alive() const {
    for (int i = 0; i < size(); ++i) {
      if (!roles_[at(i)].ended) return i;
    }
    return -1;
  }

  void deadlock() {
    std::string all;
    for (int i = 0; i < size(); ++i) {
      if (roles_[at(i)].ended) continue;
      all += say({all.empty() ? "" : "; ", name_of(i), " waits for ", roles_[at(i)].waits_for->text()});
    }
    machine_.fault({"deadlock: ", all});
    stopping_ = true;
  }
  std::string name_of(int i) const {
    const running_role_state& r = roles_[at(i)];
    return shape_.ctas > 1 ? say({r.what.name, " of block ", r.cta}) : r.what.name;
  }

  // ---- turns

  int running_cta() const override { return in_setup() ? setup_cta_ : roles_[at(now_)].cta; }
  std::string running_role() const override { return in_setup() ? "setup" : name_of(now_); }
  bool in_setup() const override { return now_ < 0; }
  bool ended(int cta) const override {
    for (const auto& r : roles_) {
      if (r.cta == cta && !r.ended) return false;
    }
    return true;
  }
  int live_threads() const override {
    int n = 0;
    for (const auto& r : roles_) n += r.ended ? 0 : r.what.threads;
    return n;
  }
  void wait(const guard& g) override {
    if (in_setup()) {
      if (g.open()) return;
      throw std::logic_error("kiln: the setup of a cluster waits, and no role runs yet: " + g.text());
    }
    if (order_ == order::eager && g.open()) return;
    running_role_state& r = roles_[at(now_)];
    r.waits_for = &g;
    pass_turn();
    r.waits_for = nullptr;
  }
  void pause() override {
    if (in_setup() || order_ == order::eager || (order_ == order::random && random(2) == 0)) return;
    pass_turn();
  }
  void stop() override {
    stopping_ = true;
    if (in_setup()) throw std::logic_error(say({"kiln: ", machine_.reports().back()}));
  }
  /// SplitMix64 (Steele, Lea, Flood 2014).
  std::uint32_t random(std::uint32_t below) override {
    std::uint64_t x = random_state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32) % below;
  }

  cluster_shape shape_;
  order order_;
  std::uint64_t random_state_;
  std::vector<running_role_state> roles_;
  machine machine_;
  int setup_cta_ = 0;
  int now_ = -1;  // the role that holds the turn, -1 in setup
  bool forwards_ = true;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::mutex mutex_;
  int turn_ = -1;
};

template <class Caller>
struct cluster_runner {
  static status run(const host_executor& ex, cluster_shape shape, const role_entry& setup, const role_entry* roles,
                    int count) {
    return driver(ex, shape, setup, roles, count).run();
  }
};

}  // namespace kiln::twin
