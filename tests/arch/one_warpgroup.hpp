#pragma once
/// Runs a body as one warpgroup of either executor: `body(warpgroup, shared)`, shared memory at a multiple of 1024
/// bytes.
#include <gtest/gtest.h>

#include <cstddef>
#include <kiln/arch/host/driver.hpp>
#include <kiln/arch/sm90.hpp>
#include <kiln/core/scope.hpp>
#include <string>

namespace kiln::test {

#if defined(__CUDACC__)
// Empty in passes that lack Hopper's own instructions. The bound tells the host which pass the code of this GPU comes
// from.
inline constexpr int threads_without_sm90a = 64;

template <class Body>
__global__ void __launch_bounds__(KILN_SM90A ? 128 : threads_without_sm90a)
    one_warpgroup_kernel(const __grid_constant__ Body body) {
#if KILN_SM90A
  extern __shared__ __align__(1024) unsigned char warpgroup_memory[];
  body(scope<on_device, 128>{}, warpgroup_memory);
#endif
}

struct empty_body {
  KILN_FN void operator()(scope<on_device, 128>, unsigned char*) const {}
};
#endif

/// Why the executor cannot run Hopper's instructions here; empty if it can.
template <class Executor>
std::string no_sm90() {
#if defined(__CUDACC__)
  if constexpr (!Executor::on_host) {
    cudaFuncAttributes a{};
    if (const auto e = cudaFuncGetAttributes(&a, one_warpgroup_kernel<empty_body>); e != cudaSuccess) {
      (void)cudaGetLastError();
      return std::string("no code for this GPU: ") + cudaGetErrorString(e);
    }
    if (a.maxThreadsPerBlock == threads_without_sm90a) return "this build has no sm_90a code for this GPU";
  }
#endif
  return {};
}

/// On the host under all orders, watched.
template <class Executor, class Body>
void one_warpgroup(const Body& body, int shared_bytes) {
  if constexpr (Executor::on_host) {
    for (const order o : {order::eager, order::late, order::random}) {
      const status s = twin::run_roles(
          host.with_order(o, 11).with_checks(), {1, 128, static_cast<std::size_t>(shared_bytes)}, [](twin::block) {},
          twin::role("warpgroup", 0, 128,
                     [&](twin::block b) { body(scope<on_host, 128>{0}, reinterpret_cast<unsigned char*>(b.shared)); }));
      EXPECT_EQ(s.message(), "");
    }
  } else {
#if defined(__CUDACC__)
    ASSERT_EQ(
        cudaFuncSetAttribute(one_warpgroup_kernel<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        cudaSuccess);
    one_warpgroup_kernel<<<1, 128, static_cast<std::size_t>(shared_bytes)>>>(body);
    ASSERT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaSuccess");
#endif
  }
}

}  // namespace kiln::test
