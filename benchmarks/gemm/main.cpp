// kiln-bench-gemm: Kiln's matrix products beside cuBLASLt's, in one process, interleaved. docs/results/README.md says
// how the figures are made.
//
//     kiln-bench-gemm [--quick] [--rounds=N] [--round_ms=X] [--whole_tiles] [--benchmark_filter=^bf16/]
//     [--benchmark_out=FILE]
#include <algorithm>
#include <benchmarks/gemm/case.hpp>
#include <cstdio>
#include <cstdlib>
#include <kiln/version.hpp>
#include <string_view>

namespace {

/// Takes the options that are ours out of the argument list.
void take_options(int& count, char** arguments) {
  bench::settings& s = bench::global_settings();
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
  bench::need(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
  int runtime = 0, driver = 0;
  bench::need(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  bench::need(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const auto& timing = bench::global_settings().timing;
  const char* commit = std::getenv("KILN_COMMIT");
  benchmark::AddCustomContext("gpu", gpu.name);
  benchmark::AddCustomContext("multiprocessors", std::to_string(gpu.multiProcessorCount));
  benchmark::AddCustomContext("l2_bytes", std::to_string(gpu.l2CacheSize));
  benchmark::AddCustomContext("driver", bench::driver_version());
  benchmark::AddCustomContext("driver_cuda", text_of_version(driver));
  benchmark::AddCustomContext("cuda_runtime", text_of_version(runtime));
  benchmark::AddCustomContext("cublaslt", bench::lt_gemm::version());
  benchmark::AddCustomContext("kiln_commit", commit != nullptr ? commit : KILN_BENCH_COMMIT);
  benchmark::AddCustomContext("rounds", std::to_string(timing.rounds));
  benchmark::AddCustomContext("round_ms", std::to_string(timing.round_ms));
}

}  // namespace

int main(int count, char** arguments) {
  take_options(count, arguments);
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::fprintf(stderr, "kiln-bench-gemm needs a GPU\n");
    return 77;
  }
  add_context();
  bench::register_plain();
  bench::register_quantised();
  bench::register_fused();
  bench::register_ragged();
  bench::register_sm80();
  bench::register_host();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return bench::failures() == 0 ? 0 : 1;
}
