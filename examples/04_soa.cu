// Particles as a structure of arrays: a kernel that a struct of two lines describes, and the same lines on CPU and GPU.
//
// Each field is an array of its own, so a kernel that reads positions and velocities moves no mass through memory, and 32
// neighbouring threads read 32 neighbouring numbers. The code reads as if particles were structs.
#include <kiln/copy.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/transform.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace kiln;

// The fields. An array type becomes one array per component.
struct position {
  using type = float[3];
};
struct velocity {
  using type = float[3];
};
struct mass {
  using type = float;
};

// What happens to one particle. It runs on both executors.
struct drift {
  float dt;
  KILN_FN void operator()(auto particle) const { get<position>(particle) += dt * get<velocity>(particle); }
};

// A map and an operation make a reduction.
struct kinetic_energy {
  KILN_FN float operator()(auto particle) const {
    return 0.5f * get<mass>(particle) * dot(get<velocity>(particle), get<velocity>(particle));
  }
};
struct plus {
  KILN_FN float operator()(float a, float b) const { return a + b; }
};

// Memory that both the host and this executor reach.
template <class Executor>
void* allocate(std::size_t bytes) {
#if defined(__CUDACC__)
  void* p = nullptr;
  if constexpr (!Executor::on_host) return cudaMallocManaged(&p, bytes) == cudaSuccess ? p : nullptr;
#endif
  return std::aligned_alloc(256, round_up<std::size_t>(bytes, 256));
}

template <class Executor>
void wait() {
#if defined(__CUDACC__)
  if constexpr (!Executor::on_host) cudaDeviceSynchronize();
#endif
}

template <class Executor>
int simulate(const char* where) {
  constexpr int n = 1 << 20, steps = 10;
  void* const memory = allocate<Executor>(soa_bytes<position, velocity, mass>(n));
  auto* const energy = static_cast<float*>(allocate<Executor>(sizeof(float)));
  if (memory == nullptr || energy == nullptr) return std::puts("out of memory"), 1;

  // On the host a view is a range; its elements unpack into references.
  float number = 0;
  for (auto [x, v, m] : host_soa_in<position, velocity, mass>(memory, n)) {
    for (int c = 0; c < 3; ++c) x[c] = 0, v[c] = static_cast<float>(c + 1);
    m = std::fmod(number++, 4.0f);
  }

  // The view that the executor works on, and only it.
  const auto particles = [&] {
    if constexpr (Executor::on_host) return host_soa_in<position, velocity, mass>(memory, n);
    else return device_soa_in<position, velocity, mass>(memory, n);
  }();

  Executor ex;
  ex.scratch.bytes = reduce_workspace_size<float>(particles);
  ex.scratch.data = allocate<Executor>(ex.scratch.bytes + 1);
  for (int i = 0; i < steps; ++i) transform(ex, particles, drift{0.125f}).or_throw();
  reduce(ex, particles, view_on<Executor>(energy, 1), 0.0f, kinetic_energy{}, plus{}).or_throw();
  wait<Executor>();

  const auto p = host_soa_in<position, velocity, mass>(memory, n)[n - 1];
  const float x = get<position>(p)[0], y = get<position>(p)[1], z = get<position>(p)[2];
  std::printf("%s: %d particles, %d steps: the last is at (%g, %g, %g), the energy is %g\n", where, n, steps,
              static_cast<double>(x), static_cast<double>(y), static_cast<double>(z), static_cast<double>(*energy));

  // v^2 is 14 and the masses are 0, 1, 2, 3 in turn: half of 14 times 1.5 for each particle.
  const bool right = x == 1.25f && y == 2.5f && z == 3.75f && std::fabs(*energy / (10.5f * n) - 1) < 1e-6f;
  return right ? 0 : (std::puts("this is wrong"), 1);
}

int main() {
#if defined(__CUDACC__)
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0) return simulate<device>("on the GPU");
#endif
  return simulate<host_executor>("on the host");
}
