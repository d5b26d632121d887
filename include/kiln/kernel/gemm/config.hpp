#pragma once
/// Configuration of a GEMM: data about tile, stages, cluster and schedule, put together by the user or chosen from a
/// table.
#include <kiln/version.hpp>

#include <type_traits>

namespace kiln {

/// The tile of D that one block (or cluster member) computes at a time, and the slice of K of one stage, in elements.
/// All three are needed; the defaults are for a sentence that says so.
template <int M, int N = 0, int K = 0>
struct tile {
  static constexpr int m = M, n = N, k = K;
};
/// Slots of the ring between loads and products.
template <int S>
struct stages {
  static constexpr int value = S;
};
/// The part of the tile that one warp computes (`simt` and `sm80` programs).
template <int M, int N>
struct warp_tile {
  static constexpr int m = M, n = N;
};
/// M x N blocks with neighbouring tiles (`warp_specialized`): by multicast, those along M share the loads of B, those
/// along N the loads of A.
template <int M, int N = 1>
struct cluster {
  static constexpr int m = M, n = N;
};

/// 8-bit floats: add the unit's sums to float32 registers every 128 elements of K (the default), or leave them in the
/// unit, which keeps about 13 fraction bits (Hopper).
struct promoted {};
struct fast_accumulation {};

/// `warp_specialized`: two warpgroups on one tile (the default), or a tile each, so that one multiplies while the other
/// runs its epilogue.
struct cooperative {};
struct ping_pong {};

/// Schedules: who does what when.
struct serial {};            ///< one slot: load, barrier, product, barrier
struct multistage {};        ///< a ring filled by cp.async, one block-wide role
struct warp_specialized {};  ///< a TMA loader and wgmma consumers as separate roles, persistent tiles; sm_90a

/// Instruction sets, as options of a configuration.
namespace instructions {
struct simt {};  ///< scalar multiply-add; every type and layout
struct sm80 {};  ///< mma.sync, ldmatrix, cp.async
struct sm90 {};  ///< wgmma, TMA
}  // namespace instructions

/// Let the library choose among its compiled configurations; `automatic_with<fast_accumulation>`, among those that sum
/// 8-bit floats so.
template <class Accumulation>
struct automatic_with {
  using accumulation = Accumulation;
};
using automatic = automatic_with<promoted>;

namespace detail {
template <class T>
inline constexpr bool is_tile = false;
template <int M, int N, int K>
inline constexpr bool is_tile<tile<M, N, K>> = true;
template <class T>
inline constexpr bool is_stages = false;
template <int S>
inline constexpr bool is_stages<stages<S>> = true;
template <class T>
inline constexpr bool is_warp_tile = false;
template <int M, int N>
inline constexpr bool is_warp_tile<warp_tile<M, N>> = true;
template <class T>
inline constexpr bool is_cluster = false;
template <int M, int N>
inline constexpr bool is_cluster<cluster<M, N>> = true;
template <class T>
inline constexpr bool is_accumulation = std::is_same_v<T, promoted> || std::is_same_v<T, fast_accumulation>;
template <class T>
inline constexpr bool is_sharing = std::is_same_v<T, cooperative> || std::is_same_v<T, ping_pong>;
template <class T>
inline constexpr bool is_schedule =
    std::is_same_v<T, serial> || std::is_same_v<T, multistage> || std::is_same_v<T, warp_specialized>;
template <class T>
inline constexpr bool is_instructions = std::is_same_v<T, instructions::simt> ||
                                        std::is_same_v<T, instructions::sm80> || std::is_same_v<T, instructions::sm90>;

/// The first option that `Is` accepts, or the default.
template <template <class> class Is, class Default, class... Options>
struct pick_option {
  using type = Default;
};
template <class T>
struct tile_test : std::bool_constant<is_tile<T>> {};
template <class T>
struct stages_test : std::bool_constant<is_stages<T>> {};
template <class T>
struct warp_tile_test : std::bool_constant<is_warp_tile<T>> {};
template <class T>
struct cluster_test : std::bool_constant<is_cluster<T>> {};
template <class T>
struct accumulation_test : std::bool_constant<is_accumulation<T>> {};
template <class T>
struct sharing_test : std::bool_constant<is_sharing<T>> {};
template <class T>
struct schedule_test : std::bool_constant<is_schedule<T>> {};
template <class T>
struct instructions_test : std::bool_constant<is_instructions<T>> {};
template <template <class> class Is, class Default, class First, class... Rest>
struct pick_option<Is, Default, First, Rest...> {
  using type = std::conditional_t<Is<First>::value, First, typename pick_option<Is, Default, Rest...>::type>;
};
}  // namespace detail

/// `config<tile<128, 256, 64>, stages<4>, cluster<2>, warp_specialized>`: options in any order, the rest by default.
template <class... Options>
struct config {
  static constexpr bool known =
      ((detail::is_tile<Options> || detail::is_stages<Options> || detail::is_warp_tile<Options> ||
        detail::is_cluster<Options> || detail::is_accumulation<Options> || detail::is_sharing<Options> ||
        detail::is_schedule<Options> || detail::is_instructions<Options>)&&...);
  using schedule = typename detail::pick_option<detail::schedule_test, multistage, Options...>::type;
  static constexpr bool hopper = std::is_same_v<schedule, warp_specialized>;
  using instruction_set = typename detail::pick_option<
      detail::instructions_test, std::conditional_t<hopper, instructions::sm90, instructions::sm80>, Options...>::type;
  using block_tile = typename detail::pick_option<
      detail::tile_test, std::conditional_t<hopper, tile<128, 256, 64>, tile<128, 128, 64>>, Options...>::type;
  using warp = typename detail::pick_option<detail::warp_tile_test, warp_tile<64, 32>, Options...>::type;
  static constexpr int slot_count =
      std::is_same_v<schedule, serial>
          ? 1
          : detail::pick_option<detail::stages_test, stages<hopper ? 4 : 3>, Options...>::type::value;
  static constexpr bool promoted =
      std::is_same_v<typename detail::pick_option<detail::accumulation_test, kiln::promoted, Options...>::type,
                     kiln::promoted>;
  static constexpr bool ping_pong =
      std::is_same_v<typename detail::pick_option<detail::sharing_test, cooperative, Options...>::type,
                     kiln::ping_pong>;
  using block_cluster = typename detail::pick_option<detail::cluster_test, cluster<1>, Options...>::type;
  // What must hold of the options; the call says what does not (sound.hpp).
  static constexpr bool matched = hopper == std::is_same_v<instruction_set, instructions::sm90>;
  static constexpr bool deep = slot_count >= 1 && (slot_count >= 2 || std::is_same_v<schedule, serial>);
  static constexpr bool divided = hopper || (warp::m > 0 && warp::n > 0 && block_tile::m > 0 && block_tile::n > 0 &&
                                             block_tile::m % warp::m == 0 && block_tile::n % warp::n == 0);
};

template <class T>
inline constexpr bool is_automatic_v = false;
template <>
inline constexpr bool is_automatic_v<automatic_with<promoted>> = true;
template <>
inline constexpr bool is_automatic_v<automatic_with<fast_accumulation>> = true;

template <class T>
inline constexpr bool is_config_v = false;
template <class... O>
inline constexpr bool is_config_v<config<O...>> = true;

}  // namespace kiln
