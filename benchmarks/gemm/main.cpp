// kiln-bench-gemm: Kiln's matrix products beside cuBLASLt's, in one process, interleaved. docs/results/README.md says
// how the figures are made.
//
//     kiln-bench-gemm [--quick] [--rounds=N] [--round_ms=X] [--whole_tiles] [--benchmark_filter=^bf16/]
//     [--benchmark_out=FILE]
#include <benchmarks/gemm/case.hpp>

namespace {

void register_cases() {
  bench::register_sm80();  // the one group of which a rate is asked, not a ratio: it finds the card at rest
  bench::register_plain();
  bench::register_few_tiles();
  bench::register_quantised();
  bench::register_fused();
  bench::register_ragged();
  bench::register_host();
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run_program(count, arguments, register_cases,
                            [] { benchmark::AddCustomContext("cublaslt", bench::lt_gemm::version()); });
}
