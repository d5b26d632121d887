// A result of more than 2^31 elements: its last rows lie where 32-bit offsets have wrapped. On the device alone.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

TEST(gemm_big, elements_beyond_two_to_the_31) {
#if defined(__CUDACC__)
  if (const auto why = unavailable<device>(); !why.empty()) GTEST_SKIP() << why;
  constexpr index_t m = 46342, n = 46343, rows = 3;  // 2,147,627,306 bytes
  static_assert(m * n > index_t{1} << 31);
  std::int8_t *a = nullptr, *b = nullptr, *d = nullptr;
  if (cudaMalloc(&d, static_cast<std::size_t>(m * n)) != cudaSuccess) {
    (void)cudaGetLastError();
    GTEST_SKIP() << "needs 2.2 GB of device memory";
  }
  check_cuda(cudaMalloc(&a, m), "A");
  check_cuda(cudaMalloc(&b, n), "B");
  const auto left = uniform<std::int8_t>(m, 1), right = small_integers<std::int8_t>(n, 2, -1, 1);
  memory<device_space>::upload(a, left.data(), m);
  memory<device_space>::upload(b, right.data(), n);
  check_cuda(cudaMemset(d, 0x55, static_cast<std::size_t>(m * n)), "D");
  const status s = gemm(device{}, device_view(a, m, 1), device_view(b, 1, n), store(device_view(d, m, n), acc));
  ASSERT_TRUE(s.ok()) << s.message();
  for (const index_t first : {index_t{0}, index_t{46338}, m - rows}) {
    std::vector<std::int8_t> some(static_cast<std::size_t>(rows * n));
    memory<device_space>::download(some.data(), d + first * n, some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      const int product = left[static_cast<std::size_t>(first) + i / n] * right[i % n];
      ASSERT_EQ(int{some[i]}, product > 127 ? 127 : product)
          << "row " << first << " + " << i / n << ", column " << i % n;
    }
  }
  check_cuda(cudaFree(a), "A"), check_cuda(cudaFree(b), "B"), check_cuda(cudaFree(d), "D");
#else
  GTEST_SKIP() << "needs a device";
#endif
}

}  // namespace
}  // namespace kiln::test
