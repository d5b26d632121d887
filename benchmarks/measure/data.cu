#include <benchmarks/measure/data.hpp>
#include <kiln/core/numeric.hpp>

namespace bench {

namespace {

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

template <class T>
__global__ void poison_kernel(const T* p, std::int64_t count, unsigned long long* found) {
  unsigned long long mine = 0;
  for (std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll)
    mine += p[i] == static_cast<T>(~T{0}) ? 1 : 0;
  if (mine > 0) atomicAdd(found, mine);
}

__global__ void empty_kernel() {}

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
      throw failure("fill: no case reads random int32");
  }
}

std::uint64_t count_poison(const void* data, element e, std::int64_t count) {
  const memory found(sizeof(unsigned long long));
  need(cudaMemset(found.at(), 0, found.bytes()), "cudaMemset");
  auto* const to = static_cast<unsigned long long*>(found.at());
  if (size_of(e) == 1)
    poison_kernel<<<1024, 256>>>(static_cast<const std::uint8_t*>(data), count, to);
  else if (size_of(e) == 2)
    poison_kernel<<<1024, 256>>>(static_cast<const std::uint16_t*>(data), count, to);
  else
    poison_kernel<<<1024, 256>>>(static_cast<const std::uint32_t*>(data), count, to);
  need(cudaGetLastError(), "the search for poison");
  unsigned long long result = 0;
  need(cudaMemcpy(&result, found.at(), sizeof result, cudaMemcpyDeviceToHost), "the search for poison");
  return result;
}

void launch_nothing(cudaStream_t s) {
  empty_kernel<<<1, 32, 0, s>>>();
  need(cudaGetLastError(), "empty kernel");
}

}  // namespace bench
