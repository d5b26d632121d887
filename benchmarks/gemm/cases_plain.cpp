// 16-bit operands and outputs: the projections of GLM-4-9B, and squares.
#include <benchmarks/gemm/case.hpp>

namespace bench {

namespace {

void plain_case(benchmark::State& state, element type, std::int64_t m, std::int64_t n, std::int64_t k) {
  one_case c({.in = type, .out = type, .m = m, .n = n, .k = k});
  c.add_kiln("kiln", type == element::bf16 ? plain_bf16(c.p) : plain_f16(c.p), epilogue::none, accumulation::float32);
  c.add_lt("lt", {.out = type}, accumulation::float32);
  c.run(state);
}

}  // namespace

void register_plain() {
  for (const element type : {element::bf16, element::f16}) {
    const std::string group = type == element::bf16 ? "bf16/" : "f16/";
    for (const projection& w : glm_projections)
      for (const std::int64_t m : {256, 512, 1024, 2048, 4096, 8192})
        register_case(group + w.name + "/m" + std::to_string(m),
                      [=](benchmark::State& s) { plain_case(s, type, m, w.n, w.k); });
    for (const std::int64_t edge : {1024, 2048, 4096, 8192, 16384})
      register_case(group + "square/" + std::to_string(edge),
                    [=](benchmark::State& s) { plain_case(s, type, edge, edge, edge); });
  }
}

}  // namespace bench
