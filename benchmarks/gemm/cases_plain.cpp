// 16-bit operands and outputs: the projections of GLM-4-9B, squares, and problems of few tiles.
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

void register_few_tiles() {
  const auto add = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    register_case("few_tiles/" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
                  [=](benchmark::State& s) { plain_case(s, element::bf16, m, n, k); });
  };
  for (const std::int64_t m : {16, 64, 128})
    for (const projection& w : glm_projections) add(m, w.n, w.k);
  add(256, 256, 65536);
  add(512, 512, 16384);
  add(256, 1024, 8192);
  add(384, 384, 4096);
  add(1024, 1024, 8192);
  add(1152, 1152, 8192);
  add(640, 4096, 4096);
}

}  // namespace bench
