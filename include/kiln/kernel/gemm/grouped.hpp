#pragma once
/// Several products of the same types in one launch of the block-wide program: a list of problems in memory, and the
/// tiles of all of them, one problem after another.
#include <cstring>

#include <kiln/kernel/gemm/ring_gemm.hpp>
#include <kiln/schedule/tile_list.hpp>

namespace kiln {

template <class Arguments>
struct listed_problem {
  Arguments arguments;
  tile_order tiles;
};

/// Where a kernel finds its problems: in memory of its own executor.
template <class Arguments>
struct problem_list {
  const listed_problem<Arguments>* problems;
  tile_list tiles;
  std::uint32_t count;  ///< of tiles
};

namespace detail {

template <class Ring, class Block, class Arguments>
KILN_FN void run_listed_tile(Block block, const problem_list<Arguments>& list, std::uint32_t number,
                             typename Ring::shared& memory) {
  const std::uint32_t which = list.tiles.grid_of(number);
  const auto& problem = list.problems[which];
  Ring::schedule::run(block, problem.arguments, memory, problem.tiles.at(number - list.tiles.first[which]));
}

}  // namespace detail

#if defined(__CUDACC__)
inline namespace KILN_ABI {

template <class Ring, class Arguments>
__global__ void __launch_bounds__(Ring::program::threads, Ring::least_resident)
    grouped_gemm_kernel(const __grid_constant__ problem_list<Arguments> list) {
  extern __shared__ __align__(16) unsigned char kiln_shared_memory[];
  const block_scope<on_device, Ring::program::threads> block;
  sm90::begin_in_turn();
  auto& memory = Ring::memory_in(kiln_shared_memory);
  for (std::uint32_t t = blockIdx.x; t < list.count; t += gridDim.x) {
    detail::run_listed_tile<Ring>(block, list, t, memory);
    if (t + gridDim.x < list.count) sync(block);
  }
}

template <class Ring, class Arguments>
status launch_grouped_gemm(const device& ex, const problem_list<Arguments>& list) {
  return launch(ex, "gemm_grouped", grouped_gemm_kernel<Ring, Arguments>,
                {.grid = {min_of<index_t>(list.count, max_grid_x), 1, 1},
                 .block = Ring::program::threads,
                 .shared_bytes = Ring::shared_bytes,
                 .overlaps_previous = true},
                list);
}

}  // inline namespace KILN_ABI

namespace detail {
inline namespace KILN_ABI {

/// As much as a kernel's parameters hold beside an address and a count.
struct upload_piece {
  static constexpr int size = 1000;
  unsigned int words[size];
};

template <class Piece>
__global__ void __launch_bounds__(256) upload_kernel(const __grid_constant__ Piece from, unsigned int* to, int words) {
  sm90::begin_in_turn();
  for (int i = static_cast<int>(threadIdx.x); i < words; i += 256) to[i] = from.words[i];
}

/// Writes host memory, a multiple of 4 bytes, to device memory, in order on the stream. It travels as parameters of
/// kernels: the host's copy is not needed after the call, and a captured graph has its own.
inline status upload(const device& ex, void* to, const void* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(upload_piece)) {
    upload_piece piece;
    const std::size_t part = min_of(sizeof(upload_piece), bytes - at);
    std::memcpy(piece.words, static_cast<const unsigned char*>(from) + at, part);
    KILN_TRY(launch(ex, "gemm_grouped: upload the list", upload_kernel<upload_piece>,
                    {.block = 256, .overlaps_previous = true}, piece,
                    reinterpret_cast<unsigned int*>(static_cast<unsigned char*>(to) + at), static_cast<int>(part / 4)));
  }
  return {};
}

}  // inline namespace KILN_ABI
}  // namespace detail
#endif

}  // namespace kiln
