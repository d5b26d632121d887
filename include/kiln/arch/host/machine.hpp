#pragma once
/// The host's model of one cluster of blocks: shared memories, barriers, and the engines that copy and multiply on their own.
///
/// Who runs when is the driver's part (driver.hpp). Asynchronous work is queued: copies land when the driver says so, a
/// wgmma is done at its wait with what its issuer knew at the issue, a store reads shared memory as late as it may.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/host/mbarrier.hpp>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/host/roles.hpp>
#include <kiln/arch/host/shadow.hpp>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/executor.hpp>

namespace kiln::twin {

/// Thrown in a role to end it, once a fault has made the rest of the run meaningless.
struct unwound {};

/// What a role waits for.
struct guard {
  virtual bool open() const = 0;
  virtual std::string text() const = 0;

 protected:
  ~guard() = default;
};

/// What the machine asks of its driver.
struct turns {
  virtual int running_cta() const = 0;
  virtual std::string running_role() const = 0;
  virtual bool in_setup() const = 0;
  virtual bool ended(int cta) const = 0;      ///< all roles of the block have ended
  virtual int live_threads() const = 0;       ///< of all roles that have not ended
  virtual void wait(const guard& g) = 0;      ///< returns when the guard is open
  virtual void pause() = 0;                   ///< another role may run now
  virtual void stop() = 0;                    ///< ends all roles at their next wait
  virtual std::uint32_t random(std::uint32_t below) = 0;

 protected:
  ~turns() = default;
};

class machine final : public sm_cluster, public watcher, private actor_names {
 public:
  machine(cluster_shape shape, order steps, bool checked, turns& driver) : shape_(shape), order_(steps), driver_(driver) {
    for (int c = 0; c < shape.ctas; ++c) blocks_.emplace_back(shape.shared_bytes);
    warpgroups_.resize(static_cast<std::size_t>(shape.ctas * groups()));
    stores_.resize(static_cast<std::size_t>(shape.ctas * shape.threads));
    if (checked) {
      const actor_names& names = *this;
      watch_.emplace_back(shape.ctas * (shape.threads + groups()), shape.ctas, shape.shared_bytes, names, faults_);
    }
  }
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  std::byte* shared(int cta) const { return blocks_[at(cta)].memory.data(); }

  /// All threads of all blocks have met: between setup and roles.
  void meet() {
    if (checked()) watch().meet(0, shape_.ctas * shape_.threads);
  }

  // ---- the driver's side

  bool loads_pending() const { return !loads_.empty(); }

  /// Lands a copy, or part of one: the oldest, or any under order::random.
  void land_one() {
    const std::size_t i = order_ == order::random ? driver_.random(static_cast<std::uint32_t>(loads_.size())) : 0;
    load& l = loads_[i];
    const int rows = l.op.map.rows();
    int last = rows;
    if (order_ == order::random && rows - l.next > 1 && driver_.random(2) == 0) {
      last = l.next + 1 + static_cast<int>(driver_.random(static_cast<std::uint32_t>(rows - l.next - 1)));
    }
    const load part = l;
    if (last == rows) {
      loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      l.next = last;
    }
    land(part, part.next, last);
  }

  /// What a role left undone; called in its last turn.
  void end_of_role(int cta, int first, int threads) {
    for (int t = first; t < first + threads; ++t) {
      auto& queue = stores_[at(actor(cta, t))];
      for (const store& s : queue) {
        if (s.confirmed) continue;
        fault("ended while a TMA store may still read shared byte " + std::to_string(s.offset) + ", needs tma_wait_read<0> before");
        break;
      }
      for (store& s : queue) {
        unconfirmed_stores_ -= s.confirmed ? 0 : 1;
        finish(s, true);
      }
      queue.clear();
    }
    for (int g = first / 128; g * 128 < first + threads; ++g) {
      if (g * 128 < first || warpgroups_[at(cta * groups() + g)].products.empty()) continue;
      fault("ended with a wgmma that it did not wait for, needs wgmma_wait<0>");
      warpgroups_[at(cta * groups() + g)].products.clear();
    }
    settle_cluster();
  }

