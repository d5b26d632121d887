// kiln-bench-rows: row kernels, transform and transposition beside the copy of as many bytes, and decode sizes beside
// an empty kernel. docs/results/README.md says how the figures are made; peers_torch.py times PyTorch on the same
// cases.
//
//     kiln-bench-rows [--quick] [--rounds=N] [--round_ms=X] [--benchmark_filter=^softmax/] [--benchmark_out=FILE]
#include <benchmarks/rows/cases.hpp>

namespace {

void register_cases() {
  bench::register_softmax();
  bench::register_norms();
  bench::register_quantise();
  bench::register_reductions();
  bench::register_logits();
  bench::register_elementwise();
  bench::register_rotary();
}

}  // namespace

int main(int count, char** arguments) { return bench::run_program(count, arguments, register_cases); }
