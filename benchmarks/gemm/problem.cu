#include <benchmarks/gemm/problem.hpp>
#include <kiln/core/numeric.hpp>

namespace bench {

namespace {

constexpr std::size_t bytes_beyond_l2 = 192u << 20;  // more than three times the 60 MB of an H200
constexpr int most_sets = 64;

std::int64_t padded(std::int64_t elements, element e, std::int64_t alignment) {
  const auto size = static_cast<std::int64_t>(size_of(e));
  return (elements * size + alignment - 1) / alignment * alignment / size;
}
std::size_t step_of(std::int64_t rows, std::int64_t pitch, element e) {
  return (static_cast<std::size_t>(rows * pitch) * size_of(e) + 255) / 256 * 256;
}

template <class T>
__global__ void fill_kernel(T* p, std::size_t count, float low, float high, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
    std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;  // splitmix64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    if constexpr (std::is_same_v<T, std::int8_t>)
      p[i] = static_cast<std::int8_t>(static_cast<int>((z >> 32) % 255) - 127);
    else
      p[i] = kiln::convert<T>(low + (high - low) * (static_cast<float>(z >> 40) * 0x1p-24f));
  }
}

template <class T>
void fill_as(const memory& m, float low, float high, std::uint64_t seed) {
  fill_kernel<<<2048, 256>>>(static_cast<T*>(m.at()), m.bytes() / sizeof(T), low, high, seed);
  need(cudaGetLastError(), "fill");
}

}  // namespace

void fill(const memory& m, element e, float low, float high, std::uint64_t seed) {
  if (m.bytes() == 0) return;
  switch (e) {
    case element::bf16:
      return fill_as<kiln::bf16>(m, low, high, seed);
    case element::f16:
      return fill_as<kiln::f16>(m, low, high, seed);
    case element::e4m3:
      return fill_as<kiln::e4m3>(m, low, high, seed);
    case element::int8:
      return fill_as<std::int8_t>(m, low, high, seed);
    case element::f32:
      return fill_as<float>(m, low, high, seed);
    case element::int32:
      throw failure("fill: no case reads int32");
  }
}

problem::problem(const shape& s) : shape(s) {
  lda = padded(k, in, alignment), ldb = lda, ldd = padded(n, out, alignment);
  a_step = step_of(m, lda, in), b_step = step_of(n * products, ldb, in), d_step = step_of(m, ldd, out);
  const std::size_t read = a_step + b_step + (residual ? d_step : 0);
  const std::size_t wanted = (bytes_beyond_l2 + read - 1) / read;
  sets = static_cast<int>(wanted < 2 ? 2 : wanted > most_sets ? most_sets : wanted);
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
