#pragma once
/// mbarriers, named barriers and the cluster's barrier of the host's cluster: state, waiting, and who learns what from
/// whom.
#include <cstdint>
#include <kiln/arch/host/cluster_state.hpp>
#include <kiln/arch/host/mbarrier.hpp>
#include <string>
#include <vector>

namespace kiln::twin {

class barriers : public cluster_state {
 public:
  void barrier_init(std::uint64_t* word, int arrivals) override {
    if (arrivals < 1 || arrivals > mbarrier::most_arrivals) {
      stop_for({"initialises an mbarrier with ", arrivals, " arrivals, needs 1 to ", int{mbarrier::most_arrivals}});
    }
    mbarrier(*word).init(arrivals);
    barrier_record* r = find_record(word);
    if (r == nullptr) {
      records_.push_back({});
      r = &records_.back();
      r->actor = checked() ? watch_->add_actor() : -1;
    }
    r->word = word, r->expected = r->landed = 0;
    r->name = say({"mbarrier at shared byte ", address(word)});
    if (shape_.ctas > 1) r->name += say({" of block ", cta()});
  }
  void barrier_arrive(std::uint64_t* word, int to, int first, int count) override {
    if (to < 0 || to >= shape_.ctas) stop_for({"arrives at block ", to, " of a cluster of ", shape_.ctas});
    if (driver_.ended(to)) stop_for({"arrives at an mbarrier of block ", to, ", which has ended"});
    barrier_record& r = record(static_cast<std::uint64_t*>(in_cta(word, to)));
    mbarrier b(*r.word);
    if (count > b.pending()) {
      stop_for(
          {"arrives at the ", r.name, " once more than the ", b.arrivals(), " arrivals that it was initialised with"});
    }
    if (checked()) {
      for (int a = actor(cta(), first); a < actor(cta(), first) + count; ++a) {
        join(r.gathering, watch_->of(a));
        watch_->step(a);
      }
    }
    if (b.arrive(count)) completed(r);
    driver_.pause();
  }
  void barrier_expect(std::uint64_t* word, int bytes) override {
    barrier_record& r = record(word);
    if (bytes < 0 || bytes > mbarrier::most_bytes) {
      stop_for({"expects ", bytes, " bytes, an mbarrier counts to ", int{mbarrier::most_bytes}});
    }
    r.expected += bytes;
    if (mbarrier(*word).expect(bytes)) completed(r);
  }
  void barrier_wait(std::uint64_t* word, int parity, int first, int count) override {
    record(word);
    struct phase final : guard {
      phase(barriers& of, std::uint64_t* its, int p) : all(of), word(its), parity(p) {}
      barriers& all;
      std::uint64_t* word;
      int parity;
      bool open() const override { return mbarrier(*word).done(parity); }
      std::string text() const override { return all.record(word).text(parity); }
    };
    const phase g(*this, word, parity);
    driver_.wait(g);
    learn(first, count, record(word).done[parity & 1]);
  }

  void named_arrive(int name, int first, int count, int expected) override {
    meeting& m = named(name);
    if (m.arrived != 0 && m.expected != expected) {
      stop_for({"meets at named barrier ", name, " as one of ", expected, " threads, others as one of ", m.expected});
    }
    m.expected = expected;
    come(m, first, count);
    if (m.arrived >= m.expected) release(m);
    driver_.pause();
  }
  void named_sync(int name, int first, int count, int expected) override {
    const int round = named(name).round;
    named_arrive(name, first, count, expected);
    await(named(name), round, say({"named barrier ", name}), first, count);
  }
  void cluster_arrive(int first, int count) override {
    if (driver_.in_setup()) return;  // the driver's own meeting follows the setup
    cluster_.expected = driver_.live_threads();
    rounds_[at(actor(cta(), first))] = cluster_.round;
    come(cluster_, first, count);
    settle_cluster();
    driver_.pause();
  }
  void cluster_wait(int first, int count) override {
    if (driver_.in_setup()) return;
    await(cluster_, rounds_[at(actor(cta(), first))], "the barrier of the cluster", first, count);
  }

