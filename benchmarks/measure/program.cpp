#include <algorithm>
#include <benchmarks/measure/program.hpp>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace bench {

namespace {

/// Takes the options that are ours out of the argument list.
void take_options(int& count, char** arguments) {
  settings& s = global_settings();
  int kept = 1;
  for (int i = 1; i < count; ++i) {
    const std::string_view a = arguments[i];
    const auto value = [&](std::string_view name) {
      return a.starts_with(name) ? arguments[i] + name.size() : nullptr;
    };
    if (a == "--quick")
      s.timing.rounds = 3, s.timing.round_ms = 1.5;
    else if (a == "--whole_tiles")
      s.whole_tiles = true;
    else if (const char* rounds = value("--rounds="))
      s.timing.rounds = std::max(1, std::atoi(rounds));
    else if (const char* ms = value("--round_ms="))
      s.timing.round_ms = std::max(0.1, std::atof(ms));
    else
      arguments[kept++] = arguments[i];
  }
  count = kept;
}

std::string text_of_version(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

void add_context() {
  cudaDeviceProp gpu{};
  need(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
  int runtime = 0, driver = 0;
  need(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  need(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const timing_options& timing = global_settings().timing;
  const char* commit = std::getenv("KILN_COMMIT");
  benchmark::AddCustomContext("gpu", gpu.name);
  benchmark::AddCustomContext("multiprocessors", std::to_string(gpu.multiProcessorCount));
  benchmark::AddCustomContext("l2_bytes", std::to_string(gpu.l2CacheSize));
  benchmark::AddCustomContext("driver", driver_version());
  benchmark::AddCustomContext("driver_cuda", text_of_version(driver));
  benchmark::AddCustomContext("cuda_runtime", text_of_version(runtime));
  benchmark::AddCustomContext("kiln_commit", commit != nullptr ? commit : KILN_BENCH_COMMIT);
  benchmark::AddCustomContext("rounds", std::to_string(timing.rounds));
  benchmark::AddCustomContext("round_ms", std::to_string(timing.round_ms));
}

bool only_lists(int count, char** arguments) {
  return std::any_of(arguments + 1, arguments + count, [](std::string_view a) {
    return a == "--benchmark_list_tests" || a == "--benchmark_list_tests=true";
  });
}

}  // namespace

void report(benchmark::State& state, const timing& t, const std::vector<std::string>& names, int copies) {
  const double own = t.microseconds[0];
  for (auto _ : state) state.SetIterationTime(own * 1e-6);
  for (std::size_t i = 0; i < names.size(); ++i) {
    state.counters[names[i] + "_us"] = t.microseconds[i];
    if (i > 0) state.counters["vs_" + names[i]] = t.microseconds[i] / own;
  }
  state.counters["graphs"] = t.graphs;
  state.counters["copies"] = copies;
  state.counters["sm_mhz_before"] = t.before.sm_mhz, state.counters["sm_mhz"] = t.during.sm_mhz;
  state.counters["celsius_before"] = t.before.celsius, state.counters["celsius"] = t.during.celsius;
  state.counters["watts_before"] = t.before.watts, state.counters["watts"] = t.during.watts;
}

int run_program(int count, char** arguments, void (*register_cases)(), void (*more)()) {
  take_options(count, arguments);
  if (!only_lists(count, arguments)) {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
      std::fprintf(stderr, "%s needs a GPU\n", arguments[0]);
      return 77;
    }
    add_context();
    if (more != nullptr) more();
  }
  register_cases();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failures() == 0 ? 0 : 1;
}

}  // namespace bench
