// kiln-bench-attention: prefill and decode shapes in bf16, among them those of GLM-4-9B (32 query heads on 2 of keys,
// 128 channels).
//
//     kiln-bench-attention [--quick] [--rounds=N] [--round_ms=X] [--benchmark_filter=decode] [--benchmark_out=FILE]
#include <benchmarks/attention/cases.hpp>

int main(int count, char** arguments) { return bench::run_program(count, arguments, bench::register_attention); }
