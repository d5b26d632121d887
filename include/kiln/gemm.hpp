#pragma once
/// D = epilogue(A * B), in one kernel.
///
///     status s = gemm(device(stream), a, b, store(d, gelu(acc + per_column(bias)) + elem(residual)));
///
/// `a` is [m, k] or [batch, m, k], `b` is [k, n] or [batch, k, n] (a row-major weight [n, k] goes in as
/// `transposed(w)`); a rank-2 `b` serves every batch. Types: f16, bf16, e4m3, e5m2, float with a float accumulator;
/// int8, uint8 with an exact int32 accumulator, which wraps past 2^31. Strides and alignment are free. Sinks: store,
/// reduce_rows, reduce_columns.
///
/// A zero extent of the output is a success with nothing launched; with k = 0 the sinks get accumulators of 0.
///
/// Errors: bad_shape, bad_stride, bad_alignment, null_pointer, overlap (an output shares memory with `a`, `b` or partly
/// with what the epilogue reads), workspace_too_small, unsupported (a pinned configuration, or a GPU for which no code
/// was built), cuda_error. Each is returned before anything is launched.
#include <cstdio>
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/core/trace.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/kernel/gemm/check.hpp>
#include <kiln/kernel/gemm/reduction.hpp>
#include <kiln/kernel/gemm/ring_gemm.hpp>
#include <kiln/kernel/gemm/table.hpp>

namespace kiln {

/// What a plan does and why: for people and for logs.
struct gemm_explanation {
  const char* configuration;  ///< of the chosen kernel
  const char* reason;
  index tiles;
  double modelled_cycles;
};

/// A GEMM whose arguments are checked and whose configuration is chosen: made once, run many times.
template <class Config, class Arguments>
class gemm_plan {
 public:
  using space = typename decltype(Arguments::a)::space;
  static constexpr bool on_host = std::is_same_v<space, host_space>;

  gemm_plan(const Arguments& p, status checked) : p_(p), state_(std::move(checked)) {
    if (state_.ok()) state_ = choose();
  }

  /// Whether the plan can run; the same status that `run` would return.
  const status& state() const { return state_; }

  /// Bytes of scratch memory that `run` needs with the executor: partial results of reductions. Often 0.
  std::size_t workspace_size() const { return workspace_bytes_; }

  status run(const host_executor& ex) const requires on_host { return run_on(ex); }
#if defined(__CUDACC__)
  status run(const device& ex) const requires(!on_host) { return run_on(ex); }
#endif

 private:
  template <class... Entries>
  static constexpr int count(detail::table<Entries...>) {
    return sizeof...(Entries);
  }
  static constexpr auto candidates() {
    if constexpr (is_config_v<Config>)
      return detail::table<detail::entry<Config, 1, 1, 0>>{};
    else
      return detail::configurations<Arguments, on_host>();
  }
  /// Calls `f` with the kernel of configuration number `choice_`.
  template <class F, class... Entries>
  void with_choice(detail::table<Entries...>, F&& f) const {
    int i = 0;
    ((i++ == choice_ ? f(ring_gemm<Arguments, typename Entries::config>{}) : void()), ...);
  }

  template <class... Entries>
  int best(detail::table<Entries...>) const {
    const configuration_facts facts[] = {{"", Entries::config::block_tile::m, Entries::config::block_tile::n,
                                          Entries::resident, static_cast<double>(Entries::rate),
                                          static_cast<double>(Entries::overhead)}...};
    bool usable[sizeof...(Entries)];
    for (bool& u : usable) u = true;
    return best_configuration({p_.m, p_.n, p_.k, p_.batch}, facts, multiprocessors(), usable);
  }

  static int multiprocessors() {
#if defined(__CUDACC__)
    if constexpr (!on_host) return device_attribute(cudaDevAttrMultiProcessorCount, 132);
#endif
    return 1;
  }

  bool nothing_to_do() const { return p_.m == 0 || p_.n == 0 || p_.batch == 0; }

  status choose() {
    if (nothing_to_do()) return {};
    choice_ = best(candidates());
    status s;
    with_choice(candidates(), [&](auto kernel) {
      using chosen = decltype(kernel);
      const index rows = ceil_div<index>(p_.m, chosen::tile_m), cols = ceil_div<index>(p_.n, chosen::tile_n);
      if (rows > 0xffffffff / cols || rows * cols > 0xffffffff / p_.batch) {
        s = fail(errc::unsupported, "gemm: ", p_.batch, " x ", rows, " x ", cols, " tiles, needs fewer than 2^32");
        return;
      }
      const auto r = static_cast<std::uint32_t>(rows), c = static_cast<std::uint32_t>(cols);
      order_ = {r, c, static_cast<std::uint32_t>(p_.batch),
                best_band(r, c, static_cast<std::uint32_t>(multiprocessors()), chosen::tile_m, chosen::tile_n)};
      parts_ = {rows * chosen::column_parts_of_tile, cols * chosen::row_parts_of_tile};
      workspace_bytes_ = detail::partial_bytes(p_, parts_);
    });
    return s;
  }

