#include <benchmarks/gemm/make_plans.hpp>

bench::kiln_side bench::scaled_int8(const problem& p) { return scaled<std::int8_t>(p); }
