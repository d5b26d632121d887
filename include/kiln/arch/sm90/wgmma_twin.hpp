#pragma once
/// The host twin of wgmma. It sees the descriptors, bytes of shared memory by address and the registers of each thread.
#include <cstdint>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/sm90/descriptor.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/layout/wgmma.hpp>
#include <type_traits>

namespace kiln::sm90 {

/// Sums in the accumulator's type, in ascending order of k, each addition rounded. (The unit itself aligns the products
/// of one instruction and cuts off low bits; tests of both derive their bounds from the coarser of the two.)
template <class A, class B, int N, bool TransA, bool TransB>
struct wgmma_twin {
  using acc = std::conditional_t<std::is_integral_v<A>, std::int32_t, float>;
  static constexpr int k_extent = 32 / static_cast<int>(sizeof(A));
  static constexpr int registers = N / 2;

  static void perform(const twin::product_op& op, void* where, twin::sm_cluster& sm) {
    static thread_local acc a[64][k_extent], b[k_extent][N], d[64][N];
    if (op.a_registers != nullptr) {
      const auto& r = *static_cast<const std::uint32_t(*)[128][4]>(op.a_registers);
      for (int t = 0; t < 128; ++t) {
        for (int i = 0; i < 4; ++i) {
          A pair[4 / sizeof(A)];
          __builtin_memcpy(pair, &r[t][i], 4);
          for (int e = 0; e < static_cast<int>(4 / sizeof(A)); ++e) {
            const auto [row, k] = wgmma_a<8 * static_cast<int>(sizeof(A))>(t, i, e);
            a[row][k] = widen(pair[e]);
          }
        }
      }
    } else {
      gather<A, TransA>({op.a}, 64, sm, [](int m, int k, acc x) { a[m][k] = x; });
    }
    gather<B, TransB>({op.b}, N, sm, [](int n, int k, acc x) { b[k][n] = x; });

    auto& r = *static_cast<acc(*)[128][registers]>(where);
    for (int t = 0; t < 128; ++t) {
      for (int i = 0; i < registers; ++i) {
        const auto [row, col] = wgmma_d(t, i);
        d[row][col] = op.accumulate ? r[t][i] : acc{0};
      }
    }
    for (int m = 0; m < 64; ++m) {
      for (int k = 0; k < k_extent; ++k) {
        const acc x = a[m][k];
        for (int n = 0; n < N; ++n) d[m][n] = add(d[m][n], x * b[k][n]);
      }
    }
    for (int t = 0; t < 128; ++t) {
      for (int i = 0; i < registers; ++i) {
        const auto [row, col] = wgmma_d(t, i);
        r[t][i] = d[row][col];
      }
    }
  }

 private:
  template <class T>
  static acc widen(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return convert<float>(x);
    }
  }
  /// int32 wraps modulo 2^32, as the unit without .satfinite does.
  static acc add(acc x, acc y) {
    if constexpr (std::is_integral_v<acc>) {
      return static_cast<acc>(static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(y));
    } else {
      return x + y;
    }
  }

  /// Hands every element of an operand of `extent` rows (of A) or columns (of B) to `put(mn, k, value)`.
  template <class T, bool Trans, class Put>
  static void gather(matrix_descriptor from, int extent, twin::sm_cluster& sm, Put put) {
    constexpr int in_chunk = 16 / static_cast<int>(sizeof(T));
    T values[in_chunk];
    if constexpr (Trans) {
      for (int k = 0; k < k_extent; ++k) {
        for (int c = 0; c < extent / in_chunk; ++c) {
          __builtin_memcpy(values, sm.product_read(mn_major_address(from, c, k)), 16);
          for (int e = 0; e < in_chunk; ++e) put(c * in_chunk + e, k, widen(values[e]));
        }
      }
    } else {
      for (int mn = 0; mn < extent; ++mn) {
        for (int c = 0; c < 2; ++c) {
          __builtin_memcpy(values, sm.product_read(k_major_address(from, mn, c)), 16);
          for (int e = 0; e < in_chunk; ++e) put(mn, c * in_chunk + e, widen(values[e]));
        }
      }
    }
  }
};

}  // namespace kiln::sm90
