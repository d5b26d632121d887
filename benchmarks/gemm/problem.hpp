#pragma once
/// One matrix product with all that any case needs around it: D[m, n] = epilogue(A[m, k] * B[n, k]^T), row-major, in as
/// many copies as it takes to push each other out of the L2.
#include <benchmarks/measure/data.hpp>
#include <cstdint>

namespace bench {

struct shape {
  element in = element::bf16, out = element::bf16;
  std::int64_t m = 0, n = 0, k = 0;
  int products = 1;             ///< 2: B has 2n rows, the gate's and then the other's
  std::int64_t alignment = 16;  ///< bytes to which rows are padded
  bool residual = false;
  float b_amplitude = 1;  ///< A is uniform in [-1, 1], B in [-b_amplitude, b_amplitude]; int8 in [-127, 127]
};

struct problem : shape {
  explicit problem(const shape&);

  std::int64_t lda, ldb, ldd;            ///< elements
  std::size_t a_step, b_step, d_step;    ///< bytes from one copy to the next
  int sets;                              ///< copies
  memory a, b, d, residual_data;         ///< residual: as d
  memory bias, row_scale, column_scale;  ///< float32; one copy

  void* a_at(int set) const { return a.at(a_step * static_cast<std::size_t>(set)); }
  void* b_at(int set) const { return b.at(b_step * static_cast<std::size_t>(set)); }
  void* d_at(int set) const { return d.at(d_step * static_cast<std::size_t>(set)); }
  void* residual_at(int set) const { return residual_data.at(d_step * static_cast<std::size_t>(set)); }
  double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * products;
  }
};

}  // namespace bench
