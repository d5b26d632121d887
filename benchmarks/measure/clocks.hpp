#pragma once
/// Clock, temperature and power of the GPU through NVML, which is opened at run time and may be missing.
#include <string>

namespace bench {

/// Zeros where NVML does not answer.
struct gpu_reading {
  unsigned sm_mhz = 0, memory_mhz = 0, celsius = 0;
  double watts = 0;
};
gpu_reading read_gpu();

/// "580.159.04"; "unknown" without NVML.
std::string driver_version();

}  // namespace bench
