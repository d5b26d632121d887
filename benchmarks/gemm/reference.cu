#include <benchmarks/gemm/reference.hpp>
#include <cfloat>
#include <cmath>
#include <kiln/core/numeric.hpp>
#include <type_traits>

namespace bench {

namespace {

using std::int64_t;

template <class T>
__device__ auto value_of(T x) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<int>(x);
  else
    return kiln::convert<float>(x);
}

/// acc[m, n] = A[m, k] * B[n, k]^T; a block makes 64 x 64, a thread 4 x 4.
template <class T, class Acc>
__global__ void __launch_bounds__(256)
    accumulate(const T* a, int64_t lda, const T* b, int64_t ldb, Acc* acc, int64_t m, int64_t n, int64_t k) {
  constexpr int slice = 16;
  __shared__ Acc as[slice][65], bs[slice][65];
  const int64_t row0 = blockIdx.y * 64ll, col0 = blockIdx.x * 64ll;
  const int tr = static_cast<int>(threadIdx.x) / 16, tc = static_cast<int>(threadIdx.x) % 16;
  Acc sum[4][4] = {};
  for (int64_t k0 = 0; k0 < k; k0 += slice) {
    for (int i = static_cast<int>(threadIdx.x); i < 64 * slice; i += 256) {
      const int r = i / slice, c = i % slice;
      as[c][r] = row0 + r < m && k0 + c < k ? static_cast<Acc>(value_of(a[(row0 + r) * lda + k0 + c])) : Acc{};
      bs[c][r] = col0 + r < n && k0 + c < k ? static_cast<Acc>(value_of(b[(col0 + r) * ldb + k0 + c])) : Acc{};
    }
    __syncthreads();
    for (int c = 0; c < slice; ++c) {
      Acc x[4], y[4];
      for (int i = 0; i < 4; ++i) x[i] = as[c][tr + 16 * i], y[i] = bs[c][tc + 16 * i];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (row0 + tr + 16 * i < m && col0 + tc + 16 * j < n)
        acc[(row0 + tr + 16 * i) * n + col0 + tc + 16 * j] = sum[i][j];
}

struct expectation {
  double value, slope;  // slope: how far the value moves for an error of one in the accumulators
};

struct operands {
  const float *bias, *row_scale, *column_scale;
  const kiln::bf16* residual;
  int64_t ldr;
};

template <class Acc>
__device__ expectation expect(epilogue e, const Acc* acc, int64_t width, int64_t row, int64_t col, int64_t columns,
                              const operands& o) {
  const double x = static_cast<double>(acc[row * width + col]);
  switch (e) {
    case epilogue::none:
      return {x, 1};
    case epilogue::scaled: {
      const double s = static_cast<double>(o.row_scale[row]) * static_cast<double>(o.column_scale[col]);
      return {x * s, s};
    }
    case epilogue::bias_gelu_tanh_residual:
    case epilogue::bias_gelu_residual: {
      const double y = x + static_cast<double>(o.bias[col]);
      const double phi = e == epilogue::bias_gelu_residual
                             ? 0.5 * erfc(-y * 0.70710678118654752)
                             : 0.5 + 0.5 * tanh(0.79788456080286536 * (y + 0.044715 * y * y * y));
      return {y * phi + static_cast<double>(kiln::convert<float>(o.residual[row * o.ldr + col])), 1.13};
    }
    case epilogue::swiglu: {
      const double up = static_cast<double>(acc[row * width + columns + col]), silu = x / (1 + exp(-x));
      return {silu * up, 1.1 * fabs(up) + fabs(silu)};
    }
  }
  return {};
}

template <class Acc, class D>
__global__ void compare(epilogue e, const Acc* acc, int64_t width, const D* d, int64_t rows, int64_t columns,
                        int64_t pitch, operands o, double rounding, double accumulated, unsigned* worst) {
  float most = 0;
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < rows * columns; i += gridDim.x * 256ll) {
    const int64_t row = i / columns, col = i % columns;
    const expectation want = expect(e, acc, width, row, col, columns, o);
    double got;
    if constexpr (std::is_same_v<D, std::int32_t>)
      got = static_cast<double>(d[row * pitch + col]);
    else
      got = static_cast<double>(kiln::convert<float>(d[row * pitch + col]));
    const double bound = rounding * fabs(want.value) + accumulated * want.slope + 1e-30;
    const float over = static_cast<float>(fabs(got - want.value) / bound);
    if (!(over <= most)) most = over == over ? over : INFINITY;
  }
  atomicMax(worst, __float_as_uint(most));  // non-negative floats order as their bits do
}

__global__ void scale_kernel(const int4* acc, const float* row_scale, const float4* column_scale, int4* d,
                             int64_t vectors, int64_t vectors_of_row) {
  union {
    int4 whole;
    kiln::bf16 part[8];
  } out;
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < vectors; i += gridDim.x * 256ll) {
    const int64_t row = i / vectors_of_row, v = i % vectors_of_row;
    const float r = row_scale[row];
    const int4 x[2] = {acc[2 * i], acc[2 * i + 1]};
    const float4 c[2] = {column_scale[2 * v], column_scale[2 * v + 1]};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      out.part[4 * h] = kiln::convert<kiln::bf16>(static_cast<float>(x[h].x) * r * c[h].x);
      out.part[4 * h + 1] = kiln::convert<kiln::bf16>(static_cast<float>(x[h].y) * r * c[h].y);
      out.part[4 * h + 2] = kiln::convert<kiln::bf16>(static_cast<float>(x[h].z) * r * c[h].z);
      out.part[4 * h + 3] = kiln::convert<kiln::bf16>(static_cast<float>(x[h].w) * r * c[h].w);
    }
    d[i] = out.whole;
  }
}

