// 8-bit operands with a scale for each row of A and of B, to bf16.
#include <benchmarks/gemm/case.hpp>

namespace bench {

namespace {

void fp8_case(benchmark::State& state, bool fast, std::int64_t m, std::int64_t n, std::int64_t k) {
  one_case c({.in = element::e4m3, .out = element::bf16, .m = m, .n = n, .k = k});
  if (fast)
    c.add_kiln("kiln", scaled_e4m3_fast(c.p), epilogue::scaled, accumulation::in_unit);
  else
    c.add_kiln("kiln", scaled_e4m3(c.p), epilogue::scaled, accumulation::promoted);
  // The library says too little of its sums to hold it to the promoted bound.
  if (!c.add_lt("lt", {.fast_accumulation = fast, .row_wise_scales = true}, accumulation::in_unit) &&
      c.add_lt("lt", {.fast_accumulation = fast}, accumulation::in_unit))
    c.label += "; cuBLASLt with one scale for each tensor";
  c.run(state);
}

void int8_case(benchmark::State& state, std::int64_t m, std::int64_t n, std::int64_t k) {
  one_case c({.in = element::int8, .out = element::bf16, .m = m, .n = n, .k = k});
  c.add_kiln("kiln", scaled_int8(c.p), epilogue::scaled, accumulation::float32);
  if (c.add_lt("lt", {.out = element::int32}, accumulation::float32, true)) c.add_lt_then_scale("lt_then_scale");
  c.run(state);
}

template <class Case>
void each_shape(const std::string& group, Case one) {
  for (const projection& w : glm_projections)
    for (const std::int64_t m : {256, 512, 1024, 2048, 4096, 8192})
      register_case(group + w.name + "/m" + std::to_string(m), [=](benchmark::State& s) { one(s, m, w.n, w.k); });
  for (const std::int64_t edge : {2048, 4096, 8192})
    register_case(group + "square/" + std::to_string(edge), [=](benchmark::State& s) { one(s, edge, edge, edge); });
}

}  // namespace

void register_quantised() {
  each_shape("fp8_promoted/",
             [](benchmark::State& s, std::int64_t m, std::int64_t n, std::int64_t k) { fp8_case(s, false, m, n, k); });
  each_shape("fp8_fast/",
             [](benchmark::State& s, std::int64_t m, std::int64_t n, std::int64_t k) { fp8_case(s, true, m, n, k); });
  each_shape("int8/",
             [](benchmark::State& s, std::int64_t m, std::int64_t n, std::int64_t k) { int8_case(s, m, n, k); });
}

}  // namespace bench
