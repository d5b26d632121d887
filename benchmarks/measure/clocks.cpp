#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <benchmarks/measure/clocks.hpp>

namespace bench {

namespace {

// NVML's ABI, as far as it is used here.
struct nvml {
  void* device = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*version)(char*, unsigned) = nullptr;

  nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    int (*init)() = nullptr;
    int (*by_bus)(const char*, void**) = nullptr;
    if (!find(init, "nvmlInit_v2") || !find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") || init() != 0) return;
    find(version, "nvmlSystemGetDriverVersion");
    char bus[32] = {};
    int current = 0;
    if (cudaGetDevice(&current) != cudaSuccess || cudaDeviceGetPCIBusId(bus, sizeof bus, current) != cudaSuccess)
      return;
    if (!find(clock, "nvmlDeviceGetClockInfo") || !find(temperature, "nvmlDeviceGetTemperature") ||
        !find(power, "nvmlDeviceGetPowerUsage") || by_bus(bus, &device) != 0)
      device = nullptr;
  }
};

const nvml& library() {
  static const nvml one;
  return one;
}

}  // namespace

gpu_reading read_gpu() {
  constexpr int sm = 1, memory = 2, gpu_sensor = 0;
  gpu_reading r;
  const nvml& n = library();
  if (n.device == nullptr) return r;
  unsigned milliwatts = 0;
  (void)n.clock(n.device, sm, &r.sm_mhz);
  (void)n.clock(n.device, memory, &r.memory_mhz);
  (void)n.temperature(n.device, gpu_sensor, &r.celsius);
  if (n.power(n.device, &milliwatts) == 0) r.watts = milliwatts * 1e-3;
  return r;
}

std::string driver_version() {
  char text[96] = {};
  const nvml& n = library();
  return n.version != nullptr && n.version(text, sizeof text) == 0 ? text : "unknown";
}

}  // namespace bench
