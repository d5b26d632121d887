#pragma once
/// Runs a body as one block of either executor: `body(block, shared)` with shared memory at a multiple of 1024 bytes.
/// On the host the watch looks on, and a report of it fails the test.
#include <gtest/gtest.h>

#include <cstddef>
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/sm80_twin.hpp>
#include <kiln/core/scope.hpp>

namespace kiln::test {

#if defined(__CUDACC__)
template <int Threads, class Body>
__global__ void one_block_kernel(const __grid_constant__ Body body) {
  extern __shared__ __align__(1024) unsigned char one_block_memory[];
  body(block_scope<on_device, Threads>{}, one_block_memory);
}
#endif

template <int Threads, class Executor, class Body>
void one_block(Executor, const Body& body, std::size_t shared_bytes = 0) {
  if constexpr (Executor::on_host) {
    twin::checked_block watched(shared_bytes, Threads);
    body(block_scope<on_host, Threads>{}, reinterpret_cast<unsigned char*>(watched.shared()));
    EXPECT_TRUE(watched.result().ok()) << watched.result().message();
    EXPECT_EQ(twin::drop_copies(), 0u) << "copies that nobody waited for";
  } else {
#if defined(__CUDACC__)
    if (shared_bytes > 48 * 1024) {
      ASSERT_EQ(cudaFuncSetAttribute(one_block_kernel<Threads, Body>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)),
                cudaSuccess);
    }
    one_block_kernel<Threads><<<1, Threads, shared_bytes>>>(body);
    ASSERT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaSuccess");
#endif
  }
}

}  // namespace kiln::test