  void end_of_run() {
    for (const load& l : loads_) {
      fault_of("cluster", "ended before a TMA load into shared byte " + std::to_string(l.offset) + " of block " +
                              std::to_string(l.cta) + " had landed: nobody waited for its mbarrier");
    }
    for (const barrier_record& r : records_) {
      if (const int left = mbarrier(*r.word).bytes(); left != 0) {
        fault_of("cluster", "ended while the " + r.name + (left > 0 ? " waits for " + std::to_string(left) + " more bytes"
                                                                   : " has " + std::to_string(-left) + " bytes too many"));
      }
    }
  }

  /// In the order in which they were seen.
  const std::vector<std::string>& reports() const { return faults_; }
  void fault_of(const std::string& who, const std::string& what) {
    for (const auto& f : faults_) {
      if (f == who + " " + what) return;
    }
    faults_.push_back(who + " " + what);
  }

  // ---- watcher

  void read(const void* p, int bytes, int thread, proxy by) override {
    const auto [cta, offset] = find(p);
    if (!checked() || cta < 0) return;
    const int a = actor(driver_.running_cta(), thread);
    check_loads(cta, offset, static_cast<std::size_t>(bytes), a, "reads");
    watch().read(cta, offset, static_cast<std::size_t>(bytes), a, watch().of(a), by);
  }
  void write(const void* p, int bytes, int thread, proxy by) override {
    const auto [cta, offset] = find(p);
    if (!checked() || cta < 0) return;
    const int a = actor(driver_.running_cta(), thread);
    check_loads(cta, offset, static_cast<std::size_t>(bytes), a, "overwrites");
    check_stores(cta, offset, static_cast<std::size_t>(bytes), a);
    watch().write(cta, offset, static_cast<std::size_t>(bytes), a, watch().of(a), by);
  }
  void barrier(int first, int count) override {
    if (checked()) watch().meet(actor(driver_.running_cta(), first), count);
  }
  void fence_async(int thread) override {
    if (checked()) watch().fence(actor(driver_.running_cta(), thread));
  }

  // ---- addresses

  int cta() const override { return driver_.running_cta(); }
  int ctas() const override { return shape_.ctas; }
  std::uint32_t address(const void* p) const override {
    const auto offset = blocks_[at(cta())].memory.offset_of(p);
    if (offset < 0) throw std::logic_error("kiln: an address for sm90 lies outside the block's shared memory");
    return static_cast<std::uint32_t>(offset);
  }
  void* in_cta(const void* p, int cta) const override { return shared(cta) + address(p); }

  // ---- barriers

