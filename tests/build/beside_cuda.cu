// Beside the headers of a CUDA program, with both namespaces open and with operators of the user's own on CUDA's types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kiln {}
using namespace std;
using namespace kiln;

namespace user {
struct wrapped {
  __half value;
};
__host__ __device__ inline wrapped operator+(wrapped a, wrapped b) {
  return {__half(__half2float(a.value) + __half2float(b.value))};
}
}  // namespace user

#include "every_header_backwards.hpp"

#include <cub/block/block_reduce.cuh>
#include <cuda/std/mdspan>

__global__ void users_kernel(user::wrapped* p, half* q, __nv_bfloat16* r) {
  using reduce = cub::BlockReduce<float, 32>;
  __shared__ typename reduce::TempStorage storage;
  float sum = reduce(storage).Sum(__half2float(q[threadIdx.x]));
  if (threadIdx.x == 0) {
    *p = *p + user::wrapped{__float2half(sum)};
    q[0] = q[0] + q[1];
    r[0] = r[0] * r[1];
  }
}
