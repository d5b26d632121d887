#include <benchmarks/gemm/make_plans.hpp>

bench::kiln_side bench::scaled_e4m3_fast(const problem& p) {
  return scaled<kiln::e4m3, kiln::automatic_with<kiln::fast_accumulation>>(p);
}
