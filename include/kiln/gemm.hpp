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
#include <kiln/core/trace.hpp>
#include <kiln/kernel/gemm/check.hpp>
#include <kiln/kernel/gemm/plan.hpp>

namespace kiln {

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
