// Epilogues that ride along, against the faster plain product plus the extra bytes at the rate of a copy.
#include <algorithm>
#include <benchmarks/gemm/case.hpp>

namespace bench {

namespace {

void gelu_case(benchmark::State& state, bool erf, std::int64_t m, std::int64_t n, std::int64_t k) {
  const double rate = copy_rate();
  one_case c({.m = m, .n = n, .k = k, .residual = true, .b_amplitude = 1.0f / 32});
  c.add_kiln("kiln", erf ? bias_gelu_residual(c.p) : bias_gelu_tanh_residual(c.p),
             erf ? epilogue::bias_gelu_residual : epilogue::bias_gelu_tanh_residual, accumulation::float32);
  c.add_kiln("kiln_plain", plain_bf16(c.p), epilogue::none, accumulation::float32);
  c.add_lt("lt", {}, accumulation::float32);
  const timing t = c.run(state);
  const auto time_of = [&](const char* name) { return t.microseconds[static_cast<std::size_t>(c.index_of(name))]; };
  const double plain = c.index_of("lt") < 0 ? time_of("kiln_plain") : (std::min)(time_of("kiln_plain"), time_of("lt"));
  const double extra =
      (2.0 * static_cast<double>(m) + 4) * static_cast<double>(n) / rate;  // residual in bf16, bias in float32
  state.counters["bound_us"] = plain + extra;
  state.counters["vs_bound"] = (plain + extra) / t.microseconds[0];
  state.counters["copy_GBps"] = rate * 1e-3;
}

void swiglu_case(benchmark::State& state, std::int64_t m) {
  one_case c({.m = m, .n = 13696, .k = 4096, .products = 2, .b_amplitude = 1.0f / 32});
  c.add_kiln("kiln", swiglu(c.p), epilogue::swiglu, accumulation::float32);
  c.add_lt("lt", {}, accumulation::float32);
  c.run(state);
}

}  // namespace

void register_fused() {
  for (const bool erf : {false, true}) {
    const std::string group = erf ? "fused/bias_gelu_erf_residual/" : "fused/bias_gelu_tanh_residual/";
    register_case(group + "square/4096", [=](benchmark::State& s) { gelu_case(s, erf, 4096, 4096, 4096); });
    for (const std::int64_t m : {512, 1024, 2048, 4096, 8192})
      register_case(group + "down/m" + std::to_string(m),
                    [=](benchmark::State& s) { gelu_case(s, erf, m, 4096, 13696); });
  }
  for (const std::int64_t m : {512, 1024, 2048, 4096, 8192})
    register_case("fused/swiglu/gate_up/m" + std::to_string(m), [=](benchmark::State& s) { swiglu_case(s, m); });
}

}  // namespace bench