  void barrier_init(std::uint64_t* word, int arrivals) override {
    if (arrivals < 1 || arrivals > mbarrier::most_arrivals) {
      stop_for("initialises an mbarrier with " + std::to_string(arrivals) + " arrivals, needs 1 to 1048575");
    }
    mbarrier(*word).init(arrivals);
    barrier_record* r = find_record(word);
    if (r == nullptr) {
      records_.push_back({});
      r = &records_.back();
      r->actor = checked() ? watch().add_actor() : -1;
    }
    r->word = word, r->expected = r->landed = 0;
    r->name = "mbarrier at shared byte " + std::to_string(address(word));
    if (shape_.ctas > 1) r->name += " of block " + std::to_string(cta());
  }
  void barrier_arrive(std::uint64_t* word, int to, int first, int count) override {
    if (to < 0 || to >= shape_.ctas) stop_for("arrives at block " + std::to_string(to) + " of a cluster of " + std::to_string(shape_.ctas));
    if (driver_.ended(to)) stop_for("arrives at an mbarrier of block " + std::to_string(to) + ", which has ended");
    barrier_record& r = record(static_cast<std::uint64_t*>(in_cta(word, to)));
    if (count > mbarrier(*r.word).pending()) {
      stop_for("arrives at the " + r.name + " once more than the " + std::to_string(mbarrier(*r.word).arrivals()) +
               " arrivals that it was initialised with");
    }
    if (checked()) {
      for (int t = first; t < first + count; ++t) {
        join(r.gathering, watch().of(actor(cta(), t)));
        watch().step(actor(cta(), t));
      }
    }
    if (mbarrier(*r.word).arrive(count)) completed(r);
    driver_.pause();
  }
  void barrier_expect(std::uint64_t* word, int bytes) override {
    barrier_record& r = record(word);
    if (bytes < 0 || bytes > mbarrier::most_bytes) stop_for("expects " + std::to_string(bytes) + " bytes, an mbarrier counts to 1048575");
    r.expected += bytes;
    if (mbarrier(*word).expect(bytes)) completed(r);
  }
  void barrier_wait(std::uint64_t* word, int parity, int first, int count) override {
    record(word);
    struct phase final : guard {
      phase(machine& of, std::uint64_t* at, int p) : m(of), word(at), parity(p) {}
      machine& m;
      std::uint64_t* word;
      int parity;
      bool open() const override { return mbarrier(*word).done(parity); }
      std::string text() const override { return m.record(word).text(parity); }
    };
    const phase g(*this, word, parity);
    driver_.wait(g);
    if (!checked()) return;
    for (int t = first; t < first + count; ++t) watch().learn(actor(cta(), t), find_record(word)->done[parity & 1]);
  }

  void named_arrive(int name, int first, int count, int expected) override {
    meeting& m = named(name);
    if (m.arrived != 0 && m.expected != expected) {
      stop_for("meets at named barrier " + std::to_string(name) + " as one of " + std::to_string(expected) + " threads, others as one of " +
               std::to_string(m.expected));
    }
    m.expected = expected;
    come(m, first, count);
    if (m.arrived >= m.expected) release(m);
    driver_.pause();
  }
  void named_sync(int name, int first, int count, int expected) override {
    const int round = named(name).round;
    named_arrive(name, first, count, expected);
    wait_for(named(name), round, "named barrier " + std::to_string(name), first, count);
  }
  void cluster_arrive(int first, int count) override {
    if (driver_.in_setup()) return;  // the driver's own meeting follows the setup
    cluster_.expected = driver_.live_threads();
    auto& mine = arrival_round(first);
    mine = cluster_.round;
    come(cluster_, first, count);
    settle_cluster();
    driver_.pause();
  }
  void cluster_wait(int first, int count) override {
    if (driver_.in_setup()) return;
    wait_for(cluster_, arrival_round(first), "the barrier of the cluster", first, count);
  }

  // ---- copies

