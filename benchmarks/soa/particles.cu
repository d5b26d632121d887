#include <benchmarks/soa/cases.hpp>
#include <kiln/copy.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/transform.hpp>

namespace bench {

namespace {

struct position {
  using type = float[3];
};
struct velocity {
  using type = float[3];
};
struct mass {
  using type = float;
};
struct particle {
  float x[3], v[3], m;
};
struct eight {
  using type = float[8];
};
struct result {
  using type = float;
};
struct eight_floats {
  float f[8];
};
struct one_float {
  float y;
};

struct drift {
  float dt;
  KILN_FN void operator()(auto p) const { kiln::get<position>(p) += dt * kiln::get<velocity>(p); }
};
struct two_of_eight {
  KILN_FN void operator()(auto p, auto y) const {
    kiln::get<result>(y) = 2 * kiln::get<eight>(p)[0] + kiln::get<eight>(p)[1];
  }
};
struct kinetic_energy {
  KILN_FN float operator()(auto p) const {
    return 0.5f * kiln::get<mass>(p) * kiln::dot(kiln::get<velocity>(p), kiln::get<velocity>(p));
  }
};
struct plus {
  KILN_FN float operator()(float a, float b) const { return a + b; }
};

#if defined(__CUDACC__)
template <class... Fields>
auto arrays_in(void* memory, std::int64_t n) {
  return kiln::device_soa_in<Fields...>(memory, n);
}
template <class... Fields, class Record>
auto structs_in(Record* records, std::int64_t n) {
  return kiln::device_aos<Fields...>(records, n);
}
#else
template <class... Fields>
auto arrays_in(void* memory, std::int64_t n) {
  return kiln::host_soa_in<Fields...>(memory, n);
}
template <class... Fields, class Record>
auto structs_in(Record* records, std::int64_t n) {
  return kiln::host_aos<Fields...>(records, n);
}
#endif

/// Fields of all particles, one array behind another.
template <class... Fields>
copies<float> arrays_of(memory_case& c, std::int64_t n) {
  return c.input<float>(static_cast<std::int64_t>(kiln::soa_bytes<Fields...>(n) / sizeof(float)));
}
/// Component c of field I, as an operand.
template <std::size_t I, class View>
copies<float> component(const View& view, int c) {
  return {reinterpret_cast<char*>(view.template at<I>(0, c)), 0, view.count};
}

constexpr std::int64_t looked_at = 1000;  // particles at each end

/// x += dt v, in place.
void drift_case(benchmark::State& state, std::int64_t bytes) {
  const std::int64_t n = bytes / 36;
  constexpr drift step{0x1p-10f};
  memory_case c(36.0 * static_cast<double>(n));
  const copies<float> arrays = arrays_of<position, velocity, mass>(c, n), structs = c.input<float>(7 * n);
  const auto soa = [=](int set) { return arrays_in<position, velocity, mass>(arrays.at(set), n); };
  const auto aos = [=](int set) {
    return structs_in<position, velocity, mass>(reinterpret_cast<particle*>(structs.at(set)), n);
  };
  std::vector<double> want[2][3], bound;
  const auto each_end = [&](auto body) {
    for (int end = 0; end < 2; ++end)
      for (int k = 0; k < 3; ++k) body(end, k, end == 0 ? 0 : n - looked_at);
  };
  each_end([&](int end, int k, std::int64_t first) {
    want[end][k] = c.values(component<0>(soa(0), k), first, looked_at);
    const std::vector<double> v = c.values(component<1>(soa(0), k), first, looked_at);
    for (std::size_t i = 0; i < v.size(); ++i) want[end][k][i] += static_cast<double>(step.dt) * v[i];
  });
  c.set_kiln([=](auto ex, int set) { return kiln::transform(ex, soa(set), step); });
  bound.assign(looked_at, u32);
  each_end([&](int end, int k, std::int64_t first) {
    c.expect("positions", component<0>(soa(0), k), first, want[end][k], bound);
  });
  c.add("structs", [=](cudaStream_t s, int set) {
    const kiln::status seen = kiln::transform(executor_on(s), aos(set), step);
    if (!seen) throw failure(seen.message());
  });
  c.run_beside_copy(state);
  state.counters["moved_over_used"] = 1;
  state.counters["structs_moved_over_used"] = moved_by_structs(28, {{0, 24}}, {{0, 12}}) / 36;
}

/// y = 2 f[0] + f[1] of eight floats.
void two_of_eight_case(benchmark::State& state, std::int64_t bytes) {
  const std::int64_t n = bytes / 12;
  memory_case c(12.0 * static_cast<double>(n));
  const copies<float> arrays = arrays_of<eight>(c, n), structs = c.input<float>(8 * n), y = c.output<float>(n);
  const auto soa = [=](int set) { return arrays_in<eight>(arrays.at(set), n); };
  const auto aos = [=](int set) { return structs_in<eight>(reinterpret_cast<eight_floats*>(structs.at(set)), n); };
  const auto out = [=](int set) { return arrays_in<result>(y.at(set), n); };
  c.set_kiln([=](auto ex, int set) { return kiln::transform(ex, soa(set), out(set), two_of_eight{}); });
  for (const std::int64_t first : {std::int64_t{0}, n - looked_at}) {
    std::vector<double> want = c.values(component<0>(soa(0), 0), first, looked_at), bound;
    const std::vector<double> other = c.values(component<0>(soa(0), 1), first, looked_at);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = 2 * want[i] + other[i], bound.push_back(4 * u32);
    c.expect("y", y, first, want, bound);
  }
  c.add("structs", [=](cudaStream_t s, int set) {
    const kiln::status seen = kiln::transform(executor_on(s), aos(set), out(set), two_of_eight{});
    if (!seen) throw failure(seen.message());
  });
  c.run_beside_copy(state);
  state.counters["moved_over_used"] = 1;
  state.counters["structs_moved_over_used"] = (moved_by_structs(32, {{0, 8}}, {}) + 4) / 12;
}

/// Structs to arrays, or back.
void conversion_case(benchmark::State& state, std::int64_t bytes, bool to_arrays) {
  const std::int64_t n = bytes / 56;
  memory_case c(56.0 * static_cast<double>(n));
  const copies<float> arrays = arrays_of<position, velocity, mass>(c, n), structs = c.input<float>(7 * n);
  const auto soa = [=](int set) { return arrays_in<position, velocity, mass>(arrays.at(set), n); };
  const auto aos = [=](int set) {
    return structs_in<position, velocity, mass>(reinterpret_cast<particle*>(structs.at(set)), n);
  };
  c.set_kiln([=](auto ex, int set) {
    return to_arrays ? kiln::copy(ex, aos(set), soa(set)) : kiln::copy(ex, soa(set), aos(set));
  });
  const auto view = soa(0);
  for (const std::int64_t first : {std::int64_t{0}, n - looked_at}) {
    const std::vector<double> all = c.values(structs, 7 * first, 7 * looked_at);
    for (int k = 0; k < 7; ++k) {
      std::vector<double> want;
      for (std::size_t i = 0; i < looked_at; ++i) want.push_back(all[7 * i + static_cast<std::size_t>(k)]);
      const copies<float> array = k < 3   ? component<0>(view, k)
                                  : k < 6 ? component<1>(view, k - 3)
                                          : component<2>(view, 0);
      c.expect(to_arrays ? "an array" : "an array, before the structs", array, first, want,
               std::vector<double>(looked_at));
    }
  }
  c.run_beside_copy(state);
}

void energy_case(benchmark::State& state, std::int64_t bytes) {
  const std::int64_t n = bytes / 16;
  memory_case c(16.0 * static_cast<double>(n));
  const copies<float> arrays = arrays_of<position, velocity, mass>(c, n), sum = c.output<float>(1);
  const auto soa = [=](int set) { return arrays_in<position, velocity, mass>(arrays.at(set), n); };
  const std::size_t scratch_bytes = kiln::reduce_workspace_size<float>(soa(0));
  const memory scratch(scratch_bytes);
  const auto run = [=, at = scratch.at()](auto ex, int set) {
    ex.scratch = {at, scratch_bytes};
    return kiln::reduce(ex, soa(set), sum.view(set, 1), 0.0f, kinetic_energy{}, plus{});
  };
  c.set_kiln(run);
  double want = 0, magnitude = 0;
  std::vector<double> m = c.values(component<2>(soa(0), 0), 0, n), squares(m.size());
  for (int k = 0; k < 3; ++k) {
    const std::vector<double> v = c.values(component<1>(soa(0), k), 0, n);
    for (std::size_t i = 0; i < v.size(); ++i) squares[i] += v[i] * v[i];
  }
  for (std::size_t i = 0; i < m.size(); ++i)
    want += 0.5 * m[i] * squares[i], magnitude += std::fabs(0.5 * m[i] * squares[i]);
  // At most a thousand additions in a row: of a thread's items, its block's threads, the blocks.
  c.expect("the energy", sum, 0, {want}, {1000 * u32 * magnitude});
  c.run_beside_copy(state);
}

}  // namespace

void register_particles() {
  const auto add = [](const std::string& step, auto body) {
    for (const int mib : {64, 256, 1024})
      register_case("particles/" + step + "/" + std::to_string(mib) + "MiB",
                    [=](benchmark::State& s) { body(s, std::int64_t{mib} << 20); });
  };
  add("drift", drift_case);
  add("two_of_eight", two_of_eight_case);
  add("structs_to_arrays", [](benchmark::State& s, std::int64_t bytes) { conversion_case(s, bytes, true); });
  add("arrays_to_structs", [](benchmark::State& s, std::int64_t bytes) { conversion_case(s, bytes, false); });
  add("energy", energy_case);
}

}  // namespace bench
