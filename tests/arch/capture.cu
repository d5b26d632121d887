/// Prints what this GPU's warp matrix instructions do with operands in which every element can be told from every
/// other. Its output, tests/data/captures/warp_matrix.txt, is what the maps of layout/mma.hpp are tested against.
/// Nothing of the library is used here, so a mistake in a map cannot hide itself.
///
///   nvcc -std=c++20 -arch=sm_90 -o capture tests/arch/capture.cu && ./capture > tests/data/captures/warp_matrix.txt
///
/// What can be seen of mma is which elements of A and B meet in which accumulator; rows and columns are names that the
/// PTX ISA gives to them. One element of A is 1, B holds its elements' numbers, D then shows the numbers of those it
/// met.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

enum class type { f16, bf16, s8 };
constexpr int elements_of_a[] = {256, 256, 512};

// A non-negative integer up to 256 as the bits of T.
template <type T>
__device__ std::uint32_t bits_of(int number) {
  if (T == type::s8) return static_cast<std::uint32_t>(number) & 0xffu;
  const std::uint32_t single = __float_as_uint(static_cast<float>(number));
  if (T == type::bf16) return single >> 16;
  if (number == 0) return 0;
  return ((single >> 23) - 127 + 15) << 10 | (single >> 13 & 0x3ffu);
}

// d[hot][lane][reg]: the product for A one-hot at element `hot` = (lane * 4 + reg) * E + e and B element
// (lane * 2 + reg) * E + e = scale(its number).
template <type T, class Scale>
__global__ void mma(int* d, Scale scale) {
  constexpr int per_register = T == type::s8 ? 4 : 2, width = 32 / per_register;
  const int lane = static_cast<int>(threadIdx.x), hot = static_cast<int>(blockIdx.x);
  std::uint32_t a[4] = {}, b[2] = {};
  for (int i = 0; i < 4; ++i)
    for (int e = 0; e < per_register; ++e)
      if ((lane * 4 + i) * per_register + e == hot) a[i] |= bits_of<T>(1) << e * width;
  for (int i = 0; i < 2; ++i)
    for (int e = 0; e < per_register; ++e) b[i] |= bits_of<T>(scale((lane * 2 + i) * per_register + e)) << e * width;
  int result[4];
  if constexpr (T == type::s8) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=r"(result[0]), "=r"(result[1]), "=r"(result[2]), "=r"(result[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0));
  } else {
    float f[4];
    if constexpr (T == type::f16)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
          : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.f));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%10,%10,%10,%10};"
          : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.f));
    for (int i = 0; i < 4; ++i) result[i] = static_cast<int>(f[i]);
  }
  for (int i = 0; i < 4; ++i) d[(hot * 32 + lane) * 4 + i] = result[i];
}

// Numbers from 1, so that 0 is "did not meet". In two digits, since int8 cannot hold them whole.
struct low_digit {
  __device__ int operator()(int number) const { return (number + 1) % 16; }
};
struct high_digit {
  __device__ int operator()(int number) const { return (number + 1) / 16; }
};

template <int Count, bool Trans>
__global__ void matrices(std::uint16_t* loaded, std::uint16_t* stored) {
  __shared__ alignas(16) std::uint16_t line[32][8];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = 0; i < 8; ++i) line[lane][i] = static_cast<std::uint16_t>(lane * 8 + i);
  __syncwarp();
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(line[lane]));
  std::uint32_t r[4] = {};
