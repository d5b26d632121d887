#include <benchmarks/gemm/make_plans.hpp>

bench::kiln_side bench::scaled_e4m3(const problem& p) { return scaled<kiln::e4m3>(p); }
