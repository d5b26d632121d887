// What only a GPU has the size for: a result of more than 2^31 elements, whose last rows lie where 32-bit offsets have
// wrapped, and workers in shifts.
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

// More than 64 waves of which each reads more than an L2 holds; the last shift is not full.
TEST(gemm_big, many_waves_of_long_rows) {
#if defined(__CUDACC__)
  if (const auto why = unavailable<device>(); !why.empty()) GTEST_SKIP() << why;
  constexpr index_t m = 16384, n = 8704, k = 10240, every = 1024;
  constexpr std::size_t bytes = 2 * (m * k + n * k + m * n);
  bf16* a = nullptr;
  if (cudaMalloc(&a, bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    GTEST_SKIP() << "needs 0.8 GB of device memory";
  }
  bf16 *b = a + m * k, *d = b + n * k;
  const auto row_of_a = [](index_t i) { return static_cast<int>(i % 13) - 6; };
  const auto row_of_b = [](index_t j) { return static_cast<int>(j % 11) - 5; };
  const auto fill = [&](bf16* to, index_t rows, auto value) {
    std::vector<bf16> x(static_cast<std::size_t>(rows * k));
    for (index_t i = 0; i < rows; ++i)
      for (index_t at = i % every; at < k; at += every)
        x[static_cast<std::size_t>(i * k + at)] = value_of<bf16>(value(i));
    memory<device_space>::upload(to, x.data(), 2 * x.size());
  };
  // Rows of A and B meet where their places are the same, so D is sparse and shows which rows a tile read.
  fill(a, m, row_of_a), fill(b, n, row_of_b);
  check_cuda(cudaMemset(d, 0x55, 2 * m * n), "D");
  const auto plan =
      plan_gemm(device_view(a, m, k), transposed(device_view(b, n, k)), store(device_view(d, m, n), acc));
  if (device_attribute(cudaDevAttrComputeCapabilityMajor, 0) == 9 && architectures(900) > 0) {
    EXPECT_TRUE(plan.explain().shifts) << plan.explain().text();
  }
  const status s = plan.run(device{});
  ASSERT_TRUE(s.ok()) << s.message();
  std::vector<bf16> values(static_cast<std::size_t>(m * n));
  memory<device_space>::download(values.data(), d, 2 * values.size());
  index_t wrong = 0;
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      const int want = i % every == j % every ? static_cast<int>(k / every) * row_of_a(i) * row_of_b(j) : 0;
      if (as_double(values[static_cast<std::size_t>(i * n + j)]) != want && wrong++ == 0)
        ADD_FAILURE() << "row " << i << ", column " << j;
    }
  EXPECT_EQ(wrong, 0);
  check_cuda(cudaFree(a), "A, B and D");
#else
  GTEST_SKIP() << "needs a device";
#endif
}

}  // namespace
}  // namespace kiln::test
