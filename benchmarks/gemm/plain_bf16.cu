#include <benchmarks/gemm/make_plans.hpp>

bench::kiln_side bench::plain_bf16(const problem& p) { return plain<kiln::bf16, kiln::bf16>(p); }
