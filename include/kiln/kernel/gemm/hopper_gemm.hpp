#pragma once
/// Runs the Hopper GEMM: the kernel and its launch, and the same roles over the host's clusters.
#include <kiln/arch/host/roles.hpp>
#include <kiln/core/abi.hpp>
#include <kiln/kernel/gemm/hopper_program.hpp>
#include <kiln/kernel/launch.hpp>
#include <kiln/schedule/warp_specialized.hpp>

namespace kiln {

template <class Arguments, class Config>
struct hopper_gemm {
  using where =
      std::conditional_t<std::is_same_v<typename decltype(Arguments::a)::space, host_space>, on_host, on_device>;
  using program = hopper_program<Arguments, Config, where>;
  using schedule = warp_specialized_schedule<program, Config::slot_count>;
  using parameters = typename program::parameters;
  using shared = typename schedule::shared;
  static constexpr bool is_hopper = true;
  static constexpr int sinks = Arguments::sink_count;
  static constexpr int slot_count = Config::slot_count;
  static constexpr const char *schedule_name = Config::ping_pong ? "warp_specialized, ping-pong," : "warp_specialized",
                              *instructions_name = "sm90";
  static constexpr int cluster_m = program::cluster_m, cluster_n = program::cluster_n, cluster = program::cluster,
                       resident = 1, threads = schedule::threads, most_together = 1 << program::join_levels;
  static constexpr int tile_m = program::tile_m * cluster_m, tile_n = program::tile_n * cluster_n;  ///< of a worker
  static constexpr int tile_k = program::tile_k;
  static constexpr int alignment = 1024;
  static constexpr index_t shared_bytes = static_cast<index_t>(sizeof(shared)) + alignment;
  static constexpr index_t row_parts_of_tile = program::finisher::row_parts_of_tile * cluster_n;
  static constexpr index_t column_parts_of_tile =
      program::finisher::column_parts_of_group * program::sharers * cluster_m;
  static_assert(shared_bytes <= 232448,
                "config: the slots of this tile and its stages need more than the 227 KB of shared memory of a block");

  /// Scratch memory of split tiles: a counter for each group of a streamed tile, and two places for sums for each of
  /// the workers that have parts.
  static constexpr std::size_t counter_bytes(const work_order& w) {
    return round_up<std::size_t>(
        static_cast<std::size_t>(w.streamed) * cluster * program::sharers * sizeof(std::uint32_t), 256);
  }
  static constexpr std::size_t split_bytes(const work_order& w) {
    if (w.streamed == 0 || w.together > 1) return 0;
    return counter_bytes(w) + static_cast<std::size_t>(w.cutters) * 2 * cluster * program::tile_m * program::wide_n *
                                  sizeof(typename Arguments::accumulator);
  }
  static void place_split(parameters& p, const work_order& w, void* scratch) {
    p.split.arrived = static_cast<std::uint32_t*>(scratch);
    p.split.sums = static_cast<unsigned char*>(scratch) + counter_bytes(w);
  }

