#pragma once
/// One test source, every executor. Example:
///
///     KILN_ON_EXECUTORS(gemm_shapes);
///     TYPED_TEST(gemm_shapes, odd_sizes) {
///       auto a = this->input(values);                  // guarded, in this executor's memory
///       auto d = this->template output<float>(count);  // guarded
///       ASSERT_TRUE(gemm(this->executor(), ...).ok());
///       EXPECT_EQ(d.values(), expected);               // synchronises first; TearDown checks all guards
///     }
///
/// As C++ the test runs on the host, compiled by nvcc on the host and on the device; there it skips, and says why,
/// where no GPU can run it.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <kiln/core/executor.hpp>

#include "tests/support/guarded.hpp"

namespace kiln::test {

#if defined(KILN_TEST_DEVICE_ALONE)  // see tests/device/CMakeLists.txt
using executors = ::testing::Types<kiln::device>;
#elif defined(__CUDACC__)
using executors = ::testing::Types<kiln::host_executor, kiln::device>;
#else
using executors = ::testing::Types<kiln::host_executor>;
#endif
using host_only = ::testing::Types<kiln::host_executor>;

struct executor_names {
  template <class E>
  static std::string GetName(int) {
    return E::on_host ? "host" : "device";
  }
};

/// Why the executor cannot run here; empty if it can.
template <class E>
std::string unavailable() {
#if defined(__CUDACC__)
  if constexpr (!E::on_host) {
    int count = 0;
    if (auto e = cudaGetDeviceCount(&count); e != cudaSuccess) {
      (void)cudaGetLastError();
      return std::string("no GPU: ") + cudaGetErrorString(e);
    }
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (major < 8) return "the GPU has compute capability " + std::to_string(major) + ".x, Kiln needs 8.0 or newer";
  }
#endif
  return {};
}

/// Fixture: the executor, its buffers, and what must hold after every test.
template <class E>
class on_executor : public ::testing::Test {
 public:
  using space = typename E::space;

  E executor() const { return E{}; }

  /// Buffers live until the test ends; their guards are checked then.
  template <class T>
  guarded_input<T, space>& input(const std::vector<T>& values, std::size_t misalign = 0) {
    return keep(std::make_shared<guarded_input<T, space>>(values, misalign));
  }
  template <class T>
  guarded_output<T, space>& output(std::size_t count, prefill with = prefill::nan, std::size_t misalign = 0) {
    return keep(std::make_shared<guarded_output<T, space>>(count, with, misalign));
  }

 protected:
  void SetUp() override {
    if (auto why = unavailable<E>(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (IsSkipped()) return;
#if defined(__CUDACC__)
    if constexpr (!E::on_host) {
      EXPECT_STREQ(cudaGetErrorName(cudaDeviceSynchronize()), "cudaSuccess") << "left by a launch of this test";
      EXPECT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaSuccess") << "a CUDA error was left pending";
    }
#endif
    for (auto& intact : guards_) EXPECT_TRUE(intact());
  }

 private:
  template <class Buffer>
  Buffer& keep(std::shared_ptr<Buffer> buffer) {
    guards_.push_back([buffer] { return buffer->intact(); });
    return *buffer;
  }
  std::deque<std::function<::testing::AssertionResult()>> guards_;
};

}  // namespace kiln::test

/// Declares a typed test suite over all executors; a fixture of one's own derives from kiln::test::on_executor<E>
/// instead.
#define KILN_ON_EXECUTORS(suite)                                \
  template <class E>                                            \
  class suite : public kiln::test::on_executor<E> {};           \
  TYPED_TEST_SUITE(suite, kiln::test::executors, kiln::test::executor_names)