template <class T, class Acc>
void accumulate_as(const problem& p, void* acc) {
  const int64_t n = p.n * p.products;
  const dim3 grid(static_cast<unsigned>((n + 63) / 64), static_cast<unsigned>((p.m + 63) / 64));
  accumulate<<<grid, 256>>>(static_cast<const T*>(p.a_at(0)), p.lda, static_cast<const T*>(p.b_at(0)), p.ldb,
                            static_cast<Acc*>(acc), p.m, n, p.k);
  need(cudaGetLastError(), "reference");
}

/// Sums of random signs stay below 5 standard deviations, sqrt(k / 3 / 3); every addition in the unit may cut off the
/// last bit it keeps of that. The unit adds 16 products of 16 bits at a time, or 32 of 8 bits.
double accumulated_error(const problem& p, accumulation how) {
  const double k = static_cast<double>(p.k), amplitude = p.in == element::int8 ? 0 : static_cast<double>(p.b_amplitude);
  const double whole = 5 * std::sqrt(k) / 3 * amplitude, part = 5 * std::sqrt(k < 128 ? k : 128) / 3 * amplitude;
  const double in_float32 = k / 16 * 0x1p-22 * whole;
  if (how == accumulation::promoted) return in_float32 + k / 32 * 0x1p-13 * part;
  if (how == accumulation::in_unit) return in_float32 + k / 32 * 0x1p-13 * whole;
  return in_float32;
}

}  // namespace

reference::reference(const problem& p)
    : problem_(p), accumulators_(static_cast<std::size_t>(p.m * p.n * p.products) * 4) {
  switch (p.in) {
    case element::bf16:
      accumulate_as<kiln::bf16, float>(p, accumulators_.at());
      break;
    case element::f16:
      accumulate_as<kiln::f16, float>(p, accumulators_.at());
      break;
    case element::e4m3:
      accumulate_as<kiln::e4m3, float>(p, accumulators_.at());
      break;
    case element::int8:
      accumulate_as<std::int8_t, int>(p, accumulators_.at());
      break;
    default:
      throw failure("reference: no such operands");
  }
  need(cudaDeviceSynchronize(), "reference");
}

double reference::worst(epilogue e, accumulation how, const void* d, element type, std::int64_t columns,
                        std::int64_t pitch) const {
  const problem& p = problem_;
  const memory result(4);
  need(cudaMemset(result.at(), 0, 4), "cudaMemset");
  const operands o{static_cast<const float*>(p.bias.at()), static_cast<const float*>(p.row_scale.at()),
                   static_cast<const float*>(p.column_scale.at()), static_cast<const kiln::bf16*>(p.residual_data.at()),
                   p.ldd};
  // Half a unit in the last place, and float32's own steps of the epilogue.
  const double rounding = type == element::bf16 ? 0x1p-8 : type == element::f16 ? 0x1p-11 : 0;
  const auto check = [&](auto* acc, auto* out) {
    compare<<<1024, 256>>>(
        e, acc, p.n * p.products, out, p.m, columns, pitch, o, rounding + (e == epilogue::none ? 0 : 0x1p-16),
        accumulated_error(p, how) + (rounding == 0x1p-11 ? 0x1p-25 : 0), static_cast<unsigned*>(result.at()));
  };
  const auto with_type = [&](auto* acc) {
    if (type == element::bf16)
      check(acc, static_cast<const kiln::bf16*>(d));
    else if (type == element::f16)
      check(acc, static_cast<const kiln::f16*>(d));
    else
      check(acc, static_cast<const std::int32_t*>(d));
  };
  if (p.in == element::int8)
    with_type(static_cast<const int*>(accumulators_.at()));
  else
    with_type(static_cast<const float*>(accumulators_.at()));
  need(cudaGetLastError(), "comparison");
  float worst = 0;
  need(cudaMemcpy(&worst, result.at(), 4, cudaMemcpyDeviceToHost), "comparison");
  return static_cast<double>(worst);
}

void scale_int32(cudaStream_t s, const void* acc, const problem& p, void* d) {
  const int64_t vectors = p.m * p.n / 8;
  const auto blocks = static_cast<unsigned>((vectors + 255) / 256);
  scale_kernel<<<blocks, 256, 0, s>>>(static_cast<const int4*>(acc), static_cast<const float*>(p.row_scale.at()),
                                      static_cast<const float4*>(p.column_scale.at()), static_cast<int4*>(d), vectors,
                                      p.n / 8);
}

}  // namespace bench