  template <class Executor>
  status run_on(const Executor& ex) const {
    if (!state_.ok() || nothing_to_do()) return state_;
    Arguments p = p_;
    detail::host_partials own;  // the host executor may allocate; the device's workspace is the caller's
    workspace scratch = ex.scratch;
    if constexpr (Executor::on_host)
      if (scratch.bytes < workspace_bytes_) scratch = own.allocate(workspace_bytes_);
    KILN_TRY(detail::place_partials(p, parts_, scratch, workspace_bytes_));
    trace::scope watch(
        ex, {.program = "gemm",
             .schedule = "",
             .fused = "",
             .bytes = bytes(),
             .operations = 2.0 * static_cast<double>(p_.m) * static_cast<double>(p_.n) * static_cast<double>(p_.k) *
                           static_cast<double>(p_.batch) * Arguments::products});
    status s;
    with_choice(candidates(), [&](auto kernel) {
      using chosen = decltype(kernel);
      if constexpr (Executor::on_host)
        s = chosen::run_on_host(ex, p, order_);
      else
        s = launch_ring_gemm<chosen>(ex, p, order_);
    });
    KILN_TRY(s);
    return watch.done(fold_partials(ex, p, parts_));
  }

  double bytes() const {
    return static_cast<double>(p_.batch) *
           (static_cast<double>(p_.m) * static_cast<double>(p_.k) * sizeof(typename Arguments::a_type) +
            static_cast<double>(p_.n) * static_cast<double>(p_.k) * sizeof(typename Arguments::b_type) *
                Arguments::products);
  }

  Arguments p_;
  status state_;
  tile_order order_{};
  detail::part_counts parts_{};
  std::size_t workspace_bytes_ = 0;
  int choice_ = 0;
};

namespace detail {

/// An operand as [batch, rows, cols] of constant elements; a matrix serves every batch.
template <class T, int R, class S, int U>
constexpr auto operand_of(const tensor<T, R, S, U>& v, index batch) {
  static_assert(R == 2 || R == 3, "gemm: an operand is a matrix or a batch of matrices: a view of rank 2 or 3");
  const tensor<const std::remove_const_t<T>, R, S, U> c = v;
  if constexpr (R == 2)
    return broadcast<0>(c, batch);
  else
    return c;
}

template <class T, int R, class S, int U>
constexpr index batch_of(const tensor<T, R, S, U>& v) {
  return R == 3 ? v.extents[0] : -1;
}
template <class V>
constexpr index batch_of(const dual_operand<V>& d) {
  return batch_of(d.first);
}
template <class T, int R, class S, int U>
constexpr tensor<T, R, S, U> first_of(const tensor<T, R, S, U>& v) {
  return v;
}
template <class V>
constexpr V first_of(const dual_operand<V>& d) {
  return d.first;
}
template <class V>
inline constexpr bool is_dual = false;
template <class V>
inline constexpr bool is_dual<dual_operand<V>> = true;

template <class A, class B, class... Sinks>
auto gemm_arguments_of(const A& a, const B& b, const Sinks&... sinks) {
  static_assert(is_tensor_v<A>,
                "gemm: the first operand is a tensor view: host_view(...), device_view(...) or made from one");
  static_assert(is_tensor_v<B> || is_dual<B>, "gemm: the second operand is a tensor view or dual(view, view)");
  static_assert(
      sizeof...(Sinks) > 0 && (is_sink_v<Sinks> && ...),
      "gemm: what follows the operands are sinks: store(view, expression), reduce_rows<op>(view, expression), ...");
  using first_view = decltype(first_of(b));
  require_sinks<accumulator_t<typename A::value_type, typename first_view::value_type>, is_dual<B> ? 2 : 1,
                typename A::space, Sinks...>();
  index batch = max_of(batch_of(a), batch_of(b));
  if (batch < 0) batch = 1;
  const auto a3 = operand_of(a, batch);
  const auto b3 = operand_of(first_of(b), batch);
  using a_view = std::remove_const_t<decltype(a3)>;
  using b_view = std::remove_const_t<decltype(b3)>;
  gemm_arguments<a_view, b_view, is_dual<B> ? 2 : 1, Sinks...> p{};
  p.a = a3, p.b[0] = b3;
  if constexpr (is_dual<B>) p.b[1] = operand_of(b.second, batch);
  p.sinks = bundle_of(sinks...);
  p.m = a3.extents[1], p.k = a3.extents[2], p.n = b3.extents[2], p.batch = batch;
  p.a_vectors = has_vector_rows(p.a);
  p.b_vectors = has_vector_rows(p.b[0]) && (!is_dual<B> || has_vector_rows(p.b[is_dual<B> ? 1 : 0]));
  return p;
}

}  // namespace detail

/// Checks the arguments and chooses the configuration; `run` it as often as you like while the views stay valid.
template <class Config = automatic, class A, class B, class... Sinks>
auto plan_gemm(const A& a, const B& b, const Sinks&... sinks) {
  static_assert(is_config_v<Config> || std::is_same_v<Config, automatic>,
                "plan_gemm<...>: takes a config<...> or nothing");
  const auto p = detail::gemm_arguments_of(a, b, sinks...);
  status s = detail::check_gemm(p);
  if (s.ok()) s = check_sinks(p.batch, p.m, p.n, sinks...);
  return gemm_plan<Config, std::remove_const_t<decltype(p)>>(p, std::move(s));
}

/// Plans and runs in one call.
template <class Config = automatic, executor Executor, class A, class B, class... Sinks>
status gemm(const Executor& ex, const A& a, const B& b, const Sinks&... sinks) {
  const auto plan = plan_gemm<Config>(a, b, sinks...);
  static_assert(
      std::is_same_v<typename std::remove_cvref_t<decltype(plan)>::space, typename Executor::space>,
      "gemm: the views lie in another memory than the executor's: host_view goes with host, device_view with device");
  return plan.run(ex);
}

}  // namespace kiln
