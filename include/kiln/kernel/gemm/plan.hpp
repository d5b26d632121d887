#pragma once
/// A GEMM whose arguments are checked and whose configuration is chosen: made once, run many times.
#include <kiln/core/abi.hpp>
#include <kiln/core/shared_value.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/kernel/gemm/candidates.hpp>
#include <kiln/kernel/gemm/check.hpp>
#include <kiln/kernel/gemm/explain.hpp>
#include <kiln/kernel/gemm/reduction.hpp>

namespace kiln {

namespace detail {
struct no_hopper {};
}  // namespace detail

// In the namespace of the architectures: which kernels a plan knows, and so its layout, depends on them.
inline namespace KILN_ABI {

template <class Config, class Arguments>
class gemm_plan {
 public:
  using space = typename decltype(Arguments::a)::space;
  static constexpr bool on_host = std::is_same_v<space, host_space>;
  static constexpr bool pinned = is_config_v<Config>;

  gemm_plan(const Arguments& p, status checked) : arguments_(p), state_(std::move(checked)) {
    if (state_.ok() && !nothing_to_do()) state_ = choose();
  }

  /// Whether the plan can run. What `run` may find beyond it lies in the executor: too small a workspace, a CUDA error.
  const status& state() const { return state_; }

  /// Bytes of scratch memory that `run` makes use of: partial results of reductions, and sums of tiles that are cut
  /// along K. With less, tiles stay whole; with less than the reductions need, `run` fails.
  std::size_t workspace_size() const { return reduction_bytes_ + split_bytes_; }

  /// What the plan does and why, and how long it would take at the peak rates of the GPU.
  gemm_explanation explain() const {
    gemm_explanation e;
    if (!state_.ok()) e.reason = state_.message();
    if (state_.ok() && nothing_to_do()) e.reason = "nothing to multiply";
    if (!state_.ok() || nothing_to_do()) return e;
    with_chosen([&](auto kernel) {
      e = detail::explain<decltype(kernel)>(arguments_, whole_.tiles, choice_, pinned, split_bytes_ > 0, refused_);
      e.shifts = whole_.stay > 0;
    });
    return e;
  }

  status run(const host_executor& ex) const
    requires on_host
  {
    return run_on(ex);
  }
#if defined(__CUDACC__)
  status run(const device& ex) const
    requires(!on_host)
  {
    return run_on(ex);
  }
#endif
  template <class NoExecutor>
    requires(!executor<NoExecutor> && !std::is_pointer_v<NoExecutor>)  // a stream becomes a device
  status run(const NoExecutor&) const {
    static_assert(detail::never<NoExecutor>,
                  "plan.run takes an executor of the views' memory: host for host_view, device(stream) for "
                  "device_view");
    return {};
  }

 private:
  static constexpr auto candidates() {
    if constexpr (pinned) return detail::only<Config>{};
    else return detail::configurations<Arguments, on_host, typename Config::accumulation>();
  }
  using candidate_list = decltype(candidates());
  static constexpr bool may_be_hopper = detail::any_hopper(candidate_list{});
  using where = std::conditional_t<on_host, kiln::on_host, on_device>;
  using hopper_part = std::conditional_t<may_be_hopper, hopper_parameters<Arguments, where>, detail::no_hopper>;

  template <class F>
  void with_chosen(F&& f) const {
    detail::with_kernel<Arguments>(candidate_list{}, choice_.number, f);
  }

  /// Blocks, or clusters of them, that run at one time. Two blocks share a cluster anywhere; larger clusters need as
  /// many free multiprocessors in one part of the GPU, and only the runtime knows how many fit.
  template <class Kernel>
  static int workers_of() {
    const int at_most = max_of(detail::multiprocessors<on_host>() / Kernel::cluster, 1);
#if defined(__CUDACC__)
    if constexpr (!on_host && Kernel::cluster > 2)
      return max_of(min_of(resident_clusters(hopper_gemm_kernel<Kernel>, Kernel::cluster, Kernel::threads,
                                             Kernel::shared_bytes, at_most),
                           at_most),
                    1);
#endif
    return at_most;
  }

  bool nothing_to_do() const { return arguments_.m == 0 || arguments_.n == 0 || arguments_.batch == 0; }

  /// The device's answer is asked for once a kernel and device.
  template <class Kernel>
  static bool has_code() {
#if defined(__CUDACC__)
    if constexpr (!on_host && Kernel::is_hopper) {
      constexpr int devices = 64;
      static detail::shared_value<signed char> known[devices];
      int current = 0;
      if (quiet_call([&] { return cudaGetDevice(&current); }) != cudaSuccess || current >= devices)
        return has_hopper_code<Kernel>();
      signed char k = known[current].load();
      if (k == 0) known[current].store(k = has_hopper_code<Kernel>() ? 1 : -1);
      return k > 0;
    }
#endif
    return true;
  }

  /// Why this kernel cannot serve the problem here; ok if it can. Makes its tensor maps on the way.
  template <class Kernel>
  status refusal(hopper_part& maps) const {
    if constexpr (Kernel::is_hopper) {
      if (arguments_.k == 0)
        return fail(errc::bad_shape,
                    "gemm: with k = 0 there is nothing to copy, warp_specialized needs k of at least 1");
#if defined(__CUDACC__)
      if constexpr (!on_host) {
        if (!has_code<Kernel>())
          return fail(
              errc::unsupported,
              "gemm: warp_specialized needs a GPU of compute capability 9.0 and code built for sm_90a; this GPU has ",
              device_attribute(cudaDevAttrComputeCapabilityMajor, 0), ".",
              device_attribute(cudaDevAttrComputeCapabilityMinor, 0), ", or the build has no sm_90a");
      }
#endif
      maps.arguments = arguments_;
      return Kernel::program::make_maps(maps);
    }
    return {};
  }

  status choose() {
    constexpr int count = candidate_list::size;
    configuration_facts facts[count];
    bool usable[count];
    hopper_part maps{};
    detail::each_kernel<Arguments>(candidate_list{}, [&](int i, auto kernel, auto entry) {
      facts[i] = detail::facts_of<Arguments>(kernel, entry);
      const status s = refusal<decltype(kernel)>(maps);
      usable[i] = s.ok();
      if (!s.ok() && refused_.ok()) refused_ = s;
    });
    int b_lines = 1;
    for (const auto& b : arguments_.b) b_lines = max_of(b_lines, detail::lines_of(b));
    choice_ = choose_configuration(
        {arguments_.m, arguments_.n, arguments_.k, arguments_.batch, detail::lines_of(arguments_.a), b_lines}, facts,
        detail::multiprocessors<on_host>(), usable);
    if (choice_.number < 0) return refused_;
    status s;
    with_chosen([&](auto kernel) { s = settle(kernel); });
    return s;
  }

  template <class Kernel>
  status settle(Kernel) {
    const index_t rows = ceil_div<index_t>(arguments_.m, Kernel::tile_m),
                  cols = ceil_div<index_t>(arguments_.n, Kernel::tile_n);
    const auto workers = static_cast<std::uint32_t>(workers_of<Kernel>());
    const index_t most = 0xffffffff - workers;  // the number behind a worker's last tile has 32 bits, too
    if (rows > most / cols || rows * cols > most / arguments_.batch)
      return fail(errc::unsupported, "gemm: ", arguments_.batch, " x ", rows, " x ", cols,
                  " tiles, needs fewer than 2^32");
    const auto batch = static_cast<std::uint32_t>(arguments_.batch);
    const band_problem grid =
        detail::band_problem_of<Kernel>(arguments_, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols),
                                        workers * Kernel::resident, detail::l2_bytes<on_host>());
    const tile_order tiles{grid.rows, grid.cols, batch, best_band(grid)};
    parts_ = {rows * Kernel::column_parts_of_tile, cols * Kernel::row_parts_of_tile};
    reduction_bytes_ = detail::partial_bytes(arguments_, parts_);
    const auto steps = static_cast<std::uint32_t>(max_of<index_t>(ceil_div<index_t>(arguments_.k, Kernel::tile_k), 1));
    const std::uint32_t stay = Kernel::is_hopper && !on_host ? best_stay(grid, tiles.band, batch) : 0;
    whole_ = stay > 0 ? make_shifts(tiles, workers, steps, stay) : make_work_order(tiles, workers, steps, false);
    streamed_ = stay > 0 ? whole_ : make_work_order(tiles, workers, steps, choice_.stream);
    if constexpr (Kernel::is_hopper) {
      KILN_TRY(refusal<Kernel>(hopper_));
      split_bytes_ = Kernel::split_bytes(streamed_);
    }
    return {};
  }

  template <class Executor>
  status run_on(const Executor& ex) const {
    if (!state_.ok()) return state_;
    if (nothing_to_do()) return detail::fold_nothing(ex, arguments_);
    status s;
    with_chosen([&](auto kernel) { s = run_kernel(ex, kernel); });
    return s;
  }

  template <class Executor, class Kernel>
  status run_kernel(const Executor& ex, Kernel) const {
    Arguments p = arguments_;
    detail::run_scratch scratch;
    KILN_TRY(scratch.take(ex, "gemm", workspace_size(), reduction_bytes_));
    const bool split = split_bytes_ > 0 && scratch.bytes >= workspace_size();
    const std::size_t used = split ? workspace_size() : reduction_bytes_;
    if (used > 0) KILN_TRY(detail::check_scratch("gemm", p, scratch.data, used));
    detail::place_partials(p, parts_, scratch.data);
    gemm_explanation what;
    if (trace::on()) what = explain();
    trace::scope watch(ex, {.program = "gemm",
                            .schedule = what.schedule,
                            .fused = what.fused,
                            .bytes = what.bytes,
                            .operations = what.operations});
    if constexpr (Kernel::is_hopper) {
      hopper_part parameters = hopper_;
      parameters.arguments = p;
      const work_order& work = split ? streamed_ : whole_;
      if (split) Kernel::place_split(parameters, work, scratch.data + reduction_bytes_);
      if constexpr (Executor::on_host) KILN_TRY(Kernel::run_on_host(ex, parameters, work));
      else KILN_TRY(launch_hopper_gemm<Kernel>(ex, parameters, work));
    } else {
      if constexpr (Executor::on_host) KILN_TRY(Kernel::run_on_host(ex, p, whole_.tiles));
      else KILN_TRY(launch_ring_gemm<Kernel>(ex, p, whole_.tiles));
    }
    return watch.done(fold_partials(ex, p, parts_));
  }

  Arguments arguments_;
  hopper_part hopper_{};
  status state_;
  work_order whole_{}, streamed_{};  ///< without and with the workspace
  detail::part_counts parts_{};
  std::size_t reduction_bytes_ = 0, split_bytes_ = 0;
  configuration_choice choice_{};
  status refused_;  ///< the first refusal: why the fastest candidate is out
};

}  // inline namespace KILN_ABI
}  // namespace kiln
