#pragma once
/// The copy engine of the host's cluster. Loads land when the driver says so, whole or in parts; stores read shared
/// memory as late as their `wait` allows and write global memory later still. Under order::eager both are done at once.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <kiln/arch/host/barriers.hpp>
#include <utility>
#include <vector>

namespace kiln::twin {

class copies : public barriers {
 public:
  bool loads_pending() const { return !loads_.empty(); }

  /// Lands a load, or part of one: the oldest, or any under order::random.
  void land_one() {
    const std::size_t i = order_ == order::random ? driver_.random(static_cast<std::uint32_t>(loads_.size())) : 0;
    load& l = loads_[i];
    const int first = l.next, rows = l.op.map.rows();
    int last = rows;
    if (order_ == order::random && rows - first > 1 && driver_.random(2) == 0) {
      last = first + 1 + static_cast<int>(driver_.random(static_cast<std::uint32_t>(rows - first - 1)));
    }
    l.next = last;
    const load now = l;
    if (last == rows) loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(i));
    land(now, first, last);
  }

  void copy_in(const copy_op& op) override {
    check_coordinates(op, false);
    const std::uint32_t offset = address_of_box(op);
    record(op.barrier);
    for (int c = 0; c < shape_.ctas; ++c) {
      if (op.cta_mask == 0 ? c != cta() : (op.cta_mask >> c & 1) == 0) continue;
      load l{op, cta(), c, offset, static_cast<std::uint64_t*>(in_cta(op.barrier, c)), 0, {}};
      if (checked()) l.with = watch_->of(actor(cta(), op.thread));
      if (order_ == order::eager) {
        land(l, 0, op.map.rows());
      } else {  // whoever looks too early sees NaN
        std::memset(shared(c) + offset, 0xff, static_cast<std::size_t>(op.map.box_bytes()));
        loads_.push_back(std::move(l));
      }
    }
    if (checked()) watch_->step(actor(cta(), op.thread));
    driver_.pause();
  }
  void copy_out(const copy_op& op) override {
    check_coordinates(op, true);
    store s{op, cta(), address_of_box(op), open_group, false, false, {}, {}};
    if (checked()) {
      s.with = watch_->of(actor(cta(), op.thread));
      watch_->step(actor(cta(), op.thread));
    }
    if (order_ == order::eager || (order_ == order::random && driver_.random(2) == 0)) finish(s, true);
    ++unconfirmed_;
    stores_[at(actor(cta(), op.thread))].push_back(std::move(s));
    driver_.pause();
  }
  void copy_commit(int thread) override {
    auto& queue = stores_[at(actor(cta(), thread))];
    const int group = ++commits_;
    bool any = false;
    for (store& s : queue) {
      if (s.group != open_group) continue;
      s.group = group;
      any = true;
    }
    if (!any) queue.push_back({{}, cta(), 0, group, true, true, {}, {}});  // an empty group counts too
    driver_.pause();
  }
  void copy_wait(int thread, int pending, bool written) override {
    auto& queue = stores_[at(actor(cta(), thread))];
    int first_kept = commits_ + 1;  // the earliest of the groups that may stay pending
    for (int seen = 0, last = open_group, i = static_cast<int>(queue.size()); i-- > 0;) {
      const int g = queue[at(i)].group;
      if (g == open_group || g == last) continue;
      last = g;
      if (seen++ == pending) break;
      first_kept = g;
    }
    const int a = actor(cta(), thread);
    for (store& s : queue) {
      if (s.group == open_group || s.group >= first_kept) continue;
      finish(s, written);
      if (s.confirmed) continue;
      s.confirmed = true, --unconfirmed_;
      if (checked())
        watch_->read(s.cta, s.offset, static_cast<std::size_t>(s.op.map.box_bytes()), a, s.with, proxy::async);
    }
    if (checked()) watch_->step(a);
    std::erase_if(queue, [&](const store& s) {
      return s.confirmed && s.written && s.group != open_group && s.group < first_kept;
    });
    driver_.pause();
  }

 protected:
  copies(cluster_shape shape, order steps, bool checked, turns& driver)
      : barriers(shape, steps, checked, driver), stores_(at(shape.ctas * shape.threads)) {}
  ~copies() = default;

  /// Ends the stores of a thread whose role ends.
  void drain(int cta, int thread) {
    auto& queue = stores_[at(actor(cta, thread))];
    for (store& s : queue) {
      if (!s.confirmed) {
        fault_here(
            {"ended while a TMA store may still read shared byte ", s.offset, ", needs tma_wait_read<0> before"});
        --unconfirmed_;
      }
      finish(s, true);
    }
    queue.clear();
  }
  void check_loads_at_end() {
    for (const load& l : loads_) {
      fault({"cluster ended before a TMA load into shared byte ", l.offset, " of block ", l.cta,
             " had landed: nobody waited for its mbarrier"});
    }
  }

