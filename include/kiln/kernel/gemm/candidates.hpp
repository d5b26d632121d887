#pragma once
/// The kernels that a plan chooses among.
#include <kiln/core/abi.hpp>
#include <kiln/kernel/gemm/hopper_gemm.hpp>
#include <kiln/kernel/gemm/kernel_facts.hpp>
#include <kiln/kernel/gemm/ring_gemm.hpp>
#include <kiln/kernel/gemm/table.hpp>

namespace kiln::detail {

/// The kernel of a configuration.
template <class Arguments, class Config, bool Hopper = Config::hopper>
struct kernel_of {
  using type = ring_gemm<Arguments, Config>;
};
template <class Arguments, class Config>
struct kernel_of<Arguments, Config, true> {
  using type = hopper_gemm<Arguments, Config>;
};

/// The table of a pinned configuration. Its figures only judge whether tiles are cut.
template <class Config>
using only = table<entry<Config, 1, 1700, 2500>>;

template <class... Entries>
constexpr bool any_hopper(table<Entries...>) {
  return (Entries::config::hopper || ...);
}

/// What the host knows of the kernels of a table, by number.
template <class Arguments, class List>
struct kernels;
template <class Arguments, class... Entries>
struct kernels<Arguments, table<Entries...>> {
  static constexpr kernel_facts facts[sizeof...(Entries)] = {
      facts_of<Arguments, typename kernel_of<Arguments, typename Entries::config>::type, Entries>()...};
};

/// Calls `f(kernel)` for the kernel of entry `number`.
template <class Arguments, class... Entries, class F>
void with_kernel(table<Entries...>, int number, F&& f) {
  int i = 0;
  ((i++ == number ? f(typename kernel_of<Arguments, typename Entries::config>::type{}) : void()), ...);
}

/// Lines of 128 bytes that 128 bytes of a row of an operand touch: 2 where not all rows begin on a line.
template <class T, class S, int U>
int lines_of(const tensor<T, 3, S, U>& v) {
  if constexpr (U < 1) return 1;
  else {
    const auto steps_over_lines = [&](int axis) {
      return v.extents[axis] > 1 && !bytes_divide(v.strides[axis], sizeof(T), 128);
    };
    constexpr int across = 3 - U;  // axis from row to row
    return reinterpret_cast<std::uintptr_t>(v.data) % 128 != 0 || steps_over_lines(across) || steps_over_lines(0) ? 2
                                                                                                                  : 1;
  }
}

inline namespace KILN_ABI {

/// Of the current GPU; the host counts as one.
template <bool OnHost>
int multiprocessors() {
#if defined(__CUDACC__)
  if constexpr (!OnHost) return device_attribute(cudaDevAttrMultiProcessorCount, 132);
#endif
  return 1;
}

/// Bytes of the L2, likewise; the host walks its tiles as an H100 would.
template <bool OnHost>
index_t l2_bytes() {
#if defined(__CUDACC__)
  if constexpr (!OnHost) return device_attribute(cudaDevAttrL2CacheSize, 50 << 20);
#endif
  return 50 << 20;
}

/// What decides about the order of a problem's tiles.
template <class Arguments>
band_problem band_problem_of(const kernel_facts& kernel, const Arguments& p, std::uint32_t rows, std::uint32_t cols,
                             std::uint32_t resident, index_t cache_bytes) {
  return {rows, cols, resident, kernel.tile_m, kernel.tile_n * Arguments::products,
          saturated_product(p.k, sizeof(typename Arguments::a_type)), cache_bytes};
}

}  // inline namespace KILN_ABI
}  // namespace kiln::detail