 protected:
  struct barrier_record {
    std::uint64_t* word = nullptr;
    int actor = -1;
    std::int64_t expected = 0, landed = 0;  // bytes of the current phase
    knowledge gathering, done[2];
    std::string name;
    std::string text(int parity) const {
      const mbarrier b(*word);
      return say({"phase of parity ", parity, " of the ", name, ": ", b.arrivals() - b.pending(), " of ", b.arrivals(),
                  " arrivals, ", landed, " of ", expected, " bytes"});
    }
  };

  barriers(cluster_shape shape, order steps, bool checked, turns& driver)
      : cluster_state(shape, steps, checked, driver),
        named_(at(16 * shape.ctas)),
        rounds_(at(shape.ctas * shape.threads), 0) {}
  ~barriers() = default;

  barrier_record* find_record(const std::uint64_t* word) {
    for (auto& r : records_) {
      if (r.word == word) return &r;
    }
    return nullptr;
  }
  barrier_record& record(std::uint64_t* word) {
    barrier_record* r = find_record(word);
    if (r == nullptr) stop_for({"uses an mbarrier at shared byte ", address(word), " that was never initialised"});
    return *r;
  }
  void completed(barrier_record& r) {
    r.expected = r.landed = 0;
    if (checked()) r.done[1 - mbarrier(*r.word).parity()] = r.gathering;
  }
  void learn(int first, int count, const knowledge& what) {
    if (!checked()) return;
    for (int a = actor(cta(), first); a < actor(cta(), first) + count; ++a) watch_->learn(a, what);
  }
  /// A role that ends counts as arrived.
  void settle_cluster() {
    if (cluster_.arrived > 0 && cluster_.arrived >= driver_.live_threads()) release(cluster_);
  }
  void check_bytes_at_end() {
    for (const barrier_record& r : records_) {
      const int left = mbarrier(*r.word).bytes();
      if (left > 0) fault({"cluster ended while the ", r.name, " waits for ", left, " more bytes"});
      if (left < 0) fault({"cluster ended while the ", r.name, " has ", -left, " bytes too many"});
    }
  }

 private:
  struct meeting {
    int arrived = 0, expected = 0, round = 0;
    std::vector<int> actors;
    knowledge met;
  };

  std::string barrier_of(int actor) const override {
    for (const auto& r : records_) {
      if (r.actor == actor) return r.name;
    }
    return "mbarrier";
  }

  meeting& named(int name) {
    if (name < 0 || name > 15) stop_for({"uses named barrier ", name, ", there are 0 to 15"});
    return named_[at(16 * cta() + name)];
  }
  void come(meeting& m, int first, int count) {
    m.arrived += count;
    for (int a = actor(cta(), first); checked() && a < actor(cta(), first) + count; ++a) m.actors.push_back(a);
  }
  void release(meeting& m) {
    m.arrived = 0, ++m.round;
    for (int a : m.actors) {
      join(m.met, watch_->of(a));
      watch_->step(a);
    }
    m.actors.clear();
  }
  void await(meeting& m, int round, const std::string& what, int first, int count) {
    struct meet final : guard {
      meet(const meeting& of, int r, const std::string& w) : m(of), round(r), what(w) {}
      const meeting& m;
      int round;
      const std::string& what;
      bool open() const override { return m.round != round; }
      std::string text() const override { return say({what, ": ", m.arrived, " of ", m.expected, " threads"}); }
    };
    const meet g(m, round, what);
    driver_.wait(g);
    learn(first, count, m.met);
  }

  std::vector<barrier_record> records_;
  std::vector<meeting> named_;  // 16 of each block
  std::vector<int> rounds_;     // the cluster barrier's round that each thread arrived in
  meeting cluster_;
};

}  // namespace kiln::twin