  void copy_in(const copy_op& op) override {
    const std::uint32_t offset = address_of_box(op);
    barrier_record& r = record(op.barrier);
    for (int c = 0; c < shape_.ctas; ++c) {
      if (op.cta_mask == 0 ? c != cta() : (op.cta_mask >> c & 1) == 0) continue;
      load l{op, cta(), c, offset, static_cast<std::uint64_t*>(in_cta(r.word, c)), 0, {}};
      if (checked()) l.with = watch().of(actor(cta(), op.thread));
      if (order_ == order::eager) {
        land(l, 0, op.map.rows());
      } else {
        std::memset(shared(c) + offset, 0xff, static_cast<std::size_t>(op.map.box_bytes()));
        loads_.push_back(std::move(l));
      }
    }
    if (checked()) watch().step(actor(cta(), op.thread));
    driver_.pause();
  }
  void copy_out(const copy_op& op) override {
    store s{op, cta(), address_of_box(op), -1, false, false, {}, {}};
    if (checked()) {
      s.with = watch().of(actor(cta(), op.thread));
      watch().step(actor(cta(), op.thread));
    }
    if (order_ == order::eager || (order_ == order::random && driver_.random(2) == 0)) finish(s, true);
    ++unconfirmed_stores_;
    stores_[at(actor(cta(), op.thread))].push_back(std::move(s));
    driver_.pause();
  }
  void copy_commit(int thread) override {
    auto& queue = stores_[at(actor(cta(), thread))];
    const int group = ++commits_;
    bool any = false;
    for (store& s : queue) {
      if (s.group >= 0) continue;
      s.group = group;
      any = true;
    }
    if (!any) queue.push_back({{}, cta(), 0, group, true, true, {}, {}});  // an empty group counts too
    driver_.pause();
  }
  void copy_wait(int thread, int pending, bool written) override {
    auto& queue = stores_[at(actor(cta(), thread))];
    int first_kept = commits_ + 1;  // the earliest of the groups that may stay pending
    for (int seen = 0, last = -1, i = static_cast<int>(queue.size()); i-- > 0;) {
      const int g = queue[at(i)].group;
      if (g < 0 || g == last) continue;
      last = g;
      if (seen++ == pending) break;
      first_kept = g;
    }
    for (store& s : queue) {
      if (s.group < 0 || s.group >= first_kept) continue;
      finish(s, written);
      if (!s.confirmed && checked()) {
        const int a = actor(cta(), thread);
        watch().read(s.cta, s.offset, static_cast<std::size_t>(s.op.map.box_bytes()), a, s.with, proxy::async);
      }
      unconfirmed_stores_ -= s.confirmed ? 0 : 1;
      s.confirmed = true;
    }
    if (checked()) watch().step(actor(cta(), thread));
    std::erase_if(queue, [&](const store& s) { return s.confirmed && s.written && s.group >= 0 && s.group < first_kept; });
    driver_.pause();
  }

  // ---- products

  void product(const product_op& op) override {
    warpgroup& w = group_of(op.first);
    if (!w.fenced) stop_for("starts a wgmma with no wgmma_fence after its registers were last free to be written");
    pending_product p{op, -1, {}};
    if (checked()) {
      p.with = common_knowledge(op.first);
      for (int t = op.first; t < op.first + 128; ++t) watch().step(actor(cta(), t));
    }
    bool held = false;
    for (const auto& h : w.held) held = held || h.d == op.d;
    if (!held) {  // until the wait the registers hold NaN; their value is kept aside
      const auto* d = static_cast<const std::byte*>(op.d);
      w.held.push_back({op.d, std::vector<std::byte>(d, d + op.d_bytes)});
      std::memset(op.d, 0xff, op.d_bytes);
    }
    w.products.push_back(std::move(p));
    driver_.pause();
  }
  void product_fence(int first) override { group_of(first).fenced = true; }
  void product_commit(int first) override {
    warpgroup& w = group_of(first);
    ++w.groups;
    for (auto& p : w.products) p.group = p.group < 0 ? w.groups : p.group;
    driver_.pause();
  }
  void product_wait(int first, int pending) override {
    warpgroup& w = group_of(first);
    std::size_t done = 0;
    for (; done < w.products.size(); ++done) {
      pending_product& p = w.products[done];
      if (p.group < 0 || p.group > w.groups - pending) break;
      running_ = &p;
      for (auto& h : w.held) {
        if (h.d == p.op.d) p.op.perform(p.op, h.value.data(), *this);
      }
    }
    running_ = nullptr;
    w.products.erase(w.products.begin(), w.products.begin() + static_cast<std::ptrdiff_t>(done));
    std::erase_if(w.held, [&](const held_registers& h) {
      for (const auto& p : w.products) {
        if (p.op.d == h.d) return false;
      }
      std::memcpy(h.d, h.value.data(), h.value.size());
      return true;
    });
    if (w.products.empty()) w.fenced = false;
    if (checked()) {
      const int engine = engine_of(first);
      for (int t = first; t < first + 128; ++t) watch().learn(actor(cta(), t), watch().of(engine));
      watch().step(engine);
    }
    driver_.pause();
  }
  const std::byte* product_read(std::uint32_t address) override {
    if (address + 16 > shape_.shared_bytes) {
      stop_for("reads shared byte " + std::to_string(address) + " by a wgmma descriptor, the block has " + std::to_string(shape_.shared_bytes));
    }
    if (checked()) {
      const int engine = engine_of(running_->op.first);
      check_loads(cta(), address, 16, engine, "reads");
      watch().read(cta(), address, 16, engine, running_->with, proxy::async);
    }
    return shared(cta()) + address;
  }

