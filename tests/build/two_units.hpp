#pragma once
/// Included by two translation units of one program, which differ in the name KILN_UNIT, and perhaps in KILN_DEBUG or
/// the architectures that they are built for. Each calls the same GEMM.
#include <cstdio>

#include "every_header.hpp"

int KILN_UNIT();

namespace {

constexpr int m = 5, n = 7, k = 3;

float a_at(int i, int p) { return static_cast<float>(i - 2 * p); }
float b_at(int p, int j) { return static_cast<float>(3 * p - j); }

/// Elements of `d` that differ from the product; small integers, so the sums are exact.
int wrong(const float (&d)[m][n]) {
  int count = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p) sum += a_at(i, p) * b_at(p, j);
      count += d[i][j] != sum;
    }
  return count;
}

}  // namespace

int KILN_UNIT() {
  using namespace kiln;
  float a[m][k], b[k][n], d[m][n] = {};
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p) a[i][p] = a_at(i, p);
  for (int p = 0; p < k; ++p)
    for (int j = 0; j < n; ++j) b[p][j] = b_at(p, j);
  if (status s =
          gemm(host, host_view(&a[0][0], m, k), host_view(&b[0][0], k, n), store(host_view(&d[0][0], m, n), acc));
      !s) {
    std::printf("host: %s\n", s.message().c_str());
    return 1;
  }
  int bad = wrong(d);
#if defined(__CUDACC__)
#if !defined(__CUDACC_RDC__)  // relocatable code calls functions across units, and ptxas serialises wgmma then
  // What a plan is depends on the architectures; it is made without a GPU, too.
  static bf16 never_read[64 * 64];
  static float never_written[64 * 64];
  const auto x = device_view(never_read, 64, 64);
  const auto plan = plan_gemm(x, transposed(x), store(device_view(never_written, 64, 64), acc));
  if (!plan.state().ok() || plan.explain().tiles != 1) {
    std::printf("plan: %s\n", plan.state().message().c_str());
    return 1;
  }
#endif
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::printf("no GPU: only the host's call was made\n");
    return bad;
  }
  float *ga = nullptr, *gb = nullptr, *gd = nullptr;
  if (cudaMalloc(&ga, sizeof a) != cudaSuccess || cudaMalloc(&gb, sizeof b) != cudaSuccess ||
      cudaMalloc(&gd, sizeof d) != cudaSuccess)
    return 1;
  cudaMemcpy(ga, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(gb, b, sizeof b, cudaMemcpyHostToDevice);
  cudaMemset(gd, 0xff, sizeof d);
  if (status s = gemm(device(), device_view(ga, m, k), device_view(gb, k, n), store(device_view(gd, m, n), acc)); !s) {
    std::printf("device: %s\n", s.message().c_str());
    return 1;
  }
  if (cudaMemcpy(d, gd, sizeof d, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  bad += wrong(d);
  cudaFree(ga), cudaFree(gb), cudaFree(gd);
#endif
  return bad;
}
