// needs: cuda
// A plain CUDA kernel, threadIdx and __shared__, that takes what it likes of Kiln: swizzled tiles, instructions, an
// epilogue.
//
// D[i, :] = epilogue(A[rows[i], :] * W^T): a product of gathered rows. Storage, grid and loop are the kernel's own.
#include <cmath>
#include <kiln/arch/sm80.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/tile/shared_tile.hpp>

#include "buffers.hpp"

using namespace kiln;

constexpr int tile_size = 64, threads = 128;

template <class Sink>
__global__ void __launch_bounds__(threads) gathered_product(matrix<const bf16, device_space> a, const int* rows,
                                                            matrix<const bf16, device_space> w, int m, Sink sink) {
  __shared__ shared_tile<bf16, tile_size, tile_size> a_tile, w_tile;
  const block_scope<on_device, threads> block;  // says where we are; the loops below are ordinary ones
  const warp_scope<on_device> warp;
  const int lane = threadIdx.x % 32, first_row = blockIdx.y * tile_size, first_col = blockIdx.x * tile_size;
  const int n = static_cast<int>(w.extent(0)), depth = static_cast<int>(a.extent(1));

  float c[8][4] = {};
  for (int k = 0; k < depth; k += tile_size) {
    for (int piece = threadIdx.x; piece < tile_size * 8; piece += threads) {  // of 16 bytes
      const int r = piece / 8, col = piece % 8 * 8, left = depth - k - col;
      const int bytes = left <= 0 ? 0 : left < 8 ? 2 * left : 16;  // what is outside becomes zero and is not read
      const bool in_a = bytes > 0 && first_row + r < m;
      const bool in_w = bytes > 0 && first_col + r < n;
      sm80::cp_async<16>(block, threadIdx.x, a_tile.address(r, col), in_a ? &a(rows[first_row + r], k + col) : a.data,
                         in_a ? bytes : 0);
      sm80::cp_async<16>(block, threadIdx.x, w_tile.address(r, col), in_w ? &w(first_col + r, k + col) : w.data,
                         in_w ? bytes : 0);
    }
    sm80::cp_async_commit(block);
    sm80::cp_async_wait<0>(block);
    __syncthreads();
    for (int step = 0; step < tile_size; step += 16) {
      std::uint32_t x[4], y[4];
      const tile_coord at = ldmatrix_a<16>(lane), bt = ldmatrix_b<16>(lane);
      sm80::ldmatrix<4>(
          warp, [&](int) { return a_tile.address(threadIdx.x / 32 * 16 + at.row, step + at.col); },
          [&](int) { return x; });
      KILN_UNROLL
      for (int j = 0; j < 8; j += 2) {
        sm80::ldmatrix<4>(
            warp, [&](int) { return w_tile.address(8 * j + bt.row, step + bt.col); }, [&](int) { return y; });
        sm80::mma<bf16>(
            warp, [&](int) { return x; }, [&](int) { return y; }, [&](int) { return c[j]; });
        sm80::mma<bf16>(
            warp, [&](int) { return x; }, [&](int) { return y + 2; }, [&](int) { return c[j + 1]; });
      }
    }
    __syncthreads();
  }

  // An epilogue is evaluated wherever one has neighbouring accumulators of a row: here two of them, as mma leaves them.
  KILN_UNROLL
  for (int j = 0; j < 8; ++j) {
    KILN_UNROLL
    for (int h = 0; h < 2; ++h) {
      const tile_coord at = mma_c(lane, 2 * h);
      const int row = first_row + static_cast<int>(threadIdx.x) / 32 * 16 + at.row, col = first_col + 8 * j + at.col;
      if (row < m && col < n)
        sink.put(accumulators<float, 1, 2>{{{c[j][2 * h], c[j][2 * h + 1]}}}, place{0, row, col, n - col < 2 ? 1 : 2});
    }
  }
}

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return std::puts("there is no GPU: skipped"), 77;

  constexpr int m = 150, n = 90, k = 136, source_rows = 40;
  example::array<device, bf16> a(source_rows * k), w(n * k), d(m * n);
  example::array<device, float> bias(n);
  example::array<device, int> rows(m);
  a.fill([](int i) { return example::small_integer(i, 1); });
  w.fill([](int i) { return example::small_integer(i, 2); });
  bias.fill([](int i) { return example::small_integer(i, 3); });
  rows.fill([](int i) { return i * 17 % source_rows; });

  const auto sink = store(device_view(d.data(), m, n), relu(acc + per_column(device_view(bias.data(), n))));
  require_sinks<float, 1, device_space, decltype(sink)>();  // types: one sentence if they are wrong
  example::require(check_sinks(1, m, n, sink));             // shapes, nulls, overlap
  gathered_product<<<dim3(ceil_div(n, tile_size), ceil_div(m, tile_size)), threads>>>(
      device_view(static_cast<const bf16*>(a.data()), source_rows, k), rows.data(),
      device_view(static_cast<const bf16*>(w.data()), n, k), m, sink);
  example::wait(device());  // reports what the launch says

  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = bias[j];
      for (int l = 0; l < k; ++l) sum += float{a[rows[i] * k + l]} * float{w[j * k + l]};
      const bf16 expected = convert<bf16>(std::fmax(sum, 0.0f));
      if (float{d[i * n + j]} != float{expected})
        return std::printf("d(%d, %d) is %g, not %g\n", i, j, double{d[i * n + j]}, double{expected}), 1;
    }
  }
  std::printf("device: d(0, 0) = %g, d(149, 89) = %g\nright\n", double{d[0]}, double{d[m * n - 1]});
  return 0;
}
