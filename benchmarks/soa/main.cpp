// kiln-bench-soa: a step of a particle simulation over a structure of arrays and over an array of structs, conversions
// between the two and a reduction, beside the copy of as many bytes. Rates count useful bytes: what a step reads and
// writes of each particle. `moved_over_used` is how many bytes of whole sectors it has to move for each of those.
//
//     kiln-bench-soa [--quick] [--rounds=N] [--round_ms=X] [--benchmark_filter=drift] [--benchmark_out=FILE]
#include <benchmarks/soa/cases.hpp>

int main(int count, char** arguments) { return bench::run_program(count, arguments, bench::register_particles); }
