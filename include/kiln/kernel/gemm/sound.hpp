#pragma once
/// What the types of a call can have against them, found before anything else is instantiated, so that a mistake is one
/// sentence and nothing follows it.
#include <kiln/arch/host/roles.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/kernel/gemm/hopper_program.hpp>
#include <kiln/kernel/gemm/program.hpp>
#include <kiln/kernel/gemm/table.hpp>
#include <kiln/schedule/multistage.hpp>
#include <kiln/schedule/warp_specialized.hpp>
#include <kiln/view/sound.hpp>

namespace kiln {

enum class gemm_mistake {
  none,
  reported,  ///< by whoever made the argument
  not_a_config,
  options,
  option_twice,
  tile_extents,
  option_without_use,
  instruction_set,
  one_slot,
  warp_divides,
  first_operand,
  second_operand,
  rank,
  element,
  no_sink,
  not_a_sink,
  executor_space,
  operand_spaces,
  sm80_two_types,
  sm80_type,
  warp_of_16,
  warp_of_8,
  warp_columns,
  many_warps,
  tile_k,
  uneven_loads,
  shared_memory,
  hopper_types,
  hopper_unit,
  hopper_8_bits,
  hopper_m,
  hopper_n,
  hopper_k,
  hopper_registers,
  hopper_boxes,
  no_driver,
  not_a_problem,
  grouped_hopper,
};

namespace detail {

/// One assertion for each mistake, on a plain value: the message names no long type.
template <gemm_mistake M>
struct sound_gemm {
  using enum gemm_mistake;
  static constexpr bool value = true;  // first, for clang leaves the class at a failed assertion
  static_assert(M != not_a_config, "gemm<C>(...): C is a config<...>, automatic_with<fast_accumulation>, or left out");
  static_assert(M != options,
                "config takes tile<M, N, K>, stages<S>, warp_tile<M, N>, cluster<M, N>, a schedule, an instruction "
                "set, promoted or "
                "fast_accumulation, cooperative or ping_pong");
  static_assert(M != option_twice, "config: an option of one kind is given twice");
  static_assert(M != tile_extents, "config: tile takes M, N and K, as tile<128, 128, 64>");
  static_assert(M != option_without_use,
                "config: cluster<M, N> and ping_pong go with warp_specialized, warp_tile<M, N> with serial and "
                "multistage, stages<S> not with serial");
  static_assert(M != instruction_set,
                "config: warp_specialized goes with the sm90 instructions, serial and multistage with simt or sm80");
  static_assert(M != one_slot, "config: a ring needs at least stages<2>");
  static_assert(M != warp_divides, "config: the warp tile must divide the block tile in M and N");
  static_assert(M != first_operand,
                "gemm: the first operand is a tensor view: host_view(...), device_view(...) or made from one");
  static_assert(M != second_operand, "gemm: the second operand is a tensor view or dual(view, view)");
  static_assert(M != rank, "gemm: an operand is a matrix or a batch of matrices: a view of rank 2 or 3");
  static_assert(M != element, "gemm: the elements of operands are f16, bf16, e4m3, e5m2, float, int8 or uint8");
  static_assert(M != no_sink, "gemm: no sink: add store(d, expression) behind the operands");
  static_assert(
      M != not_a_sink,
      "gemm: what follows the operands are sinks: store(view, expression), reduce_rows<op>(view, expression), ...");
  static_assert(
      M != executor_space,
      "gemm: the views lie in another memory than the executor's: host_view goes with host, device_view with device");
  static_assert(M != operand_spaces, "gemm: the operands lie in different memories");
  static_assert(M != sm80_two_types,
                "gemm: the sm80 instructions multiply operands of one type, or e4m3 and e5m2; convert one of them, or "
                "use config<instructions::simt>");
  static_assert(M != sm80_type,
                "gemm: the sm80 instructions take f16, bf16, int8, uint8, e4m3 or e5m2; float32 takes "
                "config<instructions::simt>");
  static_assert(M != warp_of_16, "config: an sm80 warp_tile is a multiple of 16 x 16");
  static_assert(M != warp_of_8, "config: a simt warp_tile is a multiple of 8 x 8");
  static_assert(M != warp_columns, "config: the columns of warp_tile are 8 times a power of two, at most 256");
  static_assert(M != many_warps, "config: the block tile holds more than 32 warp tiles");
  static_assert(M != tile_k,
                "config: K of tile is not a multiple of what the instructions take: 32 for simt, for sm80 32 bytes of "
                "the operands");
  static_assert(M != uneven_loads,
                "config: the threads of a block do not share out the loads of this tile evenly; take another number of "
                "warps, or a tile whose extents are powers of two");
  static_assert(M != shared_memory,
                "config: this tile and its stages need more than the 227 KB of shared memory of a block");
  static_assert(M != hopper_types,
                "gemm: warp_specialized multiplies f16, bf16 or int8 operands of one type, or 8-bit floats");
  static_assert(M != hopper_unit,
                "gemm: warp_specialized needs a unit stride in both operands; with_unit<axis>(view) promises one");
  static_assert(
      M != hopper_8_bits,
      "gemm: warp_specialized needs 8-bit operands with K along memory: A by rows, B by columns (transposed(w))");
  static_assert(
      M != hopper_m,
      "config: M of a warp_specialized tile is a multiple of 128, 64 for each of two warpgroups; with ping_pong of 64");
  static_assert(M != hopper_n,
                "config: N of a warp_specialized tile is a multiple of 16, at most 256, with dual at most 128");
  static_assert(M != hopper_k,
                "config: K of a warp_specialized tile is 128 bytes of the operands: 64 elements of 16 bits, 128 of 8");
  static_assert(M != hopper_registers, "config: the accumulators of this tile do not fit into the registers");
  static_assert(M != hopper_boxes,
                "config: the loads do not share out over the cluster; take cluster<1> or <2>, and where A lies by "
                "columns or B by rows, 64 of M or N a block");
  static_assert(M != no_driver,
                "gemm: to run warp_specialized on the host, #include <kiln/arch/host/driver.hpp> before the call");
  static_assert(M != not_a_problem, "gemm_grouped: the list holds what gemm_problem(a, b, sinks...) makes");
  static_assert(M != grouped_hopper,
                "gemm_grouped: warp_specialized takes one problem a launch; lists take serial or multistage");
};

template <class V>
inline constexpr bool is_dual = false;
template <class V>
inline constexpr bool is_dual<dual_operand<V>> = true;

/// Whether no assertion of an epilogue would fail, without making it fail.
template <class Sound>
inline constexpr bool holds = false;
template <mistake Mistake, bool... All>
inline constexpr bool holds<sound<Mistake, All...>> = Mistake == mistake::none && (All && ...);

template <class T>
inline constexpr bool is_gemm_element =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2> ||
    std::is_same_v<T, float> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>;

template <class B>
struct first_view {
  using type = B;
};
template <class V>
struct first_view<dual_operand<V>> {
  using type = V;
};

/// The operands and sinks. `Space` is what the program reaches.
template <class Space, class A, class B, class... Sinks>
constexpr gemm_mistake mistake_of_operands() {
  using enum gemm_mistake;
  using b = typename first_view<B>::type;
  if constexpr (!is_tensor_v<A>) return first_operand;
  else if constexpr (std::is_same_v<B, no_operand>) return reported;
  else if constexpr (!is_tensor_v<b>) return second_operand;
  else if constexpr (A::rank < 2 || A::rank > 3 || b::rank < 2 || b::rank > 3) return rank;
  else if constexpr (!is_gemm_element<typename A::value_type> || !is_gemm_element<typename b::value_type>)
    return element;
  else if constexpr (!std::is_same_v<typename A::space, typename b::space>) return operand_spaces;
  else if constexpr (!std::is_same_v<typename A::space, Space>) return executor_space;
  else if constexpr (sizeof...(Sinks) == 0) return no_sink;
  else if constexpr (!(is_sink_v<Sinks> && ...)) return not_a_sink;
  else if constexpr ((std::is_same_v<Sinks, sink> || ...)) return reported;
  else if constexpr ((std::is_const_v<typename Sinks::element> || ...)) return reported;
  else return none;
}

/// Whether threads copy the boxes of an operand evenly. Only operands whose unit axis is the tile's are copied in
/// vectors.
template <class T>
constexpr bool loads_evenly(int threads, int rows, int cols) {
  const int chunks = cols * static_cast<int>(sizeof(T)) / 16;
  return chunks > 0 && threads >= chunks && threads % chunks == 0 && rows % (threads / chunks) == 0;
}

template <class Arguments, class Config>
constexpr gemm_mistake mistake_of_ring() {
  using enum gemm_mistake;
  using a = typename Arguments::a_type;
  using b = typename Arguments::b_type;
  using tile = typename Config::block_tile;
  using warp = typename Config::warp;
  constexpr bool simt = std::is_same_v<typename Config::instruction_set, instructions::simt>;
  constexpr int threads = 32 * (tile::m / warp::m) * (tile::n / warp::n);
  if constexpr (!simt && !sm80_pair<a, b>) return std::is_same_v<a, b> ? sm80_type : sm80_two_types;
  else if constexpr (!simt && (warp::m % 16 != 0 || warp::n % 16 != 0)) return warp_of_16;
  else if constexpr (warp::m % 8 != 0 || warp::n % 8 != 0) return warp_of_8;
  else if constexpr (warp::n > 256 || (warp::n & (warp::n - 1)) != 0) return warp_columns;
  else if constexpr (threads > 1024) return many_warps;
  else if constexpr (tile::k < 1 || tile::k % (simt ? 32 : 32 / static_cast<int>(sizeof(a))) != 0) return tile_k;
  else {
    using math = typename gemm_program<Arguments, Config>::math;
    constexpr bool even_a = math::a_k_major
                                ? Arguments::a_major != major::k || loads_evenly<a>(threads, tile::m, tile::k)
                                : Arguments::a_major != major::mn || loads_evenly<a>(threads, tile::k, tile::m);
    constexpr bool even_b = math::b_k_major
                                ? Arguments::b_major != major::k || loads_evenly<b>(threads, tile::n, tile::k)
                                : Arguments::b_major != major::mn || loads_evenly<b>(threads, tile::k, tile::n);
    using shared = typename ring_schedule<gemm_program<Arguments, Config>, Config::slot_count>::shared;
    if constexpr (!even_a || !even_b) return uneven_loads;
    else if constexpr (sizeof(shared) + 1024 > 232448) return shared_memory;
    else return none;
  }
}

template <class Arguments, class Config, class Where>
constexpr gemm_mistake mistake_of_hopper() {
  using enum gemm_mistake;
  using a = typename Arguments::a_type;
  using b = typename Arguments::b_type;
  using tile = typename Config::block_tile;
  constexpr bool both_k = Arguments::a_major == major::k && Arguments::b_major == major::k,
                 fp8 = is_fp8_v<a> && is_fp8_v<b>;
  constexpr int bytes = static_cast<int>(sizeof(a)), wide_n = tile::n * Arguments::products, panel = 128 / bytes;
  constexpr int sharers = Config::ping_pong ? 1 : 2;  // warpgroups that share a tile
  constexpr int m64 = tile::m / (64 * sharers);  // tiles of 64 rows, and sets of partial sums of 8-bit floats
  constexpr int sums = !(fp8 && Config::promoted) ? m64 : 3 * m64 * wide_n / 2 <= 192 ? 3 * m64 : m64 + 1;
  using blocks = typename Config::block_cluster;
  constexpr int cm = blocks::m, cn = blocks::n, products = Arguments::products;
  constexpr int a_boxes = Arguments::a_major == major::k ? cn : tile::m / panel;
  constexpr int b_boxes = Arguments::b_major != major::k ? tile::n / panel : cm > products ? cm / products : 1;
  if constexpr (!hopper_pair<a, b>) return hopper_types;
  else if constexpr (Arguments::a_major == major::none || Arguments::b_major == major::none) return hopper_unit;
  else if constexpr (bytes == 1 && !both_k) return hopper_8_bits;
  else if constexpr (tile::m % (64 * sharers) != 0 || tile::m < 64 * sharers) return hopper_m;
  else if constexpr (tile::n % 16 != 0 || wide_n > 256 || wide_n < 16) return hopper_n;
  else if constexpr (tile::k * bytes != 128) return hopper_k;
  else if constexpr (sums * wide_n / 2 > 192) return hopper_registers;
  else if constexpr (cm < 1 || cn < 1 || cm * cn > 8 || (Arguments::b_major == major::mn && tile::n % panel != 0))
    return hopper_boxes;
  else if constexpr (a_boxes % cn != 0 || products * b_boxes % cm != 0 || tile::m % (8 * a_boxes) != 0 ||
                     tile::n % (8 * b_boxes) != 0)
    return hopper_boxes;
  else if constexpr (Arguments::a_major == major::k && tile::m / a_boxes > 256)
    return hopper_boxes;  // TMA's boxes have at most 256 rows
  else {
    using schedule = warp_specialized_schedule<hopper_program<Arguments, Config, Where>, Config::slot_count>;
    if constexpr (sizeof(typename schedule::shared) + 1024 > 232448) return shared_memory;
    else if constexpr (std::is_same_v<Where, on_host> && !twin::host_driver_included<Arguments>) return no_driver;
    else return none;
  }
}

/// Options that would be read past: of a kind that is given already, or that the schedule has no use for.
template <class... Options>
constexpr gemm_mistake mistake_of_options(config<Options...> c) {
  constexpr int tiles = (is_tile<Options> + ... + 0), stages = (is_stages<Options> + ... + 0);
  constexpr int warps = (is_warp_tile<Options> + ... + 0), clusters = (is_cluster<Options> + ... + 0);
  constexpr int sums = (is_accumulation<Options> + ... + 0), sharing = (is_sharing<Options> + ... + 0);
  constexpr int schedules = (is_schedule<Options> + ... + 0), sets = (is_instructions<Options> + ... + 0);
  if (tiles > 1 || stages > 1 || warps > 1 || clusters > 1 || sums > 1 || sharing > 1 || schedules > 1 || sets > 1)
    return gemm_mistake::option_twice;
  using tile = typename decltype(c)::block_tile;
  if (tile::m < 1 || tile::n < 1 || tile::k < 1) return gemm_mistake::tile_extents;
  using blocks = typename decltype(c)::block_cluster;
  const bool one_slot = std::is_same_v<typename decltype(c)::schedule, serial>;
  if (c.hopper ? warps > 0 : c.ping_pong || blocks::m * blocks::n > 1 || (one_slot && stages > 0))
    return gemm_mistake::option_without_use;
  return gemm_mistake::none;
}

template <class Config, class Arguments>
constexpr gemm_mistake mistake_of_config() {
  using where =
      std::conditional_t<std::is_same_v<typename decltype(Arguments::a)::space, host_space>, on_host, on_device>;
  if constexpr (is_automatic_v<Config>) return gemm_mistake::none;
  else if constexpr (!is_config_v<Config>) return gemm_mistake::not_a_config;
  else if constexpr (!Config::known) return gemm_mistake::options;
  else if constexpr (mistake_of_options(Config{}) != gemm_mistake::none) return mistake_of_options(Config{});
  else if constexpr (!Config::matched) return gemm_mistake::instruction_set;
  else if constexpr (!Config::deep) return gemm_mistake::one_slot;
  else if constexpr (!Config::divided) return gemm_mistake::warp_divides;
  else if constexpr (Config::hopper) return mistake_of_hopper<Arguments, Config, where>();
  else return mistake_of_ring<Arguments, Config>();
}

}  // namespace detail
}  // namespace kiln
