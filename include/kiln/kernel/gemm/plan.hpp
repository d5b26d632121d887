#pragma once
/// A GEMM whose arguments are checked and whose configuration is chosen: made once, run many times.
#include <kiln/core/abi.hpp>
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
    e = detail::explain(chosen(), arguments_, whole_.tiles, choice_, pinned, split_bytes_ > 0, refused_);
    e.shifts = whole_.stay > 0;
    e.cluster_split_k = choice_.together;
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
  static constexpr bool may_shift = may_be_hopper && !on_host;
  using where = std::conditional_t<on_host, kiln::on_host, on_device>;
  using hopper_part = std::conditional_t<may_be_hopper, hopper_parameters<Arguments, where>, detail::no_hopper>;

  using kernels = detail::kernels<Arguments, candidate_list>;
  const detail::kernel_facts& chosen() const { return kernels::facts[choice_.number]; }
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

  /// Whether the GPU holds a cluster of as many blocks as are to have a tile together: parts of one may be too small.
  bool holds_together() const {
    bool yes = true;
#if defined(__CUDACC__)
    if constexpr (!on_host)
      with_chosen([&](auto k) {
        using Kernel = decltype(k);
        if constexpr (Kernel::is_hopper)
          yes = resident_clusters(hopper_gemm_kernel<Kernel>, choice_.together, Kernel::threads, Kernel::shared_bytes,
                                  0) > 0;
      });
#endif
    return yes;
  }

  bool nothing_to_do() const { return arguments_.m == 0 || arguments_.n == 0 || arguments_.batch == 0; }

  /// Why a kernel of the list cannot serve the problem here; ok if it can. Makes its tensor maps on the way.
  status refusal([[maybe_unused]] int number, [[maybe_unused]] hopper_part& maps) const {
    if constexpr (may_be_hopper) {
      if (!kernels::facts[number].is_hopper) return {};
      if (arguments_.k == 0)
        return fail(errc::bad_shape,
                    "gemm: with k = 0 there is nothing to copy, warp_specialized needs k of at least 1");
      bool has_code = true;
      status s;
      detail::with_kernel<Arguments>(candidate_list{}, number, [&](auto kernel) {
        using Kernel = decltype(kernel);
        if constexpr (Kernel::is_hopper) {
#if defined(__CUDACC__)
          if constexpr (!on_host) has_code = has_hopper_code<Kernel>();
#endif
          if (has_code) s = Kernel::program::make_maps(maps);
        }
      });
#if defined(__CUDACC__)
      if (!has_code)
        return fail(errc::unsupported,
                    "gemm: warp_specialized needs a GPU of compute capability 9.0 and code built for sm_90a; this GPU "
                    "has ",
                    device_attribute(cudaDevAttrComputeCapabilityMajor, 0), ".",
                    device_attribute(cudaDevAttrComputeCapabilityMinor, 0), ", or the build has no sm_90a");
#endif
      return s;
    }
    return {};
  }

  status choose() {
    bool usable[candidate_list::size];
    hopper_part maps{};
    if constexpr (may_be_hopper) maps.arguments = arguments_;
    for (int i = 0; i < candidate_list::size; ++i) {
      const status s = refusal(i, maps);
      usable[i] = s.ok();
      if (!s.ok() && refused_.ok()) refused_ = s;
    }
    int b_lines = 1;
    for (const auto& b : arguments_.b) b_lines = max_of(b_lines, detail::lines_of(b));
    choice_ = choose_configuration(
        {arguments_.m, arguments_.n, arguments_.k, arguments_.batch, detail::lines_of(arguments_.a), b_lines},
        kernels::facts, detail::multiprocessors<on_host>(), usable);
    if (choice_.number < 0) return refused_;
    return settle(chosen());
  }

  status settle(const detail::kernel_facts& kernel) {
    const index_t rows = ceil_div<index_t>(arguments_.m, kernel.tile_m),
                  cols = ceil_div<index_t>(arguments_.n, kernel.tile_n);
    std::uint32_t workers = 1;
    with_chosen([&](auto k) { workers = static_cast<std::uint32_t>(workers_of<decltype(k)>()); });
    const index_t most = 0xffffffff - workers;  // the number behind a worker's last tile has 32 bits, too
    if (rows > most / cols || rows * cols > most / arguments_.batch)
      return fail(errc::unsupported, "gemm: ", arguments_.batch, " x ", rows, " x ", cols,
                  " tiles, needs fewer than 2^32");
    const auto batch = static_cast<std::uint32_t>(arguments_.batch);
    const band_problem grid =
        detail::band_problem_of(kernel, arguments_, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols),
                                workers * static_cast<std::uint32_t>(kernel.walkers), detail::l2_bytes<on_host>());
    const tile_order tiles{grid.rows, grid.cols, batch, best_band(grid)};
    parts_ = {rows * kernel.column_parts_of_tile, cols * kernel.row_parts_of_tile};
    reduction_bytes_ = detail::partial_bytes(arguments_, parts_);
    const auto steps = static_cast<std::uint32_t>(max_of<index_t>(ceil_div<index_t>(arguments_.k, kernel.tile_k), 1));
    if (choice_.together > 1 && !holds_together()) choice_.together = 1;
    const std::uint32_t stay = may_shift && kernel.is_hopper ? best_stay(grid, tiles.band, batch) : 0;
    if (choice_.together > 1) whole_ = make_joined_order(tiles, steps, static_cast<std::uint32_t>(choice_.together));
    else if (stay > 0) whole_ = make_shifts(tiles, workers, steps, stay);
    else whole_ = make_work_order(tiles, workers, steps, false);
    streamed_ = choice_.stream && stay == 0 ? make_work_order(tiles, workers, steps, true) : whole_;
    if constexpr (may_be_hopper) {
      hopper_.arguments = arguments_;
      KILN_TRY(refusal(choice_.number, hopper_));
      with_chosen([&](auto k) {
        if constexpr (decltype(k)::is_hopper) split_bytes_ = decltype(k)::split_bytes(streamed_);
      });
    }
    return {};
  }

  template <class Executor>
  status run_on(const Executor& ex) const {
    if (!state_.ok()) return state_;
    if (nothing_to_do()) return detail::fold_nothing(ex, arguments_);
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
    status s;
    unsigned char* const sums = split ? scratch.data + reduction_bytes_ : nullptr;
    with_chosen([&](auto kernel) { s = launch_kernel(ex, kernel, p, sums); });
    KILN_TRY(s);
    return watch.done(fold_partials(ex, p, parts_));
  }

  /// `sums`: where workers leave their parts of cut tiles; null: tiles stay whole.
  template <class Executor, class Kernel>
  status launch_kernel(const Executor& ex, Kernel, const Arguments& p, [[maybe_unused]] unsigned char* sums) const {
    if constexpr (Kernel::is_hopper) {
      hopper_part parameters = hopper_;
      parameters.arguments = p;
      const work_order& work = sums != nullptr ? streamed_ : whole_;
      if (sums != nullptr) Kernel::place_split(parameters, work, sums);
      if constexpr (Executor::on_host) return Kernel::run_on_host(ex, parameters, work);
      else return launch_hopper_gemm<Kernel>(ex, parameters, work);
    } else {
      if constexpr (Executor::on_host) return Kernel::run_on_host(ex, p, whole_.tiles);
      else return launch_ring_gemm<Kernel>(ex, p, whole_.tiles);
    }
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
