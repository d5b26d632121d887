#include <benchmarks/gemm/make_plans.hpp>

namespace bench {

kiln_side bias_gelu_tanh_residual(const problem& p) {
  return make_plans<kiln::bf16, kiln::bf16>(p, [](const auto& v) {
    return kiln::plan_gemm(v.a(), v.b(),
                           store(v.d(), gelu_tanh(kiln::acc + kiln::per_column(v.bias())) + kiln::elem(v.residual())));
  });
}

}  // namespace bench
