#include <benchmarks/gemm/make_plans.hpp>

bench::kiln_side bench::plain_f16(const problem& p) { return plain<kiln::f16, kiln::f16>(p); }
