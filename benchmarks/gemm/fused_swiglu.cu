#include <benchmarks/gemm/make_plans.hpp>

bench::kiln_side bench::swiglu(const problem& p) {
  return make_plans<kiln::bf16, kiln::bf16>(p, [](const auto& v) {
    return kiln::plan_gemm(v.a(), kiln::dual(v.b(0), v.b(1)), store(v.d(), silu(kiln::acc_<0>) * kiln::acc_<1>));
  });
}