  static status run_on_host(const host_executor& ex, const parameters& p, const work_order& work) {
    const auto together = static_cast<int>(work.together);
    const bool meets = cluster * together > 1;
    const twin::cluster_shape shape{cluster * together, threads, sizeof(shared)};
    for (std::uint32_t first = 0; first < work.workers; first += work.together) {
      const auto worker_of = [&](twin::block b) {
        return first + (together > 1 ? static_cast<std::uint32_t>(b.cta) : 0);
      };
      const auto memory = [](twin::block b) -> shared& { return b.template as<shared>(); };
      const auto setup = [&](twin::block b) { schedule::setup(scope<on_host, 1>{0}, memory(b)); };
      const auto consumer = [&](const char* name, int at) {
        return twin::role(name, at, 128, [&, at](twin::block b) {
          const warpgroup_scope<on_host> group{at};
          schedule::consume(group, p, work, worker_of(b), memory(b));
          if (meets) sm90::cluster_meet(group);
        });
      };
      const auto loader = [&](twin::block b) {
        schedule::load(scope<on_host, 32>{0}, p, work, worker_of(b), memory(b));
        if (meets) sm90::cluster_meet(warpgroup_scope<on_host>{0});
      };
      KILN_TRY(twin::run_roles(ex, shape, setup, twin::role("loader", 0, 128, loader), consumer("consumer 0", 128),
                               consumer("consumer 1", 256)));
    }
    return {};
  }
};

#if defined(__CUDACC__)
inline namespace KILN_ABI {

/// Code for other architectures than sm_90a has an empty body and another bound, by which the host knows it.
template <class Hopper>
inline constexpr int hopper_bound = KILN_SM90A ? Hopper::threads : 32;

template <class Hopper>
__global__ void __launch_bounds__(hopper_bound<Hopper>, 1)
    hopper_gemm_kernel([[maybe_unused]] const __grid_constant__ typename Hopper::parameters p,
                       [[maybe_unused]] const work_order work) {
#if KILN_SM90A
  using schedule = typename Hopper::schedule;
  extern __shared__ __align__(16) unsigned char kiln_shared_memory[];
  const std::uint32_t base = sm90::shared_address(kiln_shared_memory);
  auto& memory = *reinterpret_cast<typename Hopper::shared*>(kiln_shared_memory +
                                                             (round_up<std::uint32_t>(base, Hopper::alignment) - base));
  const scope<on_device, Hopper::threads> block;
  sm90::one_thread(block, [&](auto thread) {
    schedule::setup(thread, memory);
    sm90::tma_prefetch(thread, p.a);
    sm90::tma_prefetch(thread, p.b[0]);
    for (int i = 0; i < Hopper::sinks; ++i)
      if (p.stores.usable >> i & 1u) sm90::tma_prefetch(thread, p.stores.of_sink[i]);
  });
  sm90::fence_barrier_init(block);
  const bool meets = Hopper::cluster > 1 || (Hopper::most_together > 1 && work.together > 1);
  if (meets) sm90::cluster_meet(block);
  else sync(block);
  // The next kernel may set up while this one runs; the roles touch memory only when those before are done.
  sm90::launch_dependents();
  const warpgroup_scope<on_device> group;
  const int warp = sm90::uniform_warp(block);
  if (warp < 4) {
    sm90::give_registers<schedule::loader_registers>(group);
    if (warp == 0) schedule::load(scope<on_device, 32>{}, p, work, blockIdx.x / Hopper::cluster, memory);
  } else {
    sm90::take_registers<schedule::consumer_registers>(group);
    schedule::consume(group, p, work, blockIdx.x / Hopper::cluster, memory);
  }
  // Nobody writes to a block that has ended. Blocks that join a tile have waited for all that comes to them, but
  // compute-sanitizer knows only of this.
  if (meets) sm90::cluster_meet(group);
#endif
}

/// Whether this program holds a Hopper kernel's code for sm_90a, and the current GPU runs it. If so, the kernel may
/// have its shared memory from now on.
inline bool ask_for_sm90a_code(const void* kernel, int threads, index_t shared_bytes) {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor, 0) != 9) return false;
  cudaFuncAttributes a{};
  if (quiet_call([&] { return cudaFuncGetAttributes(&a, kernel); }) != cudaSuccess || a.maxThreadsPerBlock < threads)
    return false;
  return quiet_call([&] { return grant_shared_memory(kernel, shared_bytes); }) == cudaSuccess;
}

/// The device's answer is asked for once a kernel and device.
template <class Hopper>
bool has_hopper_code() {
  static constinit detail::answers known;
  return known.of_current_device([] {
    return ask_for_sm90a_code(reinterpret_cast<const void*>(hopper_gemm_kernel<Hopper>), Hopper::threads,
                               Hopper::shared_bytes);
  });
}

template <class Hopper>
status launch_hopper_gemm(const device& ex, const typename Hopper::parameters& p, const work_order& work) {
  const bool counts = work.streamed > 0 && work.together == 1;
  if (counts) {
    const cudaError_t e =
        quiet_call([&] { return cudaMemsetAsync(p.split.arrived, 0, Hopper::counter_bytes(work), ex.stream); });
    if (e != cudaSuccess) return cuda_status(e, "gemm: clearing the counters of split tiles");
  }
  // With counters to clear, what comes before it in the stream is that, and no kernel.
  return launch(ex, "gemm", hopper_gemm_kernel<Hopper>,
                {.grid = {static_cast<index_t>(work.workers) * Hopper::cluster, 1, 1},
                 .block = Hopper::threads,
                 .shared_bytes = Hopper::shared_bytes,
                 .cluster = Hopper::cluster * static_cast<int>(work.together),
                 .overlaps_previous = !counts,
                 .granted = true},
                p, work);
}

}  // inline namespace KILN_ABI
#endif

}  // namespace kiln
