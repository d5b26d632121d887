#pragma once
/// The configurations that a default call compiles, by element type and executor, each with its reason. Rates and
/// overheads are measured on an H200 (docs/results), at about 1.7 GHz under load.
#include <kiln/core/abi.hpp>
#include <kiln/core/architectures.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/choose.hpp>
#include <kiln/kernel/gemm/config.hpp>
#include <kiln/kernel/gemm/sm80_math.hpp>

namespace kiln::detail {
// In the namespace of the architectures, on which the lists depend.
inline namespace KILN_ABI {

/// Rate: multiply-adds per cycle of 16-bit operands (8-bit ones go twice as fast). Overhead: cycles.
template <class Config, int Resident, int Rate, int Overhead>
struct entry {
  using config = Config;
  static constexpr int resident = Resident, rate = Rate, overhead = Overhead;
};
template <class... Entries>
struct table {
  static constexpr int size = sizeof...(Entries);
};
template <class... A, class... B>
constexpr table<A..., B...> operator+(table<A...>, table<B...>) {
  return {};
}

/// Elements of K whose bytes fill the 128 of a swizzled row.
template <class Arguments>
inline constexpr int row_of_k = 128 / static_cast<int>(min_of(sizeof(typename Arguments::a_type),
                                                              sizeof(typename Arguments::b_type)));

template <class Arguments>
inline constexpr bool sm80_multiplies = sm80_pair<typename Arguments::a_type, typename Arguments::b_type>;

/// Types and majors that Hopper's instructions take.
template <class Arguments>
inline constexpr bool hopper_multiplies = [] {
  constexpr bool majors = Arguments::a_major != major::none && Arguments::b_major != major::none;
  constexpr bool both_k = Arguments::a_major == major::k && Arguments::b_major == major::k;
  return hopper_pair<typename Arguments::a_type, typename Arguments::b_type> && majors &&
         (sizeof(typename Arguments::a_type) == 2 || both_k);
}();

/// Whether this build makes code for compute capability 9.0 at all. Whether it is code for 9.0a, the kernel tells at
/// run time.
inline constexpr bool builds_for_hopper = architectures(900, 901) > 0;

/// Whether it makes code for nothing else, so that other kernels serve only what Hopper's cannot.
inline constexpr bool builds_only_for_hopper = builds_for_hopper && architectures(900, 901) == architectures();

/// Pairs of blocks along N share the loads of A. Along M they are as fast, but M has few tiles, and with an odd count
/// half of the last pair would be idle: 1031 rows of 27392 x 4096 took 12 % longer. Tiles that fill waves, and narrow
/// ones for few rows, do without: there a block that waits for no other is faster. Rates and overheads are fitted to
/// the times of whole problems, so they hold what the model leaves out: a card at its power limit, waves that drift.
template <class Arguments, class Accumulation>
constexpr auto hopper_configurations() {
  constexpr int k = row_of_k<Arguments>;
  // 128 x 144 sums of one group leave registers for one store.
  constexpr bool one_store = Arguments::sink_count == 1 && !Arguments::any_reduction;
  using sharing = std::conditional_t<one_store, ping_pong, cooperative>;
  if constexpr (!builds_for_hopper || !hopper_multiplies<Arguments>) {
    return table<>{};
  } else if constexpr (is_fp8_v<typename Arguments::a_type> && Arguments::products == 2) {
    return table<
        entry<config<tile<128, 64, k>, stages<6>, cluster<1, 2>, warp_specialized, Accumulation>, 1, 1570, 1750>>{};
  } else if constexpr (is_fp8_v<typename Arguments::a_type>) {
    // For waves that the wide ones do not fill, and for few rows, as for operands of 16 bits below.
    using narrow = table<entry<config<tile<128, 80, k>, stages<7>, warp_specialized, Accumulation>, 1, 1200, 750>,
                         entry<config<tile<128, 64, k>, stages<8>, warp_specialized, Accumulation>, 1, 1100, 1500>>;
    // Promoted, two sets of partial sums and the sums fill the registers: 128 columns are the most that promote beside
    // products, and no group has a tile of its own.
    if constexpr (std::is_same_v<Accumulation, promoted>)
      return table<
          entry<config<tile<128, 128, k>, stages<6>, cluster<1, 2>, warp_specialized, promoted>, 1, 1570, 1750>,
          entry<config<tile<128, 144, k>, stages<5>, warp_specialized, promoted>, 1, 1550, 2500>>{} +
             narrow{};
    else
      return table<entry<config<tile<128, 128, k>, stages<6>, cluster<1, 2>, ping_pong, warp_specialized, Accumulation>,
                         1, 1530, 250>,
                   entry<config<tile<128, 144, k>, stages<5>, sharing, warp_specialized, Accumulation>, 1, 1550,
                         one_store ? 500 : 2000>>{} +
             narrow{};
  } else if constexpr (Arguments::products == 2) {
    return table<
        entry<config<tile<128, 64, k>, stages<6>, cluster<1, 2>, ping_pong, warp_specialized>, 1, 1670, 300>>{};
  } else {
    // A group multiplies while the other finishes: epilogues cost little, and waves are short. Where rows are off lines
    // of 128 bytes, and loads bound it, twice the columns need two thirds of them; in pairs along N it was no faster.
    using large =
        table<entry<config<tile<128, 128, k>, stages<6>, cluster<1, 2>, ping_pong, warp_specialized>, 1, 1670, 300>,
              entry<config<tile<128, 256, k>, stages<4>, cluster<2>, warp_specialized>, 1, 1670, 4500>>;
    // For few rows or tiles: up to 64 rows, and more.
    using narrow = table<entry<config<tile<64, 128, k>, stages<8>, ping_pong, warp_specialized>, 1, 1500, 500>,
                         entry<config<tile<128, 64, k>, stages<8>, warp_specialized>, 1, 1250, 500>>;
    // Columns that fill the waves of 132 multiprocessors where 128 do not: of 4608 x 4096, say. Two groups on one tile
    // are faster for one wave alone. A box of B that runs along N holds 64 columns.
    using odd_waves = table<entry<config<tile<128, 144, k>, stages<5>, sharing, warp_specialized>, 1, 1670,
                                  one_store ? 1500 : 5000>,
                            entry<config<tile<128, 80, k>, stages<7>, warp_specialized>, 1, 1250, 2000>>;
    if constexpr (Arguments::b_major == major::mn) return large{} + narrow{};
    else return large{} + odd_waves{} + narrow{};
  }
}

/// One warp and one slot: the host pays for every lane it loops over, and gains nothing from depth.
template <class Arguments>
using host_configuration =
    table<entry<config<tile<32, 32, row_of_k<Arguments>>, warp_tile<32, 32>, serial, instructions::simt>, 1, 1, 0>>;

/// Small tiles, so that a few rows or few tiles still reach all multiprocessors. With two products a warp holds two
/// accumulators for each column, so tiles are half as wide, here and below (Q products).
template <class Arguments, int K = row_of_k<Arguments>, int Q = Arguments::products>
using compact_ring =
    table<entry<config<tile<64, 64 / Q, K>, warp_tile<32, 32 / Q>, stages<3>, multistage, instructions::sm80>, 3,
                650, 2500>>;
/// Four warps of 64 x 64, the most products for a byte of shared memory; two blocks hide each other's waits.
/// Where 8-bit floats are widened, registers leave room for half of that.
template <class Arguments, int K = row_of_k<Arguments>, int Q = Arguments::products>
using large_ring =
    table<entry<config<tile<128, 128 / Q, K>,
                       warp_tile<64, (is_fp8_v<typename Arguments::a_type> ? 32 : 64) / Q>, stages<3>, multistage,
                       instructions::sm80>,
                2, 950, 4000>>;
template <class Arguments, int K = row_of_k<Arguments>, int Q = Arguments::products>
using scalar_rings =
    table<entry<config<tile<128, 128 / Q, K>, warp_tile<64, 32 / Q>, stages<(K == 32 ? 3 : 2)>, multistage,
                       instructions::simt>,
                1, 100, 3000>,
          entry<config<tile<32, 64, K>, warp_tile<16, 32>, stages<2>, multistage, instructions::simt>, 3, 70, 1500>>;

template <class Arguments, bool OnHost, class Accumulation>
constexpr auto configurations() {
  if constexpr (OnHost) return host_configuration<Arguments>{};
  else if constexpr (!sm80_multiplies<Arguments>)
    return hopper_configurations<Arguments, Accumulation>() + scalar_rings<Arguments>{};
  else if constexpr (builds_only_for_hopper && hopper_multiplies<Arguments>)
    return hopper_configurations<Arguments, Accumulation>() + compact_ring<Arguments>{};
  else return hopper_configurations<Arguments, Accumulation>() + large_ring<Arguments>{} + compact_ring<Arguments>{};
}

/// Of a list of problems in one launch: Hopper's kernel has its tensor maps from the host, one set a launch.
template <class Arguments, bool OnHost>
constexpr auto grouped_configurations() {
  if constexpr (OnHost) return host_configuration<Arguments>{};
  else if constexpr (!sm80_multiplies<Arguments>) return scalar_rings<Arguments>{};
  else return large_ring<Arguments>{} + compact_ring<Arguments>{};
}

}  // inline namespace KILN_ABI
}  // namespace kiln::detail
