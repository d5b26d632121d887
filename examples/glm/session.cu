// Executors and element types, chosen at run time.
#include "model_session.hpp"

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

namespace {

template <class T>
std::unique_ptr<session> open_typed(const std::filesystem::path& folder, const config& c, place where) {
  if (where == place::host) return std::make_unique<model_session<T, kiln::host_executor>>(kiln::host, folder, c);
#if defined(__CUDACC__)
  return std::make_unique<model_session<T, kiln::device>>(kiln::device(), folder, c);
#else
  fail(why_no_device());
#endif
}

}  // namespace

std::unique_ptr<session> open_session(const std::filesystem::path& folder, const config& c, place where, number type) {
  switch (type) {
    case number::f32:
      return open_typed<float>(folder, c, where);
    case number::bf16:
      return open_typed<kiln::bf16>(folder, c, where);
    case number::f16:
      return open_typed<kiln::f16>(folder, c, where);
  }
  fail("no such element type");
}

}  // namespace glm
