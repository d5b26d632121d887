#pragma once
/// What the bench programs share: options, cases that may fail, the counters of a measurement, and `main`.
#include <benchmark/benchmark.h>

#include <benchmarks/measure/timing.hpp>
#include <string>
#include <vector>

namespace bench {

struct settings {
  timing_options timing;
  bool whole_tiles = false;  ///< also time Kiln without a workspace, so that no tile is cut along K
};
inline settings& global_settings() {
  static settings s;
  return s;
}
/// Cases that gave a wrong result or did not run.
inline int& failures() {
  static int count = 0;
  return count;
}

/// Registers a case whose body may throw `failure`.
template <class Body>
void register_case(const std::string& name, Body body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [body](benchmark::State& state) {
                                 try {
                                   body(state);
                                 } catch (const std::exception& e) {
                                   ++failures();
                                   state.SkipWithError(e.what());
                                   (void)cudaGetLastError();
                                 }
                               })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

/// Counters of a measurement: `<name>_us` of each contender, `vs_<name>` its time over that of the first, whose time is
/// the case's; clocks, temperature, power, and how it was measured.
void report(benchmark::State&, const timing&, const std::vector<std::string>& names, int copies);

/// Options, context, then all cases that `register_cases` made. The exit status: 1 where a case failed, 77 without a
/// GPU. `more` adds lines to the context.
int run_program(int count, char** arguments, void (*register_cases)(), void (*more)() = nullptr);

}  // namespace bench
