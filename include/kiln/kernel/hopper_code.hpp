#pragma once
/// Whether kernels may use clusters and dependent launches.
#include <kiln/kernel/launch.hpp>

#if defined(__CUDACC__)
namespace kiln {
inline namespace KILN_ABI {

/// True if the code of a kernel that the current GPU runs was compiled for Hopper or newer. The list of architectures
/// cannot tell: code for 9.0a runs on 9.0 alone, and a newer GPU then takes what was made for an older one.
template <class Kernel>
bool runs_hopper_code(Kernel* kernel) {
  if (device_attribute(cudaDevAttrClusterLaunch, 0) == 0) return false;
  cudaFuncAttributes a{};
  return quiet_call([&] { return cudaFuncGetAttributes(&a, reinterpret_cast<const void*>(kernel)); }) == cudaSuccess &&
         a.ptxVersion >= 90;
}

}  // namespace KILN_ABI
}  // namespace kiln
#endif
