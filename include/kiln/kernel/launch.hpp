#pragma once
/// Launching a kernel on a device executor: what can go wrong becomes a status, and the runtime's error slot stays
/// clean.
#include <kiln/core/cuda_error.hpp>

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

#include <kiln/core/abi.hpp>
#include <kiln/core/architectures.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/shared_value.hpp>
#include <kiln/core/types.hpp>
#include <type_traits>

namespace kiln {

/// A grid and what its blocks need. Extents are 64-bit, so that a count of tiles is judged here and not cut off before.
struct launch_shape {
  index_t grid[3] = {1, 1, 1};
  int block = 128;             ///< threads; blocks have one dimension
  index_t shared_bytes = 0;      ///< dynamic shared memory of a block
  int cluster = 1;             ///< blocks of a cluster, along x
  /// Programmatic dependent launch: the kernel may begin while the one before it in the stream ends, since it waits for
  /// that itself (`sm90::begin_in_turn`). Where the GPU runs code without that instruction, it begins after it.
  bool overlaps_previous = false;
  /// `grant_shared_memory` has been called for the kernel on this GPU, which costs a launch a microsecond otherwise.
  bool granted = false;
};

namespace detail {
inline namespace KILN_ABI {
/// Whether all code of this build is for GPUs that have the library's instructions. A template, so that it is asked
/// only where something is launched.
template <class...>
inline constexpr bool builds_for_8_0 = architectures(0, 800) == 0;
}  // inline namespace KILN_ABI
}  // namespace detail

inline constexpr index_t max_grid_x = 2147483647, max_grid_yz = 65535;

/// An attribute of the current device; `fallback` where the runtime does not answer.
inline int device_attribute(cudaDeviceAttr which, int fallback) {
  int value = fallback;
  (void)quiet_call([&] {
    int current = 0;
    if (auto e = cudaGetDevice(&current); e != cudaSuccess) return e;
    return cudaDeviceGetAttribute(&value, which, current);
  });
  return value;
}

/// Lets a kernel have so many bytes of dynamic shared memory a block on the current GPU. Up to 48 KB, its static ones
/// among them, need no asking.
inline cudaError_t grant_shared_memory(const void* kernel, index_t bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

/// Clusters (of one block, too) of a kernel that the current GPU holds at a time; the kernel may have its shared memory
/// from now on. `fallback` where the runtime does not answer.
template <class... Parameters>
int resident_clusters(void (*kernel)(Parameters...), int cluster, int threads, index_t shared_bytes, int fallback) {
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = static_cast<unsigned>(cluster), size.val.clusterDim.y = size.val.clusterDim.z = 1;
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(static_cast<unsigned>(cluster)), shape.blockDim = dim3(static_cast<unsigned>(threads));
  shape.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes), shape.attrs = &size, shape.numAttrs = 1;
  int clusters = 0;
  const cudaError_t e = quiet_call([&] {
    const cudaError_t granted = grant_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes);
    return granted != cudaSuccess ? granted : cudaOccupancyMaxActiveClusters(&clusters, kernel, &shape);
  });
  return e == cudaSuccess && clusters > 0 ? clusters : fallback;
}

namespace detail {
inline namespace KILN_ABI {
/// What each GPU answers to a question that is asked once.
class answers {
 public:
  template <class Ask>
  bool of_current_device(Ask ask) {
    int current = 0;
    if (quiet_call([&] { return cudaGetDevice(&current); }) != cudaSuccess || current >= most) return ask();
    signed char known = of_device_[current].load();
    if (known == 0) of_device_[current].store(known = ask() ? 1 : -1);
    return known > 0;
  }

 private:
  static constexpr int most = 64;
  shared_value<signed char> of_device_[most];  // 0: not asked
};

inline bool ask_for_hopper_code(const void* kernel) {
  if (device_attribute(cudaDevAttrClusterLaunch, 0) == 0) return false;
  cudaFuncAttributes a{};
  return quiet_call([&] { return cudaFuncGetAttributes(&a, kernel); }) == cudaSuccess && a.ptxVersion >= 90;
}
inline constinit answers hopper_code;
}  // inline namespace KILN_ABI
}  // namespace detail

inline namespace KILN_ABI {

/// True if the current GPU runs code of this build that was compiled for Hopper or newer, so that kernels may use
/// clusters and dependent launches. The GPU cannot tell: a newer one takes what was made for 8.0 where there is 9.0a
/// beside it. All kernels of a build are compiled for the same GPUs, so the first one that asks answers for all.
template <class Kernel>
bool runs_hopper_code(Kernel* kernel) {
  if constexpr (architectures(900) == 0) return false;
  return detail::hopper_code.of_current_device(
      [&] { return detail::ask_for_hopper_code(reinterpret_cast<const void*>(kernel)); });
}

/// Launches `kernel` on the executor's stream. A grid without blocks launches nothing and is a success. An error is
/// reported with CUDA's name for it and with what was asked for; an error that was pending before is neither reported
/// nor cleared.
template <class... Parameters>
status launch(const device& ex, const char* name, void (*kernel)(Parameters...), const launch_shape& shape,
              const std::type_identity_t<Parameters>&... arguments) {
  static_assert(detail::builds_for_8_0<Parameters...>,
                "the device executor needs code for sm_80 or newer, and this file is compiled for an older GPU, too "
                "(nvcc's own default may be one): pass -arch=sm_80, -arch=sm_90a or newer; in CMake set "
                "CMAKE_CUDA_ARCHITECTURES");
  const index_t x = shape.grid[0], y = shape.grid[1], z = shape.grid[2];
  if (x < 0 || y < 0 || z < 0 || x > max_grid_x || y > max_grid_yz || z > max_grid_yz)
    return fail(errc::unsupported, "launch of `", name, "`: a grid of ", x, " x ", y, " x ", z,
                " blocks, a GPU takes at most ", max_grid_x, " x ", max_grid_yz, " x ", max_grid_yz);
  if (x == 0 || y == 0 || z == 0) return {};

  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
  config.blockDim = dim3(static_cast<unsigned>(shape.block));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = ex.stream;
  config.attrs = attributes;
  if (shape.cluster > 1) {
    auto& a = attributes[config.numAttrs++];
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = static_cast<unsigned>(shape.cluster);
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
  }
  if (shape.overlaps_previous && runs_hopper_code(kernel)) {
    auto& a = attributes[config.numAttrs++];
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
  }

  const void* entry = reinterpret_cast<const void*>(kernel);
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  const auto begin = [&] { return quiet_call([&] { return cudaLaunchKernelExC(&config, entry, pointers); }); };
  cudaError_t e = shape.granted || shape.shared_bytes <= 48 * 1024 ? begin() : cudaErrorInvalidValue;
  // Not granted, or on another GPU, or before the device was reset; or static bytes make 48 KB too many.
  if (e == cudaErrorInvalidValue && shape.shared_bytes > 0) {
    e = quiet_call([&] { return grant_shared_memory(entry, shape.shared_bytes); });
    if (e == cudaSuccess) e = begin();
  }
  if (e == cudaSuccess) return {};
  return cuda_status(e, "launch of `", name, "` with ", x, " x ", y, " x ", z, " blocks of ", shape.block,
                     " threads and ", shape.shared_bytes, " bytes of shared memory");
}

}  // namespace KILN_ABI
}  // namespace kiln
#endif
