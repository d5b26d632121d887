#pragma once
/// Whether problems that run at one time keep out of each other's memory.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <kiln/core/status.hpp>
#include <kiln/kernel/gemm/check.hpp>

namespace kiln::detail {

/// Bytes between the first and the last that a problem reads or writes through one view.
struct byte_range {
  std::uint64_t begin, end;
  std::uint32_t problem;
  bool written;
};

template <class View>
void add_range(std::vector<byte_range>& to, const View& v, std::uint32_t problem, bool written) {
  if (v.data == nullptr || v.empty()) return;
  const auto f = footprint_of(v);
  to.push_back({f.first, f.first + static_cast<std::uint64_t>(f.span()), problem, written});
}

/// The outputs of one problem against all that another touches.
template <class Arguments>
status check_pair(const Arguments& writer, index_t number, const Arguments& other, index_t other_number) {
  status s;
  writer.sinks.each([&](const auto& sink, auto) {
    const auto against = [&](const auto& view, const char* name) {
      if (s.ok() && overlaps(sink.view, view) != overlap::none)
        static_cast<void>(s = fail(errc::overlap, "an output of problem ", number, " shares memory with `", name,
                                   "` of problem ", other_number,
                                   "; the problems of one launch run at one time, so each needs outputs of its own"));
    };
    each_read(other, against);
    other.sinks.each([&](const auto& more, auto) { against(more.view, "output"); });
  });
  return s;
}

/// Refuses problems of which one writes what another reads or writes. Only those whose ranges of addresses meet are
/// compared element by element. `at(i)` is the problem, `number(i)` what the message calls it.
template <class At, class Number>
status check_apart(std::uint32_t count, At&& at, Number&& number) {
  std::vector<byte_range> ranges, reads, writes;  // all; those that reach the one looked at
  for (std::uint32_t i = 0; i < count; ++i) {
    each_read(at(i), [&](const auto& view, const char*) { add_range(ranges, view, i, false); });
    at(i).sinks.each([&](const auto& sink, auto) { add_range(ranges, sink.view, i, true); });
  }
  std::sort(ranges.begin(), ranges.end(), [](const byte_range& x, const byte_range& y) { return x.begin < y.begin; });
  for (const byte_range& r : ranges) {
    const auto ended = [&](const byte_range& o) { return o.end <= r.begin; };
    const auto compare = [&](const byte_range& writer, const byte_range& other) {
      return writer.problem == other.problem
                 ? status()
                 : check_pair(at(writer.problem), number(writer.problem), at(other.problem), number(other.problem));
    };
    std::erase_if(writes, ended);
    for (const byte_range& w : writes) KILN_TRY(compare(w, r));
    if (!r.written) {  // operands that many problems share meet nobody here
      reads.push_back(r);
      continue;
    }
    std::erase_if(reads, ended);
    for (const byte_range& other : reads) KILN_TRY(compare(r, other));
    writes.push_back(r);
  }
  return {};
}

}  // namespace kiln::detail
