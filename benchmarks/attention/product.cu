#include <benchmarks/attention/cases.hpp>
#include <kiln/gemm.hpp>

namespace bench {

yardstick square_product() {
#if defined(__CUDACC__)
  constexpr std::int64_t edge = 4096;
#else
  constexpr std::int64_t edge = 32;  // the host executor is there to check, not to be fast
#endif
  constexpr std::size_t bytes = edge * edge * 2, scratch_bytes = 64u << 20;
  struct operands {
    memory a{bytes}, b{bytes}, d{bytes}, scratch{scratch_bytes};
  };
  const auto held = std::make_shared<operands>();
  fill(held->a, element::bf16, -1, 1, 21), fill(held->b, element::bf16, -1, 1, 22);
  need(cudaDeviceSynchronize(), "fill");
  const auto view = [](const memory& m) { return packed(static_cast<const kiln::bf16*>(m.at()), edge, edge); };
  const auto plan = kiln::plan_gemm(view(held->a), kiln::transposed(view(held->b)),
                                    store(packed(static_cast<kiln::bf16*>(held->d.at()), edge, edge), kiln::acc));
  if (!plan.state()) throw failure(plan.state().message());
  return {[held, plan](cudaStream_t s, int) {
            auto ex = executor_on(s);
            ex.scratch = {held->scratch.at(), held->scratch.bytes()};
            const kiln::status seen = plan.run(ex);
            if (!seen) throw failure(seen.message());
          },
          2.0 * edge * edge * edge};
}

}  // namespace bench
