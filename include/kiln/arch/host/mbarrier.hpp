#pragma once
/// The host's mbarrier: phase, arrivals and bytes in the 64 bits that the device's takes.
/// Source: PTX ISA, "mbarrier": phase, pending arrivals, expected arrivals of the next phase, tx-count.
#include <kiln/version.hpp>

#include <cstdint>

namespace kiln::twin {

/// Bits 0 to 19 arrivals still to come, 20 to 39 arrivals of a phase, 40 to 62 bytes still to come (negative where more
/// have landed than were expected so far), 63 parity of the phase that runs.
class mbarrier {
 public:
  static constexpr int most_arrivals = (1 << 20) - 1, most_bytes = (1 << 20) - 1;

  explicit mbarrier(std::uint64_t& word) : word_(word) {}

  void init(int arrivals) { store(arrivals, arrivals, 0, 0); }

  int pending() const { return static_cast<int>(word_ & 0xfffff); }
  int arrivals() const { return static_cast<int>(word_ >> 20 & 0xfffff); }
  int bytes() const { return static_cast<int>(static_cast<std::int64_t>(word_ << 1) >> 41); }
  int parity() const { return static_cast<int>(word_ >> 63); }

  /// All of these return whether the phase completed; the next has begun then.
  bool arrive(int count) { return settle(pending() - count, bytes()); }
  bool expect(int more) { return settle(pending(), bytes() + more); }
  bool land(int landed) { return settle(pending(), bytes() - landed); }

  /// Whether the phase of this parity has completed; of a fresh barrier, that of parity 1 has.
  bool done(int of_parity) const { return parity() != of_parity; }

 private:
  bool settle(int pending, int bytes) {
    const bool complete = pending == 0 && bytes == 0;
    store(complete ? arrivals() : pending, arrivals(), bytes, complete ? 1 - parity() : parity());
    return complete;
  }
  void store(int pending, int arrivals, int bytes, int parity) {
    word_ = static_cast<std::uint64_t>(pending) | static_cast<std::uint64_t>(arrivals) << 20 |
            (static_cast<std::uint64_t>(bytes) & 0x7fffff) << 40 | static_cast<std::uint64_t>(parity) << 63;
  }

  std::uint64_t& word_;
};

}  // namespace kiln::twin
