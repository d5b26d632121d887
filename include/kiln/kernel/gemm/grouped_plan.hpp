#pragma once
/// A list of products of the same types, checked and with a configuration chosen for all of them: made once, run many
/// times.
#include <string>
#include <vector>

#include <kiln/core/trace.hpp>
#include <kiln/kernel/gemm/apart.hpp>
#include <kiln/kernel/gemm/candidates.hpp>
#include <kiln/kernel/gemm/explain.hpp>
#include <kiln/kernel/gemm/grouped.hpp>
#include <kiln/kernel/gemm/reduction.hpp>

namespace kiln {

/// One product of a list, its arguments checked; made by `gemm_problem`.
template <class Arguments>
struct grouped_problem {
  using arguments_type = Arguments;
  Arguments arguments;
  status state;
};

// In the namespace of the architectures, as plans of one product are.
inline namespace KILN_ABI {

template <class Config, class Arguments>
class grouped_plan {
 public:
  using space = typename decltype(Arguments::a)::space;
  static constexpr bool on_host = std::is_same_v<space, host_space>;
  static constexpr bool pinned = is_config_v<Config>;

  grouped_plan(const grouped_problem<Arguments>* problems, index_t count) : state_(take(problems, count)) {
    if (state_.ok() && !problems_.empty()) state_ = choose();
  }

  /// Whether the plan can run. What `run` may find beyond it lies in the executor: too small a workspace, a CUDA error.
  const status& state() const { return state_; }

  /// Bytes of scratch memory that `run` needs: on the device the list itself, and partial results of reductions.
  std::size_t workspace_size() const { return list_bytes() + reduction_bytes_; }

  /// What the plan does and why. The figures are sums over the problems.
  gemm_explanation explain() const {
    gemm_explanation e;
    if (!state_.ok()) e.reason = state_.message();
    if (state_.ok() && problems_.empty()) e.reason = "nothing to multiply";
    if (!state_.ok() || problems_.empty()) return e;
    for (const auto& one : problems_) {
      const gemm_explanation x = detail::explain(chosen(), one.arguments, one.tiles, choice_, pinned, false, {});
      e.schedule = x.schedule, e.fused = x.fused, e.reason = x.reason;
      e.bytes += x.bytes, e.operations += x.operations, e.roofline_seconds += x.roofline_seconds;
    }
    e.tiles = static_cast<index_t>(first_.back());
    e.modelled_cycles = choice_.cycles;
    if (!pinned && !on_host) e.reason += "; warp_specialized is out, as it takes one problem a launch";
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

 private:
  using listed = listed_problem<Arguments>;
  static constexpr auto candidates() {
    if constexpr (pinned) return detail::only<Config>{};
    else return detail::grouped_configurations<Arguments, on_host>();
  }
  using candidate_list = decltype(candidates());
  const detail::kernel_facts& chosen() const {
    return detail::kernels<Arguments, candidate_list>::facts[choice_.number];
  }
  template <class F>
  void with_chosen(F&& f) const {
    detail::with_kernel<Arguments>(candidate_list{}, choice_.number, f);
  }

  /// The problems that have results; the first wrong one refuses the list.
  status take(const grouped_problem<Arguments>* problems, index_t count) {
    if (count < 0) return fail(errc::bad_shape, "gemm_grouped: a list of ", count, " problems, needs at least 0");
    if (count > 0 && problems == nullptr)
      return fail(errc::null_pointer, "gemm_grouped: the list is null, needs ", count, " problems");
    std::vector<index_t> written;  // numbers of the problems that have any results
    for (index_t i = 0; i < count; ++i) {
      const auto& one = problems[i];
      if (!one.state.ok()) return status(one.state.code(), "problem " + std::to_string(i) + ": " + one.state.message());
      const auto& p = one.arguments;
      const bool empty = p.m == 0 || p.n == 0 || p.batch == 0;
      if (empty && !Arguments::any_reduction) continue;
      written.push_back(i);
      if (empty) empty_.push_back(p);
      else problems_.push_back({p, {}}), numbers_.push_back(i);
    }
    return detail::check_apart(
        static_cast<std::uint32_t>(written.size()),
        [&](std::uint32_t i) -> const Arguments& { return problems[written[i]].arguments; },
        [&](std::uint32_t i) { return written[i]; });
  }

  status choose() {
    std::vector<gemm_extents> extents;
    for (const auto& one : problems_)
      extents.push_back({one.arguments.m, one.arguments.n, one.arguments.k, one.arguments.batch});
    choice_ = choose_for_all(extents.data(), static_cast<index_t>(extents.size()),
                             detail::kernels<Arguments, candidate_list>::facts, detail::multiprocessors<on_host>());
    return settle(chosen());
  }

  status settle(const detail::kernel_facts& kernel) {
    const auto at_once = static_cast<std::uint32_t>(detail::multiprocessors<on_host>() * kernel.walkers);
    const index_t cache_bytes = detail::l2_bytes<on_host>();
    std::uint64_t tiles = 0;
    first_.assign(1, 0);
    for (auto& one : problems_) {
      const auto& p = one.arguments;
      const index_t rows = ceil_div<index_t>(p.m, kernel.tile_m), cols = ceil_div<index_t>(p.n, kernel.tile_n);
      const bool many = rows > 0xffffffff / cols || rows * cols > 0xffffffff / p.batch;
      tiles += many ? 0xffffffff : static_cast<std::uint64_t>(rows * cols * p.batch);
      if (tiles >= 0xffffffff)
        return fail(errc::unsupported, "gemm_grouped: the list has 2^32 tiles or more, needs fewer");
      const band_problem grid = detail::band_problem_of(
          kernel, p, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols), at_once, cache_bytes);
      one.tiles = {grid.rows, grid.cols, static_cast<std::uint32_t>(p.batch), best_band(grid)};
      first_.push_back(static_cast<std::uint32_t>(tiles));
      reduction_bytes_ += detail::partial_bytes(p, parts_of(one));
    }
    return {};
  }

  detail::part_counts parts_of(const listed& one) const {
    return {static_cast<index_t>(one.tiles.rows) * chosen().column_parts_of_tile,
            static_cast<index_t>(one.tiles.cols) * chosen().row_parts_of_tile};
  }

  template <class T>
  static std::size_t bytes_of(const std::vector<T>& v) {
    return round_up<std::size_t>(v.size() * sizeof(T), 256);
  }
  std::size_t list_bytes() const { return on_host || problems_.empty() ? 0 : bytes_of(problems_) + bytes_of(first_); }

  template <class Executor>
  status run_on(const Executor& ex) const {
    if (!state_.ok()) return state_;
    status s;
    if (!problems_.empty()) with_chosen([&](auto kernel) { s = run_kernel(ex, kernel); });
    for (const auto& p : empty_)
      if (s.ok()) s = detail::fold_nothing(ex, p);
    return s;
  }

  template <class Executor, class Kernel>
  status run_kernel(const Executor& ex, Kernel) const {
    detail::run_scratch scratch;
    KILN_TRY(scratch.take(ex, "gemm_grouped", workspace_size(), workspace_size()));
    if (workspace_size() > 0)
      for (std::size_t i = 0; i < problems_.size(); ++i)
        KILN_TRY(detail::check_scratch("problem " + std::to_string(numbers_[i]), problems_[i].arguments, scratch.data,
                                       workspace_size()));
    unsigned char* next = scratch.data;
    std::vector<listed> placed;
    if constexpr (Arguments::any_reduction) {
      placed = problems_;
      for (auto& one : placed) {
        const auto parts = parts_of(one);
        detail::place_partials(one.arguments, parts, next);
        next += detail::partial_bytes(one.arguments, parts);
      }
    }
    const std::vector<listed>& problems = Arguments::any_reduction ? placed : problems_;
    gemm_explanation what;
    if (trace::on()) what = explain();
    trace::scope watch(ex, {.program = "gemm_grouped",
                            .schedule = what.schedule,
                            .fused = what.fused,
                            .bytes = what.bytes,
                            .operations = what.operations});
    problem_list<Arguments> list{
        problems.data(), {first_.data(), static_cast<std::uint32_t>(problems.size())}, first_.back()};
    if constexpr (Executor::on_host) {
      using shared = typename Kernel::shared;
      KILN_TRY(Kernel::each_tile_on_host(ex, list.count, [&](auto block, std::uint32_t t, shared& memory) {
        detail::run_listed_tile<Kernel>(block, list, t, memory);
      }));
    } else {
#if defined(__CUDACC__)
      list.problems = reinterpret_cast<const listed*>(next);
      list.tiles.first = reinterpret_cast<const std::uint32_t*>(next + bytes_of(problems));
      KILN_TRY(detail::upload(ex, next, problems.data(), problems.size() * sizeof(listed)));
      KILN_TRY(detail::upload(ex, next + bytes_of(problems), first_.data(), first_.size() * sizeof(std::uint32_t)));
      KILN_TRY(launch_grouped_gemm<Kernel>(ex, list));
#endif
    }
    status s;
    if constexpr (Arguments::any_reduction)
      for (const auto& one : problems)
        if (s.ok()) s = detail::fold_partials(ex, one.arguments, parts_of(one));
    return watch.done(std::move(s));
  }

  std::vector<listed> problems_;
  std::vector<index_t> numbers_;  ///< of these in the caller's list
  std::vector<Arguments> empty_;       ///< without elements of D, but with reductions of them
  /// Number of each problem's first tile; behind the last, how many tiles there are.
  std::vector<std::uint32_t> first_;
  std::size_t reduction_bytes_ = 0;
  configuration_choice choice_{};
  status state_;
};

}  // inline namespace KILN_ABI
}  // namespace kiln
