// A step of a particle simulation over a structure of arrays and over an array of structs, conversions between the two, a
// reduction, a transposition, and the copy of as many bytes in the same program.
//
// GB/s counts useful bytes: what the step reads and writes, 36 of a particle's 28 + 28. The struct version moves whole lines,
// so its useful rate is lower for the same traffic. `copied` is cudaMemcpyAsync within the device.
#include <benchmark/benchmark.h>

#include <kiln/copy.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/transform.hpp>
#include <kiln/view/reshape.hpp>

#include <cstdio>
#include <cstdlib>

using namespace kiln;

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

struct drift {
  float dt;
  KILN_FN void operator()(auto p) const { get<position>(p) += dt * get<velocity>(p); }
};
struct kinetic_energy {
  KILN_FN float operator()(auto p) const { return 0.5f * get<mass>(p) * dot(get<velocity>(p), get<velocity>(p)); }
};
struct plus {
  KILN_FN float operator()(float a, float b) const { return a + b; }
};
struct axpy {
  float a;
  KILN_FN float operator()(float x, float y) const { return a * x + y; }
};

void need(cudaError_t e) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(e));
  std::exit(77);
}

struct memory {
  void* p = nullptr;
  explicit memory(std::size_t bytes) { need(cudaMalloc(&p, bytes)), need(cudaMemset(p, 0, bytes)); }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  ~memory() { (void)cudaFree(p); }
};

/// Times `launch` by a graph of ten of them, so that the launches themselves cost nothing.
template <class Launch>
void measure(benchmark::State& state, double useful_bytes, Launch launch) {
  constexpr int repeats = 10;
  cudaStream_t stream = nullptr;
  need(cudaStreamCreate(&stream));
  launch(stream);  // loads the kernel
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  need(cudaStreamSynchronize(stream));
  need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < repeats; ++i) launch(stream);
  need(cudaStreamEndCapture(stream, &graph));
  need(cudaGraphInstantiate(&replay, graph, 0));
  need(cudaEventCreate(&begin)), need(cudaEventCreate(&end));
  for (auto _ : state) {
    need(cudaEventRecord(begin, stream));
    need(cudaGraphLaunch(replay, stream));
    need(cudaEventRecord(end, stream));
    need(cudaEventSynchronize(end));
    float ms = 0;
    need(cudaEventElapsedTime(&ms, begin, end));
    state.SetIterationTime(1e-3 * static_cast<double>(ms) / repeats);
  }
  state.counters["GB/s"] = benchmark::Counter(useful_bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  (void)cudaGraphExecDestroy(replay), (void)cudaGraphDestroy(graph);
  (void)cudaEventDestroy(begin), (void)cudaEventDestroy(end), (void)cudaStreamDestroy(stream);
}

void check(const status& s) {
  if (!s) std::fprintf(stderr, "%s\n", s.message().c_str()), std::exit(1);
}

using fields = soa_view<device_space, position, velocity, mass>;

struct both_layouts {
  kiln::index_t n;
  memory arrays, structs;
  explicit both_layouts(kiln::index_t count) : n(count), arrays(soa_bytes<position, velocity, mass>(count)), structs(static_cast<std::size_t>(count) * sizeof(particle)) {}
  fields soa() const { return device_soa_in<position, velocity, mass>(arrays.p, n); }
  auto aos() const { return device_aos<position, velocity, mass>(static_cast<particle*>(structs.p), n); }
};

void copied(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  memory from(bytes / 2), to(bytes / 2);
  measure(state, static_cast<double>(bytes), [&](cudaStream_t s) { need(cudaMemcpyAsync(to.p, from.p, bytes / 2, cudaMemcpyDeviceToDevice, s)); });
}
void drift_arrays(benchmark::State& state) {
  const both_layouts p(state.range(0) / 36);
  measure(state, 36.0 * static_cast<double>(p.n), [&](cudaStream_t s) { check(transform(device(s), p.soa(), drift{0.5f})); });
}
void drift_structs(benchmark::State& state) {
  const both_layouts p(state.range(0) / 36);
  measure(state, 36.0 * static_cast<double>(p.n), [&](cudaStream_t s) { check(transform(device(s), p.aos(), drift{0.5f})); });
}
void structs_to_arrays(benchmark::State& state) {
  const both_layouts p(state.range(0) / 56);
  measure(state, 56.0 * static_cast<double>(p.n), [&](cudaStream_t s) { check(copy(device(s), p.aos(), p.soa())); });
}
void arrays_to_structs(benchmark::State& state) {
  const both_layouts p(state.range(0) / 56);
  measure(state, 56.0 * static_cast<double>(p.n), [&](cudaStream_t s) { check(copy(device(s), p.soa(), p.aos())); });
}
void energy_of_arrays(benchmark::State& state) {
  const both_layouts p(state.range(0) / 16);
  memory sum(sizeof(float)), scratch(reduce_workspace_size<float>(p.soa()) + 1);
  const workspace w{scratch.p, reduce_workspace_size<float>(p.soa())};
  measure(state, 16.0 * static_cast<double>(p.n), [&](cudaStream_t s) {
    check(reduce(device(s, w), p.soa(), device_view(static_cast<float*>(sum.p), 1), 0.0f, kinetic_energy{}, plus{}));
  });
}
template <class T>
void fused_axpy(benchmark::State& state) {
  const kiln::index_t n = state.range(0) / static_cast<kiln::index_t>(3 * sizeof(T));
  const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
  memory x(bytes), y(bytes), z(bytes);
  const auto view = [n](const memory& m) { return device_view(static_cast<T*>(m.p), n); };
  measure(state, 3.0 * static_cast<double>(bytes), [&](cudaStream_t s) { check(transform(device(s), view(x), view(y), view(z), axpy{2.0f})); });
}
template <class T>
void transposition(benchmark::State& state) {
  kiln::index_t edge = 64;
  while (2 * edge * edge * static_cast<kiln::index_t>(sizeof(T)) * 4 <= state.range(0)) edge *= 2;
  const auto bytes = static_cast<std::size_t>(edge * edge) * sizeof(T);
  memory x(bytes), y(bytes);
  measure(state, 2.0 * static_cast<double>(bytes), [&](cudaStream_t s) {
    check(copy(device(s), transposed(device_view(static_cast<const T*>(x.p), edge, edge)), device_view(static_cast<T*>(y.p), edge, edge)));
  });
}

// Bytes read plus written: 64 MiB, 256 MiB, 1 GiB.
#define KILN_SIZES(name) BENCHMARK(name)->UseManualTime()->Arg(1 << 26)->Arg(1 << 28)->Arg(1 << 30)
KILN_SIZES(copied);
KILN_SIZES(drift_arrays);
KILN_SIZES(drift_structs);
KILN_SIZES(structs_to_arrays);
KILN_SIZES(arrays_to_structs);
KILN_SIZES(energy_of_arrays);
KILN_SIZES(fused_axpy<float>);
KILN_SIZES(fused_axpy<bf16>);
KILN_SIZES(transposition<float>);
KILN_SIZES(transposition<bf16>);

}  // namespace

BENCHMARK_MAIN();
