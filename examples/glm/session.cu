// What the program needs to know about executors and types before it opens a session.
#include "session.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>
#endif

namespace glm {

std::string why_no_device() {
#if defined(__CUDACC__)
  int count = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&count); e != cudaSuccess || count == 0) {
    return e == cudaSuccess ? "there is no GPU" : std::string("there is no GPU: ") + cudaGetErrorString(e);
  }
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return major >= 8 ? "" : "the GPU is older than compute capability 8.0";
#else
  return "this program was built without CUDA";
#endif
}

std::unique_ptr<session> open_session(const std::filesystem::path& folder, const config& c, place where, number type) {
  switch (type) {
    case number::f32: return open_f32(folder, c, where);
    case number::bf16: return open_bf16(folder, c, where);
    case number::f16: return open_f16(folder, c, where);
  }
  return nullptr;
}

}  // namespace glm
