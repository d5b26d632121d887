#pragma once
/// Gathers Kiln's own records of its launches, and prints a line per kind of kernel.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <kiln/core/trace.hpp>
#include <mutex>
#include <string_view>
#include <vector>

namespace glm {

/// While one of these lives, every launch of the process is timed and counted under the current step's name.
class launch_trace {
 public:
  launch_trace() : sink_{&launch_trace::finished, this}, before_(kiln::trace::set_sink(&sink_)) {}
  ~launch_trace() { kiln::trace::set_sink(before_); }
  launch_trace(const launch_trace&) = delete;
  launch_trace& operator=(const launch_trace&) = delete;

  /// What the launches that follow are for: "qkv", "attention". A literal.
  static void step(const char* name) { current_step() = name; }

  /// One line per step and kernel, in the order of their first launch.
  void print(std::FILE* out) const {
    int width[4] = {4, 7, 8, 5};
    for (const line& l : lines_) {
      const char* const texts[4] = {l.step, l.record.program, l.record.schedule, l.record.fused};
      for (int i = 0; i < 4; ++i) width[i] = std::max(width[i], static_cast<int>(std::strlen(texts[i])));
    }
    const auto begin = [&](const char* step, const char* program, const char* schedule, const char* fused) {
      std::fprintf(out, "%-*s  %-*s  %-*s  %-*s", width[0], step, width[1], program, width[2], schedule, width[3],
                   fused);
    };
    begin("step", "program", "schedule", "fused");
    std::fprintf(out, "  launches     us each     kB each\n");
    double seconds = 0;
    long launches = 0;
    for (const line& l : lines_) {
      begin(l.step, l.record.program, l.record.schedule, l.record.fused);
      const double n = static_cast<double>(l.launches);
      std::fprintf(out, "  %8ld  %10.1f  %10.1f\n", l.launches, 1e6 * l.seconds / n, 1e-3 * l.bytes / n);
      seconds += l.seconds;
      launches += l.launches;
    }
    std::fprintf(out, "%ld launches, %.3f ms in them\n", launches, 1e3 * seconds);
  }

 private:
  struct line {
    const char* step;
    kiln::trace::launch_record record;
    long launches = 0;
    double seconds = 0, bytes = 0;
  };

  static const char*& current_step() {
    thread_local const char* step = "";
    return step;
  }

  static void finished(void* self, const kiln::trace::launch_record& record) {
    static_cast<launch_trace*>(self)->add(current_step(), record);
  }

  void add(const char* step, const kiln::trace::launch_record& record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (line& l : lines_) {
      if (same(l.step, step) && same(l.record.program, record.program) && same(l.record.schedule, record.schedule) &&
          same(l.record.fused, record.fused)) {
        return count(l, record);
      }
    }
    lines_.push_back({step, record});
    count(lines_.back(), record);
  }

  static void count(line& l, const kiln::trace::launch_record& record) {
    ++l.launches;
    l.seconds += record.seconds;
    l.bytes += record.bytes;
  }
  static bool same(std::string_view a, std::string_view b) { return a == b; }

  std::mutex mutex_;
  std::vector<line> lines_;
  kiln::trace::sink sink_;
  const kiln::trace::sink* before_;
};

}  // namespace glm