  void check_copies(int cta, std::size_t offset, std::size_t bytes, int who, bool writes) override {
    for (const load& l : loads_) {
      if (l.cta != cta || !overlap(l, offset, bytes)) continue;
      fault({name(who), writes ? " overwrites" : " reads", " shared memory from byte ", l.offset,
             ", where a TMA load of ", name(actor(l.from, l.op.thread)),
             " has not landed, needs a wait for its mbarrier before"});
    }
    if (writes) check_stores(cta, offset, bytes, who);
  }

 private:
  static constexpr int open_group = -1;
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
    int group;
    bool confirmed, written;  // confirmed: its thread has waited until it has read
    std::vector<std::byte> data;
    knowledge with;
  };

  /// What the engine answers with an illegal instruction, as seen on an H200.
  void check_coordinates(const copy_op& op, bool stores) {
    const int e = op.map.element_bytes;
    if (op.at[0] * std::int64_t{e} % 16 != 0) {
      stop_for({"copies a box from column ", op.at[0], " of elements of ", e,
                " bytes on, TMA needs a multiple of 16 bytes"});
    }
    for (int d = 0; stores && d < op.map.rank; ++d) {
      if (op.at[d] < 0) stop_for({"stores a box at ", op.at[d], " in dimension ", d, ", TMA stores need at least 0"});
    }
  }

  std::uint32_t address_of_box(const copy_op& op) {
    const std::uint32_t offset = address(op.shared);
    const int bytes = op.map.box_bytes();
    if (offset % 128 != 0) stop_for({"copies a box to or from shared byte ", offset, ", TMA needs a multiple of 128"});
    if (offset + static_cast<std::size_t>(bytes) > shape_.shared_bytes) {
      stop_for({"copies a box of ", bytes, " bytes at shared byte ", offset, ", the block has ", shape_.shared_bytes});
    }
    return offset;
  }

  void land(const load& l, int first, int last) {
    const tiled_map& m = l.op.map;
    const auto begin = static_cast<std::size_t>(first * m.row_bytes()),
               bytes = static_cast<std::size_t>((last - first) * m.row_bytes());
    barrier_record* r = find_record(l.word);
    if (driver_.ended(l.cta) || r == nullptr) {
      fault({"a TMA load lands in block ", l.cta,
             r == nullptr ? ", whose mbarrier was never initialised" : ", which has ended"});
      stop();
    }
    std::byte* to = shared(l.cta) + l.offset;
    for_box(m, l.op.at, l.offset, first, last, [&](int place, const std::byte* global, int n) {
      if (global != nullptr) {
        std::memcpy(to + place, global, static_cast<std::size_t>(n));
      } else {
        std::memset(to + place, 0, static_cast<std::size_t>(n));
      }
    });
    if (checked()) {
      check_stores(l.cta, l.offset + begin, bytes, r->actor);
      watch_->write(l.cta, l.offset + begin, bytes, r->actor, l.with, proxy::async);
      join(r->gathering, watch_->of(r->actor));
      watch_->step(r->actor);
    }
    r->landed += static_cast<std::int64_t>(bytes);
    mbarrier b(*r->word);
    const bool complete = b.land(static_cast<int>(bytes));
    if (!complete && b.pending() == 0 && b.bytes() < 0) {
      fault({"TMA landed ", r->landed, " bytes on the ", r->name, ", which expects ", r->expected});
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
    for_box(m, s.op.at, s.offset, 0, m.rows(), [&](int place, std::byte* global, int n) {
      if (global == nullptr) return;
      const std::byte* from = s.data.data() + place;
      if (!s.op.reduce) std::memcpy(global, from, static_cast<std::size_t>(n));
      for (int i = 0; s.op.reduce && i < n; i += 4) {
        float there, more;
        std::memcpy(&there, global + i, 4);
        std::memcpy(&more, from + i, 4);
        there += more;
        std::memcpy(global + i, &there, 4);
      }
    });
  }

  void check_stores(int cta, std::size_t offset, std::size_t bytes, int who) {
    if (unconfirmed_ == 0) return;
    for (const auto& queue : stores_) {
      for (const store& s : queue) {
        if (s.confirmed || s.cta != cta || !overlap(s, offset, bytes)) continue;
        fault({name(who), " overwrites shared memory from byte ", s.offset, ", which a TMA store of ",
               name(actor(s.cta, s.op.thread)), " may still read, needs tma_wait_read before"});
      }
    }
  }
  template <class Copy>
  static bool overlap(const Copy& c, std::size_t offset, std::size_t bytes) {
    return offset < c.offset + static_cast<std::size_t>(c.op.map.box_bytes()) && offset + bytes > c.offset;
  }

  std::vector<load> loads_;
  std::vector<std::vector<store>> stores_;  // of each thread
  int commits_ = 0, unconfirmed_ = 0;
};

}  // namespace kiln::twin
