#pragma once
/// The shadow of shared memory: who wrote and read each byte last, and what each thread knows of the others.
///
/// A race detector by vector clocks (Flanagan and Freund, "FastTrack", 2009). An actor is a thread, or a part of the
/// hardware that reads or writes on its own: a warpgroup's wgmma, the copies that complete on one mbarrier. `seen(a,
/// b)` is the last step of actor b that a knows of; `fenced(a, b)` the last one that a proxy fence has passed on the
/// way to a.
#include <cstdint>
#include <kiln/arch/host/watch.hpp>
#include <kiln/core/sentence.hpp>
#include <string>
#include <vector>

namespace kiln::twin {

using detail::say, detail::sentence;

/// What an actor knew at one moment: an asynchronous operation acts with what its issuer knew at the issue.
///
/// Rows of clocks are a parameter of all that holds them. Every unit that calls a GEMM includes this header, and so
/// compiles none of it but where the host runs.
template <class Row>
struct knowledge_in {
  Row seen, fenced;
};
using knowledge = knowledge_in<std::vector<std::uint32_t>>;

template <class Row>
void join(Row& into, const Row& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = from[i] > into[i] ? from[i] : into[i];
}
template <class Row>
void join(knowledge_in<Row>& into, const knowledge_in<Row>& from) {
  join(into.seen, from.seen);
  join(into.fenced, from.fenced);
}

/// Describes actors in reports.
struct actor_names {
  virtual std::string name(int actor) const = 0;

 protected:
  ~actor_names() = default;
};

template <class Row>
class shadow_in {
 public:
  using knowledge = knowledge_in<Row>;

  /// `actors` rows of knowledge over `regions` shared memories of `bytes` each. Faults are appended to `reports`.
  shadow_in(int actors, int regions, std::size_t bytes, const actor_names& called, std::vector<std::string>& reports)
      : bytes_(bytes), cells_(static_cast<std::size_t>(regions) * bytes), reports_(reports), names_(called) {
    for (int a = 0; a < actors; ++a) add_actor();
  }

  /// One more actor; its first step is 1, so that nobody knows of it.
  int add_actor() {
    const std::size_t a = known_.size();
    known_.emplace_back();
    known_[a].seen.assign(a + 1, 0);
    known_[a].seen[a] = 1;
    return static_cast<int>(a);
  }

  const knowledge& of(int actor) const { return known_[place_of(actor)]; }

  /// Begins the actor's next step: what it does from now on is new to all that learnt from it before.
  void step(int actor) { ++known_[place_of(actor)].seen[place_of(actor)]; }

  void learn(int actor, const knowledge& what) { join(known_[place_of(actor)], what); }

  /// Actors [first, first + count) learn all that any of them knows.
  void meet(int first, int count) {
    meeting_.seen.assign(known_.size(), 0);
    meeting_.fenced.assign(known_.size(), 0);
    for (int a = first; a < first + count; ++a) join(meeting_, of(a));
    for (int a = first; a < first + count; ++a) {
      known_[place_of(a)] = meeting_;
      step(a);
    }
  }

  void fence(int actor) {
    known_[place_of(actor)].fenced = known_[place_of(actor)].seen;
    step(actor);
  }

  /// `actor` reads with what `with` knows; reports bytes whose last write is not known, or not fenced for the async
  /// proxy.
  void read(int region, std::size_t offset, std::size_t count, int actor, const knowledge& with, proxy by) {
    const std::uint32_t now = of(actor).seen[place_of(actor)];
    for (std::size_t i = offset; i < offset + count && i < bytes_; ++i) {
      cell& c = at(region, i);
      check_write(c, i, actor, with, by, " reads shared byte ");
      remember_read(c, actor, now, with);
    }
  }
  void write(int region, std::size_t offset, std::size_t count, int actor, const knowledge& with, proxy by) {
    const std::uint32_t now = of(actor).seen[place_of(actor)];
    for (std::size_t i = offset; i < offset + count && i < bytes_; ++i) {
      cell& c = at(region, i);
      check_write(c, i, actor, with, by, " overwrites shared byte ");
      check_reads(c, i, actor, with);
      c.writer = actor, c.written = now, c.written_by = by;
      c.reader = nobody, c.more = 0;
    }
  }

  /// Adds a report; the same kind about the same two parties is told once.
  void report(int kind, int one, int other, sentence text) {
    for (const auto& t : told_) {
      if (t.kind == kind && t.one == one / 32 && t.other == other / 32) return;
    }
    told_.push_back({kind, one / 32, other / 32});
    reports_.push_back(say(text));
  }

 private:
  static constexpr int nobody = -1;
  struct cell {
    std::uint32_t written = 0, read = 0;
    int writer = nobody, reader = nobody;
    std::uint32_t more = 0;  // index of the first further reader, 0 for none
    proxy written_by = proxy::generic;
  };
  struct reader {
    int actor;
    std::uint32_t step, next;
  };
  struct told {
    int kind, one, other;
  };

  static std::size_t place_of(int actor) { return static_cast<std::size_t>(actor); }
  static std::uint32_t get(const Row& row, int actor) {
    return place_of(actor) < row.size() ? row[place_of(actor)] : 0;
  }

  cell& at(int region, std::size_t offset) { return cells_[static_cast<std::size_t>(region) * bytes_ + offset]; }

  void check_write(const cell& c, std::size_t offset, int actor, const knowledge& with, proxy by, const char* verb) {
    if (c.writer == nobody) return;
    const bool unseen = c.written > get(with.seen, c.writer);
    const bool unfenced =
        by == proxy::async && c.written_by == proxy::generic && c.written > get(with.fenced, c.writer);
    if (!unseen && !unfenced) return;
    report(unseen ? 0 : 1, actor, c.writer,
           {names_.name(actor), verb, offset, unseen ? ", which " : " through the async proxy, which ",
            names_.name(c.writer),
            unseen ? " wrote with no barrier between" : " wrote with no fence.proxy.async between"});
  }

  void check_reads(const cell& c, std::size_t offset, int actor, const knowledge& with) {
    check_reader(c.reader, c.read, offset, actor, with);
    for (std::uint32_t i = c.more; i != 0; i = readers_[i].next) {
      check_reader(readers_[i].actor, readers_[i].step, offset, actor, with);
    }
  }
  void check_reader(int who, std::uint32_t when, std::size_t offset, int actor, const knowledge& with) {
    if (who == nobody || when <= get(with.seen, who)) return;
    report(2, actor, who,
           {names_.name(actor), " overwrites shared byte ", offset, ", which ", names_.name(who),
            " read with no barrier between"});
  }

  void remember_read(cell& c, int actor, std::uint32_t now, const knowledge& with) {
    if (c.reader == nobody || c.reader == actor || (c.more == 0 && c.read <= get(with.seen, c.reader))) {
      c.reader = actor, c.read = now;
      return;
    }
    for (std::uint32_t i = c.more; i != 0; i = readers_[i].next) {
      if (readers_[i].actor != actor) continue;
      readers_[i].step = now;
      return;
    }
    readers_.push_back({actor, now, c.more});
    c.more = static_cast<std::uint32_t>(readers_.size() - 1);
  }

  std::size_t bytes_;
  std::vector<cell> cells_;
  std::vector<reader> readers_{1};
  std::vector<knowledge> known_;
  knowledge meeting_;
  std::vector<told> told_;
  std::vector<std::string>& reports_;
  const actor_names& names_;
};
using shadow = shadow_in<std::vector<std::uint32_t>>;

}  // namespace kiln::twin
