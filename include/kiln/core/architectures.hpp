#pragma once
/// The GPUs that this build makes code for, as nvcc lists them: 800, 900. The list cannot tell 90 from 90a.
#include <kiln/core/abi.hpp>

namespace kiln {
inline namespace KILN_ABI {

/// How many of them are from `least` on and below `end`; all are, without arguments. Without nvcc there are none.
constexpr int architectures([[maybe_unused]] int least = 0, [[maybe_unused]] int end = 1 << 30) {
  int n = 0;
#if defined(__CUDA_ARCH_LIST__)
  constexpr int list[] = {__CUDA_ARCH_LIST__};
  for (const int one : list) n += least <= one && one < end;
#endif
  return n;
}

}  // namespace KILN_ABI
}  // namespace kiln
