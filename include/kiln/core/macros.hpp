#pragma once
/// The few function-qualifier macros. Everything that runs on both executors is `KILN_FN`.
#include <kiln/version.hpp>

#if defined(__CUDACC__)
#define KILN_FN __host__ __device__ __forceinline__
#define KILN_DEVICE __device__ __forceinline__
/// Before a KILN_FN template whose host instantiation calls host-only code (the twins' bookkeeping).
#define KILN_HOST_CALLS _Pragma("nv_exec_check_disable")
#else
#define KILN_FN inline
#define KILN_HOST_CALLS
#endif

// Only the device passes know the pragma; a host compiler would warn about it.
#if defined(__CUDA_ARCH__)
#define KILN_UNROLL _Pragma("unroll")
#define KILN_NO_UNROLL _Pragma("unroll 1")
#else
#define KILN_UNROLL
#define KILN_NO_UNROLL
#endif

/// Hopper's own instructions (wgmma, setmaxnreg) exist only in code compiled for sm_90a.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KILN_SM90A 1
#else
#define KILN_SM90A 0
#endif
