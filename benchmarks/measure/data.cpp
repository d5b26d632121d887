#include <benchmarks/measure/data.hpp>
#include <benchmarks/measure/program.hpp>
#include <cmath>

namespace bench {

int copies_for(double bytes) {
  constexpr double beyond_l2 = 192u << 20;  // more than three times the 60 MB of an H200
  constexpr int most = 64;
  const double wanted = std::ceil(beyond_l2 / bytes);
  return wanted < 2 ? 2 : wanted > most ? most : static_cast<int>(wanted);
}

void poison(void* data, std::size_t bytes) {
  need(cudaMemset(data, 0xff, bytes), "cudaMemset");  // a NaN in every float, -1 in an integer
  need(cudaDeviceSynchronize(), "cudaMemset");
}

// Of whole pages of 4,096 bytes: others took half as long again on an H200, up to 128 MiB.
copy_of_equal_bytes::copy_of_equal_bytes(double bytes, int sets)
    : half_((static_cast<std::size_t>(bytes / 2) + 4095) / 4096 * 4096),
      from_(half_ * static_cast<std::size_t>(sets)),
      to_(half_ * static_cast<std::size_t>(sets)) {
  fill(from_, element::bf16, -1, 1, 77);
  need(cudaDeviceSynchronize(), "fill");
}

launcher copy_of_equal_bytes::launch() const {
  return [from = from_.at(), to = to_.at(), half = half_](cudaStream_t s, int set) {
    const std::size_t offset = half * static_cast<std::size_t>(set);
    need(cudaMemcpyAsync(static_cast<char*>(to) + offset, static_cast<const char*>(from) + offset, half,
                         cudaMemcpyDeviceToDevice, s),
         "cudaMemcpyAsync");
  };
}

double copy_rate() {
  static const double rate = [] {
    constexpr double bytes = 1u << 30;
    const copy_of_equal_bytes copy(bytes, 1);
    return bytes / measure({copy.launch()}, 1, global_settings().timing).microseconds[0];
  }();
  return rate;
}

}  // namespace bench
