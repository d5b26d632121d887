// A tile program by hand: the weights of attention, softmax(Q K^T / 8) of one 64 x 64 tile, with the tensor cores'
// instructions.
//
// The same function is a kernel on the GPU and a loop over threads on the CPU, where shared memory is watched: if the
// barrier is left out, the GPU may or may not give a wrong result, and the host says which thread read what of whom.
#include <cmath>
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/arch/sm80.hpp>
#include <kiln/epilogue/activations.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/load.hpp>

#include "buffers.hpp"

using namespace kiln;

constexpr int size = 64, threads = 128;  // each of four warps has 16 rows

struct shared {
  shared_tile<bf16, size, size> q, k;  // swizzled, so that ldmatrix has no bank conflicts
};

struct sum_of {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};
struct larger_of {
  KILN_FN float operator()(float x, float y) const { return activation::larger(x, y); }
};

// A scope is the threads that act together; the executor is part of its type. `each` is the hardware on the device and
// a loop on the host; fragments are the registers of all its threads. Nothing is a barrier but `sync`.
template <bool WithBarrier, class Block, class In, class Out>
KILN_FN void weights_of_tile(Block block, shared& memory, const In& q, const In& k, const Out& out, bool vectors) {
  load_tile(block, memory.q, q, 0, 0, vectors);
  load_tile(block, memory.k, k, 0, 0, vectors);
  sm80::cp_async_commit(block);
  sm80::cp_async_wait<0>(block);  // this thread's own copies have landed; those of others are seen after a barrier
  if constexpr (WithBarrier) sync(block);

  block.template split<32>([&](auto warp) {
    using Warp = decltype(warp);
    const int row = 16 * warp.number();
    fragments<float, 32, Warp> x;  // 16 x 64 of the tile: eight blocks of 16 x 8, four registers a lane
    warp.each([&](int lane) {
      KILN_UNROLL
      for (float& r : x.of(lane)) r = 0;
    });
    KILN_UNROLL
    for (int depth = 0; depth < size; depth += 16) {
      fragments<std::uint32_t, 4, Warp> a, b;
      const auto a_row = [&](int lane) {
        return memory.q.address(row + ldmatrix_a<16>(lane).row, depth + ldmatrix_a<16>(lane).col);
      };
      sm80::ldmatrix<4>(warp, a_row, [&](int lane) { return a.of(lane); });
      KILN_UNROLL
      for (int col = 0; col < size; col += 16) {
        const auto b_row = [&](int lane) {
          return memory.k.address(col + ldmatrix_b<16>(lane).row, depth + ldmatrix_b<16>(lane).col);
        };
        sm80::ldmatrix<4>(warp, b_row, [&](int lane) { return b.of(lane); });
        KILN_UNROLL
        for (int half = 0; half < 2; ++half)
          sm80::mma<bf16>(
              warp, [&](int lane) { return a.of(lane); }, [&](int lane) { return b.of(lane) + 2 * half; },
              [&](int lane) { return x.of(lane) + (col / 8 + half) * 4; });
      }
    }

    // A lane has parts of two rows, registers 0, 1 and 2, 3 of each block; four neighbouring lanes share them.
    fragments<float, 2, Warp> most, sum;
    warp.each([&](int lane) {
      most.of(lane)[0] = most.of(lane)[1] = limits<float>::lowest();
      KILN_UNROLL
      for (int i = 0; i < 32; ++i)
        most.of(lane)[i / 2 % 2] = activation::larger(most.of(lane)[i / 2 % 2], x.of(lane)[i]);
    });
    group_reduce<4>(warp, most, larger_of{});
    warp.each([&](int lane) {
      sum.of(lane)[0] = sum.of(lane)[1] = 0;
      KILN_UNROLL
      for (int i = 0; i < 32; ++i) {
        float& e = x.of(lane)[i];
        e = activation::exp2((e - most.of(lane)[i / 2 % 2]) * (activation::log2_e / 8));
        sum.of(lane)[i / 2 % 2] += e;
      }
    });
    group_reduce<4>(warp, sum, sum_of{});
    warp.each([&](int lane) {
      KILN_UNROLL
      for (int i = 0; i < 32; ++i) {
        const tile_coord c = mma_c(lane, i % 4);
        out(row + c.row, i / 4 * 8 + c.col) = x.of(lane)[i] / sum.of(lane)[i / 2 % 2];
      }
    });
  });
}

#if defined(__CUDACC__)
template <class In, class Out>
__global__ void __launch_bounds__(threads) weights_kernel(In q, In k, Out out, bool vectors) {
  __shared__ shared memory;
  weights_of_tile<true>(block_scope<on_device, threads>{}, memory, q, k, out, vectors);
}
#endif

template <bool WithBarrier, class Executor, class In, class Out>
status weights([[maybe_unused]] const Executor& ex, const In& q, const In& k, const Out& out) {
  const bool vectors = has_vector_rows(q) && has_vector_rows(k);
  if constexpr (Executor::on_host) {
    twin::checked_block watched(sizeof(shared), threads);
    weights_of_tile<WithBarrier>(block_scope<on_host, threads>{}, *reinterpret_cast<shared*>(watched.shared()), q, k,
                                 out, vectors);
    return watched.result();
  } else {
#if defined(__CUDACC__)
    weights_kernel<<<1, threads, 0, ex.stream>>>(q, k, out, vectors);
    const cudaError_t e = cudaGetLastError();
    return e == cudaSuccess ? status{} : fail(errc::cuda_error, "weights: ", cudaGetErrorName(e));
#endif
  }
}

template <class Executor>
bool run(const Executor& ex, const char* where) {
  example::array<Executor, bf16> q(size * size), k(size * size);
  example::array<Executor, float> p(size * size);
  q.fill([](int i) { return example::small_integer(i, 1); });
  k.fill([](int i) { return example::small_integer(i, 2); });
  const auto q_view = view_on<Executor>(q.data(), size, size), k_view = view_on<Executor>(k.data(), size, size);
  const auto p_view = view_on<Executor>(p.data(), size, size);
  example::require(weights<true>(ex, q_view, k_view, p_view));
  example::wait(ex);

  for (int i = 0; i < size; ++i) {
    double x[size], most = -1e30, sum = 0;
    for (int j = 0; j < size; ++j) {
      x[j] = 0;
      for (int l = 0; l < size; ++l) x[j] += double{q[i * size + l]} * double{k[j * size + l]};
      most = std::fmax(most, x[j]);
    }
    for (double& s : x) sum += s = std::exp((s - most) / 8);
    for (int j = 0; j < size; ++j) {
      const double expected = x[j] / sum, got = double{p[i * size + j]};
      // Scores are exact; the argument of 2^x, at most 100 here, is off by 2 roundings, 2^x by 2^-22.5, the sum by 20
      // roundings.
      const double relative = 100 * 0.7 * 2 * 0x1p-24 * 2 + 2 * 0x1.7p-23 + 22 * 0x1p-24;
      if (std::fabs(got - expected) > expected * relative + 1e-36)
        return std::printf("(%d, %d) is %g, not %g\n", i, j, got, expected), false;
    }
  }
  std::printf("%s: p(0, 0) = %g, p(63, 63) = %g\n", where, double{p[0]}, double{p[size * size - 1]});

  if constexpr (Executor::on_host) {
    const status faulty = weights<false>(ex, q_view, k_view, p_view);
    std::printf("%s, without the barrier: `%s`\n", where, faulty.message().c_str());
    return faulty.code() == errc::protocol;
  }
  return true;
}

int main() {
  return example::on_each_executor([](const auto& ex, const char* where) { return run(ex, where); });
}
