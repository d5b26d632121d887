#include <benchmarks/gemm/problem.hpp>

namespace bench {

namespace {

std::int64_t padded(std::int64_t elements, element e, std::int64_t alignment) {
  const auto size = static_cast<std::int64_t>(size_of(e));
  return (elements * size + alignment - 1) / alignment * alignment / size;
}
std::size_t step_of(std::int64_t rows, std::int64_t pitch, element e) {
  return padded_to_line(static_cast<std::size_t>(rows * pitch) * size_of(e));
}

}  // namespace

problem::problem(const shape& s) : shape(s) {
  lda = padded(k, in, alignment), ldb = lda, ldd = padded(n, out, alignment);
  a_step = step_of(m, lda, in), b_step = step_of(n * products, ldb, in), d_step = step_of(m, ldd, out);
  const std::size_t read = a_step + b_step + (residual ? d_step : 0);
  sets = copies_for(static_cast<double>(read));
  const auto copies = static_cast<std::size_t>(sets);
  a = memory(a_step * copies), b = memory(b_step * copies), d = memory(d_step * copies);
  if (residual) residual_data = memory(d_step * copies);
  bias = memory(static_cast<std::size_t>(n) * 4), column_scale = memory(static_cast<std::size_t>(n * products) * 4);
  row_scale = memory(static_cast<std::size_t>(m) * 4);
  fill(a, in, -1, 1, 1), fill(b, in, -b_amplitude, b_amplitude, 2), fill(residual_data, out, -1, 1, 3);
  fill(bias, element::f32, -1, 1, 4), fill(row_scale, element::f32, 0.005f, 0.015f, 5);
  fill(column_scale, element::f32, 0.005f, 0.015f, 6);
  need(cudaDeviceSynchronize(), "fill");
}

}  // namespace bench
