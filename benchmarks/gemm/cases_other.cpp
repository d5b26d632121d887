// Extents that no tile divides, pinned sm80 kernels, and what a run costs the host.
#include <algorithm>
#include <benchmarks/gemm/case.hpp>
#include <chrono>
#include <memory>
#include <thread>

namespace bench {

namespace {

std::int64_t rounded_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

/// Against Kiln on the extents rounded up to the block tile 128 x 256 x 64.
void ragged_case(benchmark::State& state, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t alignment) {
  one_case whole({.m = rounded_up(m, 128), .n = rounded_up(n, 256), .k = rounded_up(k, 64)});
  const kiln_side rounded = plain_bf16(whole.p);
  if (!rounded.error.empty()) throw failure("rounded: " + rounded.error);
  const memory scratch(workspace_bytes);
  one_case c({.m = m, .n = n, .k = k, .alignment = alignment});
  c.add_kiln("kiln", plain_bf16(c.p), epilogue::none, accumulation::float32);
  c.add("rounded", [&](cudaStream_t s, int set) {
    if (!rounded.runs[static_cast<std::size_t>(set % whole.p.sets)](s, scratch.at(), scratch.bytes()))
      throw failure("Kiln refused a launch");
  });
  c.add_lt("lt", {}, accumulation::float32);
  c.run(state);
}

void sm80_case(benchmark::State& state, element in, std::int64_t edge) {
  const bool integers = in == element::int8;
  one_case c({.in = in, .out = integers ? element::int32 : in, .m = edge, .n = edge, .k = edge});
  c.add_kiln("kiln",
             integers             ? plain_sm80_int8(c.p)
             : in == element::f16 ? plain_sm80_f16(c.p)
                                  : plain_sm80_bf16(c.p),
             epilogue::none, accumulation::float32);
  // Beside cuBLASLt's kernels the card soon is at its power limit, and what it does there says less of this kernel.
  // What ran before has heated it too.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const timing alone = measure({c.launcher_at(0)}, c.p.sets, global_settings().timing);
  c.add_lt("lt", {.out = c.p.out}, accumulation::float32);
  c.run(state);
  state.counters["alone_us"] = alone.microseconds[0];
  state.counters["alone_Tops"] = c.p.operations() / alone.microseconds[0] * 1e-6;
}

/// Microseconds of host time for each launch, the stream's queue never full.
double host_time(const stream& s, const launcher& launch, int sets) {
  using clock = std::chrono::steady_clock;
  std::vector<double> us;
  for (int round = 0; round < 21; ++round) {
    constexpr int launches = 100;
    const auto begin = clock::now();
    for (int i = 0; i < launches; ++i) launch(s, i % sets);
    us.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count() / launches);
    s.wait();
  }
  std::nth_element(us.begin(), us.begin() + 10, us.end());
  return us[10];
}

double planning_time(const problem& p) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const kiln_side side = plain_bf16(p);
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count() / p.sets;
}

void host_case(benchmark::State& state, std::int64_t m, std::int64_t n, std::int64_t k) {
  one_case c({.m = m, .n = n, .k = k});
  const stream s;
  c.add_kiln("kiln", plain_bf16(c.p), epilogue::none, accumulation::float32);
  c.add_lt("lt", {}, accumulation::float32);
  const double kiln = host_time(s, c.launcher_at(0), c.p.sets);
  for (auto _ : state) state.SetIterationTime(kiln * 1e-6);
  state.counters["kiln_us"] = kiln;
  state.counters["planning_us"] = planning_time(c.p);
  if (c.index_of("lt") >= 0) {
    const double lt = host_time(s, c.launcher_at(c.index_of("lt")), c.p.sets);
    state.counters["lt_us"] = lt, state.counters["vs_lt"] = lt / kiln;
  }
  state.SetLabel(c.label);
}

}  // namespace

void register_ragged() {
  const auto add = [](const char* name, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t alignment = 16) {
    register_case(std::string("ragged/") + name, [=](benchmark::State& s) { ragged_case(s, m, n, k, alignment); });
  };
  add("m4093", 4093, 4096, 4096);
  add("n4093", 4096, 4093, 4096);
  add("k4093", 4096, 4096, 4093);
  add("all4093", 4093, 4093, 4093);
  add("m4097", 4097, 4096, 4096);
  add("n4097", 4096, 4097, 4096);
  add("k4097", 4096, 4096, 4097);
  add("all4097", 4097, 4097, 4097);
  add("m1031_o", 1031, 4096, 4096);
  add("m1031_gate_up", 1031, 27392, 4096);
  add("m1300_down", 1300, 4096, 13696);
  add("m2100_qkv", 2100, 4608, 4096);
  add("m8209_down", 8209, 4096, 13696);
  add("unaligned/k4093", 4096, 4096, 4093, 2);
}

void register_sm80() {
  register_case("sm80/bf16/4096", [](benchmark::State& s) { sm80_case(s, element::bf16, 4096); });
  register_case("sm80/f16/4096", [](benchmark::State& s) { sm80_case(s, element::f16, 4096); });
  register_case("sm80/int8/4096", [](benchmark::State& s) { sm80_case(s, element::int8, 4096); });
}

void register_host() {
  register_case("host/run/128", [](benchmark::State& s) { host_case(s, 128, 128, 128); });
  register_case("host/run/256x4608x4096", [](benchmark::State& s) { host_case(s, 256, 4608, 4096); });
}

}  // namespace bench