#define LOAD(number, trans, list, ...) \
  asm volatile("ldmatrix.sync.aligned.m8n8." number trans ".shared.b16 " list:__VA_ARGS__ : "r"(at) : "memory")
  if constexpr (Count == 1 && !Trans) LOAD("x1", "", "{%0}, [%1];", "=r"(r[0]));
  if constexpr (Count == 1 && Trans) LOAD("x1", ".trans", "{%0}, [%1];", "=r"(r[0]));
  if constexpr (Count == 2 && !Trans) LOAD("x2", "", "{%0, %1}, [%2];", "=r"(r[0]), "=r"(r[1]));
  if constexpr (Count == 2 && Trans) LOAD("x2", ".trans", "{%0, %1}, [%2];", "=r"(r[0]), "=r"(r[1]));
  if constexpr (Count == 4 && !Trans)
    LOAD("x4", "", "{%0, %1, %2, %3}, [%4];", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
  if constexpr (Count == 4 && Trans)
    LOAD("x4", ".trans", "{%0, %1, %2, %3}, [%4];", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
  for (int i = 0; i < Count; ++i) {
    loaded[(lane * 4 + i) * 2] = static_cast<std::uint16_t>(r[i]);
    loaded[(lane * 4 + i) * 2 + 1] = static_cast<std::uint16_t>(r[i] >> 16);
  }
  __syncwarp();
  for (int i = 0; i < 8; ++i) line[lane][i] = 0xffff;
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    const auto number = static_cast<std::uint32_t>((lane * 4 + i) * 2);
    r[i] = number | (number + 1) << 16;
  }
#if __CUDA_ARCH__ >= 900
#define STORE(number, trans, list, ...) \
  asm volatile("stmatrix.sync.aligned.m8n8." number trans ".shared.b16 [%0], " list ::"r"(at), __VA_ARGS__ : "memory")
  if constexpr (Count == 1 && !Trans) STORE("x1", "", "{%1};", "r"(r[0]));
  if constexpr (Count == 1 && Trans) STORE("x1", ".trans", "{%1};", "r"(r[0]));
  if constexpr (Count == 2 && !Trans) STORE("x2", "", "{%1, %2};", "r"(r[0]), "r"(r[1]));
  if constexpr (Count == 2 && Trans) STORE("x2", ".trans", "{%1, %2};", "r"(r[0]), "r"(r[1]));
  if constexpr (Count == 4 && !Trans) STORE("x4", "", "{%1, %2, %3, %4};", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
  if constexpr (Count == 4 && Trans)
    STORE("x4", ".trans", "{%1, %2, %3, %4};", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
#endif
  __syncwarp();
  for (int i = 0; i < 8; ++i) stored[lane * 8 + i] = line[lane][i];
}

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "capture: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

template <class T>
struct device_array {
  explicit device_array(std::size_t n) : size(n) {
    check(cudaMalloc(&data, n * sizeof(T)), "cudaMalloc");
    check(cudaMemset(data, 0, n * sizeof(T)), "cudaMemset");
  }
  ~device_array() { (void)cudaFree(data); }
  std::vector<T> values() const {
    std::vector<T> r(size);
    check(cudaMemcpy(r.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost), "kernel or copy");
    return r;
  }
  T* data = nullptr;
  std::size_t size;
};

template <type T>
void print_mma(const char* name) {
  constexpr int hots = elements_of_a[static_cast<int>(T)];
  device_array<int> low(hots * 128), high(hots * 128);
  mma<T><<<hots, 32>>>(low.data, low_digit{});
  mma<T><<<hots, 32>>>(high.data, high_digit{});
  check(cudaGetLastError(), name);
  const auto l = low.values(), h = high.values();
  std::printf("# mma.%s: element of A, then pairs of accumulator and element of B\n", name);
  for (int hot = 0; hot < hots; ++hot) {
    std::printf("mma.%s %d", name, hot);
    for (int c = 0; c < 128; ++c) {
      const auto at = static_cast<std::size_t>(hot * 128 + c);
      const int met = l[at] + 16 * h[at];
      if (met != 0) std::printf("  %d %d", c, met - 1);
    }
    std::printf("\n");
  }
}

template <int Count, bool Trans>
void print_matrices(bool stores) {
  device_array<std::uint16_t> loaded(256), stored(256);
  matrices<Count, Trans><<<1, 32>>>(loaded.data, stored.data);
  check(cudaGetLastError(), "ldmatrix");
  const auto l = loaded.values(), s = stored.values();
  const char* trans = Trans ? ".trans" : "";
  std::printf("# ldmatrix.x%d%s: lane, then the element in each half of each register\n", Count, trans);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::printf("ldmatrix.x%d%s %d", Count, trans, static_cast<int>(lane));
    for (std::size_t i = 0; i < 2 * Count; ++i) std::printf(" %d", l[lane * 8 + i]);
    std::printf("\n");
  }
  if (!stores) return;
  std::printf("# stmatrix.x%d%s: line, then the half register at each of its places\n", Count, trans);
  for (std::size_t line = 0; line < 8 * Count; ++line) {
    std::printf("stmatrix.x%d%s %d", Count, trans, static_cast<int>(line));
    for (std::size_t i = 0; i < 8; ++i) std::printf(" %d", s[line * 8 + i]);
    std::printf("\n");
  }
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "device");
  std::printf("# Printed by tests/arch/capture.cu on %s (%d.%d), CUDA %d.%d\n", device.name, device.major, device.minor,
              CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  std::printf(
      "# Numbers: element of A (lane * 4 + register) * E + e, of B (lane * 2 + register) * E + e with E elements in a\n"
      "# register, low bits first; accumulator lane * 4 + register; element in memory line * 8 + column, line i being "
      "at\n"
      "# the address of lane i; half register (lane * 4 + register) * 2 + half.\n");
  print_mma<type::f16>("f16");
  print_mma<type::bf16>("bf16");
  print_mma<type::s8>("s8");
  const bool stores = device.major >= 9;
  print_matrices<1, false>(stores);
  print_matrices<1, true>(stores);
  print_matrices<2, false>(stores);
  print_matrices<2, true>(stores);
  print_matrices<4, false>(stores);
  print_matrices<4, true>(stores);
}
