#pragma once
/// Calls into the CUDA runtime that leave its last-error slot as the caller had it.
///
/// The slot is one per host thread and every runtime call that fails overwrites it. A caller's error that is still
/// pending there is neither ours to report nor ours to clear; an error of our own goes into a status and out of the
/// slot.
#include <kiln/core/status.hpp>

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

namespace kiln {

/// Runs `f`, which returns a cudaError_t, and returns that value. Judges by the value alone, never by cudaGetLastError:
/// that may hold an older failure. If `f` fails and nothing was pending before, nothing is pending afterwards; if
/// something was, the slot still holds an error (now the later one: the runtime cannot put the older back).
template <class F>
cudaError_t quiet_call(F&& f) {
  const bool clean = cudaPeekAtLastError() == cudaSuccess;
  const cudaError_t e = f();
  if (e != cudaSuccess && clean) (void)cudaGetLastError();
  return e;
}

/// The status of a runtime call: `errc::cuda_error` (or `errc::unsupported` where this build holds no code for the GPU)
/// with the error's name, its text and what was asked for.
template <class... Parts>
status cuda_status(cudaError_t e, Parts... what) {
  if (e == cudaSuccess) return {};
  const bool no_code = e == cudaErrorNoKernelImageForDevice || e == cudaErrorUnsupportedPtxVersion;
  return fail(no_code ? errc::unsupported : errc::cuda_error, what..., ": ", cudaGetErrorName(e), " (",
              cudaGetErrorString(e), ")");
}

}  // namespace kiln
#endif
