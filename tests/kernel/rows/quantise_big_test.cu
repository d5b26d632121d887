// Quantisation past 2^30, 2^31 and 2^32 elements: on the device as it is, on the host its arithmetic of coordinates.
#include <algorithm>
#include <kiln/quantise.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

using rows::cut;

// QNT-16's twin: where runs begin and end, against 128-bit-safe arithmetic, without touching memory.
TEST(quantise_big, runs_lie_where_64_bit_arithmetic_says) {
  for (const index_t around : {index_t{1} << 30, index_t{1} << 31, index_t{1} << 32})
    for (const index_t n : {around - 65536, around - 1, around, around + 1, around + 64})
      for (const index_t group : {index_t{64}, index_t{100}, index_t{1} << 20, cut::any}) {
        const cut whole(n, group, cut::any), pieces(n, group);
        const index_t size = std::min(group, n), groups = (n - 1) / size + 1;
        ASSERT_EQ(whole.runs(), groups);
        for (const index_t g : {index_t{0}, groups / 2, groups - 1}) {
          for (const index_t row : {index_t{0}, index_t{1}, index_t{70000}}) {
            const rows::run_place p = whole.at(row * whole.runs() + g);
            ASSERT_EQ(p.row, row);
            ASSERT_EQ(p.group, g);
            ASSERT_EQ(p.start, g * size);
            ASSERT_EQ(p.length, std::min(size, n - g * size));
          }
          const rows::run_place last = pieces.at(pieces.runs() + g * pieces.pieces + pieces.pieces - 1);
          ASSERT_EQ(last.row, 1);
          ASSERT_EQ(last.group, g);
          ASSERT_TRUE(last.length == 0 || last.start + last.length <= n);
        }
      }
}

/// The pieces of all runs cover each element once.
TEST(quantise_big, pieces_cover_a_row_once) {
  for (const index_t n : {1, 5, 64, 100, 8192, 8193, 20000})
    for (const index_t group : {index_t{1}, index_t{7}, index_t{64}, index_t{9000}, index_t{8192}, cut::any})
      for (const index_t most : {index_t{5}, cut::longest, cut::any}) {
        const cut c(n, group, most);
        std::vector<int> seen(static_cast<std::size_t>(n));
        for (index_t r = 0; r < c.runs(); ++r) {
          const rows::run_place p = c.at(r);
          ASSERT_GE(p.length, 0);
          ASSERT_LE(p.length, c.piece);
          for (index_t i = p.start; i < p.start + p.length; ++i) {
            ASSERT_EQ(i / c.group, p.group);
            ++seen.at(static_cast<std::size_t>(i));
          }
        }
        for (int times : seen) ASSERT_EQ(times, 1) << n << ", " << group << ", " << most;
      }
}

// QNT-16
TEST(quantise_big, blocks_of_more_than_two_to_the_31_elements) {
#if defined(__CUDACC__)
  if (const auto why = unavailable<device>(); !why.empty()) GTEST_SKIP() << why;
  constexpr index_t most = (index_t{1} << 31) + 64, group = 64;
  f16* x = nullptr;
  std::int8_t* q = nullptr;
  float* scales = nullptr;
  if (cudaMalloc(&x, most * sizeof(f16)) != cudaSuccess || cudaMalloc(&q, most) != cudaSuccess ||
      cudaMalloc(&scales, most / group * sizeof(float)) != cudaSuccess) {
    (void)cudaGetLastError();
    (void)cudaFree(x), (void)cudaFree(q);
    GTEST_SKIP() << "needs 6.6 GB of device memory";
  }
  const std::vector<f16> ones(std::size_t{1} << 24, f16(1.0f)), twos(group, f16(2.0f));
  for (const index_t n : {(index_t{1} << 30) + 64, (index_t{1} << 31) - 65536, index_t{1} << 31, most}) {
    for (index_t i = 0; i < n; i += index_t{1} << 24)
      memory<device_space>::upload(x + i, ones.data(),
                                   static_cast<std::size_t>(std::min(n - i, index_t{1} << 24)) * sizeof(f16));
    memory<device_space>::upload(x + n - group, twos.data(), group * sizeof(f16));
    check_cuda(cudaMemset(q, 0x55, static_cast<std::size_t>(n)), "q");
    const status s = quantise(device{}, device_view(x, 1, n), device_view(q, 1, n),
                              per_group_scales<1>(device_view(scales, 1, n / group), group));
    ASSERT_TRUE(s.ok()) << s.message();
    std::vector<float> seen(static_cast<std::size_t>(n / group));
    memory<device_space>::download(seen.data(), scales, seen.size() * sizeof(float));
    for (std::size_t g = 0; g < seen.size(); ++g) ASSERT_EQ(seen[g], (g + 1 == seen.size() ? 2.0f : 1.0f) / 127) << g;
    std::vector<std::int8_t> codes(static_cast<std::size_t>(n));
    memory<device_space>::download(codes.data(), q, codes.size());
    ASSERT_EQ(std::count(codes.begin(), codes.end(), 127), n);
  }
  check_cuda(cudaFree(x), "x"), check_cuda(cudaFree(q), "q"), check_cuda(cudaFree(scales), "scales");
#else
  GTEST_SKIP() << "needs a device";
#endif
}

}  // namespace
}  // namespace kiln::test
