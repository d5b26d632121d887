// Launches: errors become a status, the caller's pending error stays the caller's, and captured work has no time. All
// of it is the device's; the host's compiler sees an empty file.
#if defined(__CUDACC__)
#include <kiln/core/trace.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/reduce.hpp>
#include <string>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

__global__ void fill_blocks(int* out, index_t count) {
  const index_t i = static_cast<index_t>(blockIdx.x) +
                    static_cast<index_t>(gridDim.x) * (blockIdx.y + static_cast<index_t>(gridDim.y) * blockIdx.z);
  if (threadIdx.x == 0 && i < count) out[i] = 1;
}

/// With static shared memory beside the dynamic: both count.
__global__ void fill_by_shared(int* out, int words) {
  __shared__ int own[64];
  extern __shared__ int more[];
  for (int i = static_cast<int>(threadIdx.x); i < words; i += 32) more[i] = 1;
  own[threadIdx.x] = words;
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = more[words - 1 - static_cast<int>(threadIdx.x)] + own[31] - words;
}

class device_launches : public on_executor<device> {};

TEST_F(device_launches, static_and_dynamic_shared_memory_may_exceed_48_kilobytes_together) {
  for (const int kilobytes : {8, 48, 64}) {
    auto& out = this->template output<std::int32_t>(8, prefill::x55);
    const status s = launch(executor(), "fill", fill_by_shared, {.block = 32, .shared_bytes = kilobytes * 1024},
                            out.data(), kilobytes * 256);
    EXPECT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    for (auto v : out.values()) EXPECT_EQ(v, 1) << kilobytes;
  }
}

// RUN-09
TEST_F(device_launches, a_stale_error_is_neither_ours_nor_cleared) {
  auto& out = this->template output<float>(1);
  const auto x = device_view(this->input(uniform<float>(8, 3)).data(), 1, 8);
  void* p = nullptr;
  ASSERT_NE(cudaMalloc(&p, std::size_t{1} << 60), cudaSuccess);
  const cudaError_t stale = cudaPeekAtLastError();
  ASSERT_NE(stale, cudaSuccess);
  const status good = row_reduce<reduction::sum>(executor(), x, device_view(out.data(), 1));
  EXPECT_TRUE(good.ok()) << good.message();
  EXPECT_EQ(cudaPeekAtLastError(), stale);
  const status bad = row_reduce<reduction::sum>(executor(), x, device_view(out.data(), 0));
  EXPECT_EQ(bad.code(), errc::bad_shape);
  EXPECT_EQ(cudaGetLastError(), stale);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(device_launches, a_refused_launch_is_reported_and_leaves_nothing_pending) {
  auto& out = this->template output<std::int32_t>(8, prefill::x55);
  const status threads = launch(executor(), "fill", fill_blocks, {.block = 2048}, out.data(), 8);
  EXPECT_EQ(threads.code(), errc::cuda_error);
  EXPECT_NE(threads.message().find("2048 threads"), std::string::npos) << threads.message();
  EXPECT_NE(threads.message().find("cudaError"), std::string::npos) << threads.message();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  const status shared = launch(executor(), "fill", fill_blocks, {.shared_bytes = 1 << 20}, out.data(), 8);
  EXPECT_EQ(shared.code(), errc::cuda_error);
  EXPECT_NE(shared.message().find("1048576 bytes"), std::string::npos) << shared.message();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(launch(executor(), "fill", fill_blocks, {.grid = {8, 1, 1}, .block = 32}, out.data(), 8).ok());
  for (auto v : out.values()) EXPECT_EQ(v, 1);
}

TEST_F(device_launches, grids_follow_the_limits_of_each_axis) {
  auto& out = this->template output<std::int32_t>(70000, prefill::x55);
  EXPECT_TRUE(launch(executor(), "fill", fill_blocks, {.grid = {70000, 1, 1}, .block = 32}, out.data(), 70000).ok());
  for (auto v : out.values()) ASSERT_EQ(v, 1);
  const status tall = launch(executor(), "fill", fill_blocks, {.grid = {1, 65536, 1}, .block = 32}, out.data(), 8);
  EXPECT_EQ(tall.code(), errc::unsupported);
  EXPECT_NE(tall.message().find("1 x 65536 x 1 blocks"), std::string::npos) << tall.message();
  EXPECT_EQ(launch(executor(), "fill", fill_blocks, {.grid = {index_t{1} << 31, 1, 1}}, out.data(), 8).code(),
            errc::unsupported);
  EXPECT_TRUE(launch(executor(), "fill", fill_blocks, {.grid = {0, 1, 1}}, out.data(), 8).ok());
}

TEST_F(device_launches, work_inside_a_capture_has_no_time_and_is_captured) {
  auto& out = this->template output<float>(1);
  const auto x = device_view(this->input(std::vector<float>(8, 1.0f)).data(), 1, 8);
  double seconds = 0;
  const trace::sink sink{[](void* to, const trace::launch_record& r) { *static_cast<double*>(to) = r.seconds; },
                         &seconds};
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  trace::set_sink(&sink);
  const status s = row_reduce<reduction::sum>(device(stream), x, device_view(out.data(), 1));
  trace::set_sink(nullptr);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_LT(seconds, 0);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(out.values()[0], 8);
  (void)cudaGraphExecDestroy(exec);
  (void)cudaGraphDestroy(graph);
  (void)cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace kiln::test
#endif