 private:
  struct barrier_record {
    std::uint64_t* word = nullptr;
    int actor = -1;
    std::int64_t expected = 0, landed = 0;  // bytes of the current phase
    knowledge gathering, done[2];
    std::string name;
    std::string text(int parity) const {
      const mbarrier b(*word);
      return "phase of parity " + std::to_string(parity) + " of the " + name + ": " + std::to_string(b.arrivals() - b.pending()) + " of " +
             std::to_string(b.arrivals()) + " arrivals, " + std::to_string(landed) + " of " + std::to_string(expected) + " bytes";
    }
  };
  struct meeting {
    int arrived = 0, expected = 0, round = 0;
    std::vector<int> actors;
    knowledge met;
  };
  struct block_state {
    explicit block_state(std::size_t bytes) : memory(bytes) {}
    shared_memory memory;
    meeting named[16];
  };
  struct load {
    copy_op op;
    int from, cta;  // the block that issued it, and the one that it fills
    std::uint32_t offset;
    std::uint64_t* word;
    int next;  // the first row that has not landed
    knowledge with;
  };
  struct store {
    copy_op op;
    int cta;
    std::uint32_t offset;
    int group;  // -1: not committed
    bool confirmed, written;  // confirmed: its thread has waited for the read
    std::vector<std::byte> data;
    knowledge with;
  };
  struct held_registers {
    void* d;
    std::vector<std::byte> value;
  };
  struct pending_product {
    product_op op;
    int group;
    knowledge with;
  };
  struct warpgroup {
    std::vector<pending_product> products;
    std::vector<held_registers> held;
    int groups = 0;
    bool fenced = false;
  };
  struct place {
    int cta;
    std::size_t offset;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool checked() const { return !watch_.empty(); }
  shadow& watch() { return watch_.front(); }
  const shadow& watch() const { return watch_.front(); }
  int groups() const { return (shape_.threads + 127) / 128; }
  int actor(int cta, int thread) const { return cta * shape_.threads + thread; }
  int engine_of(int first) const { return shape_.ctas * shape_.threads + cta() * groups() + first / 128; }
  warpgroup& group_of(int first) { return warpgroups_[at(cta() * groups() + first / 128)]; }

  place find(const void* p) const {
    for (int c = 0; c < shape_.ctas; ++c) {
      if (const auto o = blocks_[at(c)].memory.offset_of(p); o >= 0) return {c, static_cast<std::size_t>(o)};
    }
    return {-1, 0};
  }

  void fault(const std::string& what) { fault_of(driver_.running_role(), what); }
  [[noreturn]] void stop_for(const std::string& what) {
    fault(what);
    stop();
  }
  [[noreturn]] void stop() {
    driver_.stop();
    throw unwound{};
  }

  barrier_record* find_record(const std::uint64_t* word) {
    for (auto& r : records_) {
      if (r.word == word) return &r;
    }
    return nullptr;
  }
  barrier_record& record(std::uint64_t* word) {
    barrier_record* r = find_record(word);
    if (r == nullptr) stop_for("uses an mbarrier at shared byte " + std::to_string(address(word)) + " that was never initialised");
    return *r;
  }
  void completed(barrier_record& r) {
    r.expected = r.landed = 0;
    if (checked()) r.done[1 - mbarrier(*r.word).parity()] = r.gathering;
  }

