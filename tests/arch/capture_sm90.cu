/// Prints where wgmma puts rows and columns of its product and what it takes from the registers of A. Its output,
/// tests/data/captures/wgmma.txt, is what the maps of layout/wgmma.hpp are tested against. Nothing of the library is
/// used here, so a mistake in a map cannot hide itself.
///
///   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a -o capture tests/arch/capture_sm90.cu && ./capture
///
/// Operands in shared memory lie in the plain (unswizzled) K-major layout of 8 x 16-byte pieces.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int columns = 32, registers = columns / 2;

/// Element (row, k) of an operand of 16-bit elements, 16 along K: pieces of 8 rows x 8 elements, 128 bytes to the next
/// along K, 256 bytes to the next 8 rows.
__device__ int place(int row, int k) { return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; }

__device__ std::uint64_t descriptor(const void* p) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(p));
  return (address & 0x3ffff) >> 4 | std::uint64_t{128 >> 4} << 16 | std::uint64_t{256 >> 4} << 32;
}

#define KILN_D                                                                                                \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])

__global__ void __launch_bounds__(128) product(float* out, int hot) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ alignas(1024) __nv_bfloat16 a[64 * 16], b[columns * 16];
  const int t = static_cast<int>(threadIdx.x);
  // hot < 0: the product shows rows (-1) or columns (-2). Otherwise element `hot` of A's registers is one, and column k
  // of B holds k + 1 in every k: column 0 of the product shows it where the row is.
  for (int i = t; i < 64 * 16; i += 128)
    a[place(i / 16, i % 16)] = __float2bfloat16(i % 16 == 0 ? (hot == -1 ? i / 16 + 1.f : 1.f) : 0.f);
  for (int i = t; i < columns * 16; i += 128) {
    const float by_column = hot == -2 ? i / 16 + 1.f : 1.f, by_k = i % 16 + 1.f;
    b[place(i / 16, i % 16)] = __float2bfloat16(hot >= 0 ? by_k : i % 16 == 0 ? by_column : 0.f);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[registers] = {};
  const std::uint64_t from_a = descriptor(a), from_b = descriptor(b);
  if (hot < 0) {
    asm volatile("wgmma.fence.sync.aligned;" : KILN_D : : "memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
        "%16, %17, "
        "1, 1, 1, 0, 0;"
        : KILN_D
        : "l"(from_a), "l"(from_b));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : KILN_D : : "memory");
  } else {
    std::uint32_t r[4] = {};
    for (int i = 0; i < 8; ++i) {
      if (t * 8 + i == hot) r[i / 2] = 0x3f80u << i % 2 * 16;
    }
    asm volatile("wgmma.fence.sync.aligned;" : KILN_D, "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : : "memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
        "{%16,%17,%18,%19}, %20, 1, 1, 1, 0;"
        : KILN_D
        : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(from_b));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : KILN_D : : "memory");
  }
  for (int i = 0; i < registers; ++i) out[t * registers + i] = d[i];
#endif
}

std::vector<float> run(int hot) {
  static float* out = [] {
    float* p = nullptr;
    if (cudaMalloc(&p, 128 * registers * sizeof(float)) != cudaSuccess) std::exit(1);
    return p;
  }();
  product<<<1, 128>>>(out, hot);
  std::vector<float> d(128 * registers);
  if (cudaMemcpy(d.data(), out, d.size() * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) {
    std::fprintf(stderr, "no Hopper GPU, or no sm_90a code: %s\n", cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
  }
  return d;
}

}  // namespace

int main() {
  const std::vector<float> row = run(-1), col = run(-2);
  std::printf("# wgmma.d: thread, then (row, column) of registers 0 to %d of D, m64n32k16\n", registers - 1);
  for (int t = 0; t < 128; ++t) {
    std::printf("wgmma.d %d", t);
    for (int i = 0; i < registers; ++i) {
      const auto k = static_cast<std::size_t>(t * registers + i);
      std::printf(" %d %d", static_cast<int>(row[k]) - 1, static_cast<int>(col[k]) - 1);
    }
    std::printf("\n");
  }
  std::printf("# wgmma.a: thread, then (row, k) of elements 0 to 7 of A in registers, m64n32k16\n");
  for (int t = 0; t < 128; ++t) {
    std::printf("wgmma.a %d", t);
    for (int i = 0; i < 8; ++i) {
      const std::vector<float> d = run(t * 8 + i);
      int at_row = -1, at_k = -1;
      for (std::size_t k = 0; k < d.size(); ++k) {
        if (d[k] != 0) at_row = static_cast<int>(row[k]) - 1, at_k = static_cast<int>(d[k]) - 1;
      }
      std::printf(" %d %d", at_row, at_k);
    }
    std::printf("\n");
  }
  return 0;
}
