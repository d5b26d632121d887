// Particles as a structure of arrays: a kernel that a struct of two lines describes, and the same lines on CPU and GPU.
//
// Each field is an array of its own, so a kernel that reads positions and velocities moves no mass through memory, and
// 32 neighbouring threads read 32 neighbouring numbers. The code reads as if particles were structs.
#include <cmath>
#include <kiln/copy.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/transform.hpp>

#include "buffers.hpp"

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

template <class Executor>
bool simulate(Executor ex, const char* where) {
  constexpr int n = 1 << 18, steps = 10;
  // One piece of memory that the host and this executor reach, for the arrays of all fields.
  example::array<Executor, std::byte> memory(static_cast<int>(soa_bytes<position, velocity, mass>(n)));
  example::array<Executor, float> energy(1);

  // On the host a view is a range; its elements unpack into references.
  float number = 0;
  for (auto [x, v, m] : host_soa_in<position, velocity, mass>(memory.data(), n)) {
    for (int c = 0; c < 3; ++c) x[c] = 0, v[c] = static_cast<float>(c + 1);
    m = std::fmod(number++, 4.0f);
  }

  // The view that the executor works on, and only it.
  const auto particles = [&] {
    if constexpr (Executor::on_host)
      return host_soa_in<position, velocity, mass>(memory.data(), n);
    else
      return device_soa_in<position, velocity, mass>(memory.data(), n);
  }();

  // A reduction needs scratch memory on the device; it is the caller's.
  example::array<Executor, std::byte> scratch(static_cast<int>(reduce_workspace_size<float>(particles)));
  ex.scratch = {scratch.data(), reduce_workspace_size<float>(particles)};
  for (int i = 0; i < steps; ++i) example::require(transform(ex, particles, drift{0.125f}));
  example::require(reduce(ex, particles, view_on<Executor>(energy.data(), 1), 0.0f, kinetic_energy{}, plus{}));
  example::wait(ex);

  const auto p = host_soa_in<position, velocity, mass>(memory.data(), n)[n - 1];
  const float x = get<position>(p)[0], y = get<position>(p)[1], z = get<position>(p)[2];
  std::printf("%s: %d particles, %d steps: the last is at (%g, %g, %g), the energy is %g\n", where, n, steps,
              static_cast<double>(x), static_cast<double>(y), static_cast<double>(z), static_cast<double>(energy[0]));

  // v^2 is 14 and the masses are 0, 1, 2, 3 in turn: half of 14 times 1.5 for each particle.
  return x == 1.25f && y == 2.5f && z == 3.75f && std::fabs(energy[0] / (10.5f * n) - 1) < 1e-6f;
}

int main() {
  return example::on_each_executor([](const auto& ex, const char* where) { return simulate(ex, where); });
}