  meeting& named(int name) {
    if (name < 0 || name > 15) stop_for("uses named barrier " + std::to_string(name) + ", there are 0 to 15");
    return blocks_[at(cta())].named[name];
  }
  void come(meeting& m, int first, int count) {
    m.arrived += count;
    if (checked()) {
      for (int t = first; t < first + count; ++t) m.actors.push_back(actor(cta(), t));
    }
  }
  void release(meeting& m) {
    m.arrived = 0, ++m.round;
    for (int a : m.actors) {
      join(m.met, watch().of(a));
      watch().step(a);
    }
    m.actors.clear();
  }
  void wait_for(meeting& m, int round, const std::string& what, int first, int count) {
    struct meet final : guard {
      meet(const meeting& of, int r, const std::string& w) : m(of), round(r), what(w) {}
      const meeting& m;
      int round;
      const std::string& what;
      bool open() const override { return m.round != round; }
      std::string text() const override {
        return what + ": " + std::to_string(m.arrived) + " of " + std::to_string(m.expected) + " threads";
      }
    };
    const meet g(m, round, what);
    driver_.wait(g);
    if (!checked()) return;
    for (int t = first; t < first + count; ++t) watch().learn(actor(cta(), t), m.met);
  }
  void settle_cluster() {
    if (cluster_.arrived > 0 && cluster_.arrived >= driver_.live_threads()) release(cluster_);
  }
  int& arrival_round(int first) {
    const int a = actor(cta(), first);
    if (rounds_.size() <= at(a)) rounds_.resize(at(a) + 1, 0);
    return rounds_[at(a)];
  }

  std::uint32_t address_of_box(const copy_op& op) {
    const std::uint32_t offset = address(op.shared);
    if (offset % 128 != 0) stop_for("copies a box to or from shared byte " + std::to_string(offset) + ", TMA needs a multiple of 128");
    if (offset + static_cast<std::size_t>(op.map.box_bytes()) > shape_.shared_bytes) {
      stop_for("copies a box of " + std::to_string(op.map.box_bytes()) + " bytes at shared byte " + std::to_string(offset) + ", the block has " +
               std::to_string(shape_.shared_bytes));
    }
    return offset;
  }

  void land(const load& l, int first, int last) {
    const auto begin = static_cast<std::size_t>(first * l.op.map.row_bytes()), bytes = static_cast<std::size_t>((last - first) * l.op.map.row_bytes());
    if (driver_.ended(l.cta)) {
      fault_of("a TMA load", "lands in block " + std::to_string(l.cta) + ", which has ended");
      stop();
    }
    std::byte* to = shared(l.cta) + l.offset;
    for_box(l.op.map, l.op.at, l.offset, first, last, [&](int shared, const std::byte* global, int n) {
      if (global != nullptr) {
        std::memcpy(to + shared, global, static_cast<std::size_t>(n));
      } else {
        std::memset(to + shared, 0, static_cast<std::size_t>(n));
      }
    });
    barrier_record* r = find_record(l.word);
    if (r == nullptr) {
      fault_of("a TMA load", "completes on an mbarrier of block " + std::to_string(l.cta) + " that was never initialised");
      stop();
    }
    if (checked()) {
      check_stores(l.cta, l.offset + begin, bytes, r->actor);
      watch().write(l.cta, l.offset + begin, bytes, r->actor, l.with, proxy::async);
      join(r->gathering, watch().of(r->actor));
      watch().step(r->actor);
    }
    r->landed += static_cast<std::int64_t>(bytes);
    mbarrier b(*r->word);
    const bool complete = b.land(static_cast<int>(bytes));
    if (!complete && b.pending() == 0 && b.bytes() < 0) {
      fault_of("TMA", "landed " + std::to_string(r->landed) + " bytes on the " + r->name + ", which expects " + std::to_string(r->expected));
      stop();
    }
    if (complete) completed(*r);
  }

