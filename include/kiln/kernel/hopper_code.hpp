#pragma once
/// Whether kernels may use clusters and dependent launches.
#include <kiln/kernel/launch.hpp>

#if defined(__CUDACC__)
namespace kiln {
inline namespace KILN_ABI {

/// True if the current GPU runs code of this build that was compiled for Hopper or newer: it takes the newest that it
/// can.
inline bool runs_hopper_code() {
#if defined(__CUDA_ARCH_LIST__)
  const int own = 100 * device_attribute(cudaDevAttrComputeCapabilityMajor, 0) +
                  10 * device_attribute(cudaDevAttrComputeCapabilityMinor, 0);
  constexpr int list[] = {__CUDA_ARCH_LIST__};
  for (const int architecture : list)
    if (architecture >= 900 && architecture <= own) return true;
#endif
  return false;
}

}  // namespace KILN_ABI
}  // namespace kiln
#endif