  /// Reads shared memory for a store, and writes global memory if `written`; each once.
  void finish(store& s, bool written) {
    const tiled_map& m = s.op.map;
    if (s.written) return;
    if (s.data.empty()) {
      const std::byte* from = shared(s.cta) + s.offset;
      s.data.assign(from, from + m.box_bytes());
    }
    if (!written) return;
    s.written = true;
    for_box(m, s.op.at, s.offset, 0, m.rows(), [&](int shared, std::byte* global, int n) {
      if (global == nullptr) return;
      if (!s.op.reduce) {
        std::memcpy(global, s.data.data() + shared, static_cast<std::size_t>(n));
        return;
      }
      for (int i = 0; i < n; i += 4) {
        float there, more;
        std::memcpy(&there, global + i, 4);
        std::memcpy(&more, s.data.data() + shared + i, 4);
        there += more;
        std::memcpy(global + i, &there, 4);
      }
    });
  }
  void check_stores(int cta, std::size_t offset, std::size_t bytes, int who) {
    if (unconfirmed_stores_ == 0) return;
    for (const auto& queue : stores_) {
      for (const store& s : queue) {
        if (s.confirmed || s.cta != cta || !overlap(s, offset, bytes)) continue;
        fault_of(name(who), "overwrites shared memory from byte " + std::to_string(s.offset) + ", which a TMA store of " +
                                name(actor(s.cta, s.op.thread)) + " may still read, needs tma_wait_read before");
      }
    }
  }
  void check_loads(int cta, std::size_t offset, std::size_t bytes, int who, const char* verb) {
    for (const load& l : loads_) {
      if (l.cta != cta || !overlap(l, offset, bytes)) continue;
      fault_of(name(who), verb + (" shared memory from byte " + std::to_string(l.offset)) + ", where a TMA load of " +
                              name(actor(l.from, l.op.thread)) + " has not landed, needs a wait for its mbarrier before");
    }
  }
  template <class Copy>
  static bool overlap(const Copy& c, std::size_t offset, std::size_t bytes) {
    return offset < c.offset + static_cast<std::size_t>(c.op.map.box_bytes()) && offset + bytes > c.offset;
  }

  /// What all four warps of a warpgroup know.
  knowledge common_knowledge(int first) {
    knowledge k = watch().of(actor(cta(), first));
    auto least = [](clock_row& into, const clock_row& other) {
      if (into.size() > other.size()) into.resize(other.size());
      for (std::size_t i = 0; i < into.size(); ++i) into[i] = other[i] < into[i] ? other[i] : into[i];
    };
    for (int t = first + 32; t < first + 128; t += 32) {
      least(k.seen, watch().of(actor(cta(), t)).seen);
      least(k.fenced, watch().of(actor(cta(), t)).fenced);
    }
    return k;
  }

  std::string name(int a) const override {
    const int threads = shape_.ctas * shape_.threads, engines = threads + shape_.ctas * groups();
    const auto of_block = [&](int cta) { return shape_.ctas > 1 ? " of block " + std::to_string(cta) : std::string(); };
    if (a < threads) return "thread " + std::to_string(a % shape_.threads) + of_block(a / shape_.threads);
    if (a < engines) {
      return "wgmma of warpgroup " + std::to_string((a - threads) % groups()) + of_block((a - threads) / groups());
    }
    for (const auto& r : records_) {
      if (r.actor == a) return "TMA load on the " + r.name;
    }
    return "TMA load";
  }

  cluster_shape shape_;
  order order_;
  turns& driver_;
  std::vector<block_state> blocks_;
  std::vector<std::string> faults_;
  std::vector<shadow> watch_;  // one if checked
  std::vector<barrier_record> records_;
  std::vector<load> loads_;
  std::vector<std::vector<store>> stores_;  // of each thread
  std::vector<warpgroup> warpgroups_;
  meeting cluster_;
  std::vector<int> rounds_;  // the cluster barrier's round that each thread arrived in
  const pending_product* running_ = nullptr;
  int commits_ = 0, unconfirmed_stores_ = 0;
};

}  // namespace kiln::twin
