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
/// Hopper multiplies 8-bit operands only where K runs along memory in both, at 16-byte multiples. Others are served by
/// the kernels for 8.0; weights that are used often are copied once, `b` being [k, n] with k along memory:
///
///     auto b = transposed(pitched(device_view(packed, n, k), pitch));  // pitch: k, rounded up to a multiple of 16
///     status s = copy(device(stream), w, b);                           // copy.hpp; w is [k, n], row-major
///
/// A zero extent of the output is a success with nothing launched; with k = 0 the sinks get accumulators of 0.
///
/// `gemm<config<...>>` pins a configuration (kernel/gemm/config.hpp). One with warp_specialized runs on the host as
/// well if <kiln/arch/host/driver.hpp> is included before the call. `host.with_checks()` watches shared memory: a race
/// or a wait that is missing is a status of code protocol.
///
/// The workspace, `device(stream, workspace{p, bytes})`, is needed by reductions among the sinks alone; with as much as
/// `plan_gemm(...).workspace_size()` says, tiles that would leave the GPU idle are cut along K.
///
/// Errors: bad_shape, bad_stride, bad_alignment (of an element, or of the workspace: 16 bytes), null_pointer, overlap
/// (an output shares memory with `a`, `b` or partly with what the epilogue reads, or the workspace with any of them),
/// workspace_too_small, unsupported (a pinned configuration, or a GPU for which no code was built), cuda_error. Each is
/// returned before anything is launched.
#include <kiln/core/trace.hpp>
#include <kiln/kernel/gemm/check.hpp>
#include <kiln/kernel/gemm/plan.hpp>
#include <kiln/kernel/gemm/sound.hpp>

namespace kiln {

namespace detail {

/// An operand as [batch, rows, cols] of constant elements; a matrix serves every batch. The stride of an axis of one
/// element may be any number; it becomes 0, since kernels compute addresses of rows behind the last, too.
template <class T, int R, class S, int U>
constexpr auto operand_of(const tensor<T, R, S, U>& v, index_t batch) {
  tensor<const std::remove_const_t<T>, R, S, U> c = v;
  for (int a = 0; a < R; ++a)
    if (a != U && c.extents[a] <= 1) c.strides[a] = 0;
  if constexpr (R == 2)
    return broadcast<0>(c, batch);
  else
    return c;
}

template <class T, int R, class S, int U>
constexpr index_t batch_of(const tensor<T, R, S, U>& v) {
  return R == 3 ? v.extents[0] : -1;
}
template <class V>
constexpr index_t batch_of(const dual_operand<V>& d) {
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
template <class A, class B, class... Sinks>
auto gemm_arguments_of(const A& a, const B& b, const Sinks&... sinks) {
  index_t batch = batch_of(a) >= 0 ? batch_of(a) : batch_of(b);
  if (batch < 0) batch = 1;
  const auto a3 = operand_of(a, batch);
  const auto b3 = operand_of(first_of(b), batch);
  using a_view = std::remove_const_t<decltype(a3)>;
  using b_view = std::remove_const_t<decltype(b3)>;
  // Initialised as a whole: functors of sinks need no default constructor, and no assignment.
  const auto made = [&](const auto&... bs) -> gemm_arguments<a_view, b_view, sizeof...(bs), Sinks...> {
    return {a3,    {bs...}, bundle_of(sinks...), a3.extents[1], b3.extents[2], a3.extents[2],
            batch, false,   false,               0,             {}};
  };
  auto p = [&] {
    if constexpr (is_dual<B>) return made(b3, operand_of(b.second, batch));
    else return made(b3);
  }();
  p.sinks.each([&](const auto& sink, auto number) {
    if constexpr (!std::remove_cvref_t<decltype(sink)>::reduces)
      if (sink.template vectors<8>()) p.vector_sinks |= 1u << decltype(number)::value;
  });
  p.a_vectors = has_vector_rows(p.a);
  p.b_vectors = has_vector_rows(p.b[0]) && (!is_dual<B> || has_vector_rows(p.b[is_dual<B> ? 1 : 0]));
  return p;
}

/// The check of a sink; of nothing where the operands are wrong already.
template <gemm_mistake Operands, class Space, class A, class B, class Sink>
struct sink_check {
  using type = sound<mistake::none, true, true, true, true>;
};
template <class Space, class A, class B, class Sink>
struct sink_check<gemm_mistake::none, Space, A, B, Sink> {
  using accumulator = accumulator_t<typename A::value_type, typename first_view<B>::type::value_type>;
  using type = sound_sink<accumulator, is_dual<B> ? 2 : 1, Space, Sink>;
};

/// What a call's types have against them. Of later stages nothing is instantiated before the ones before are sound.
template <class Config, class Space, class A, class B, class... Sinks>
struct gemm_types {
  static constexpr gemm_mistake operands = mistake_of_operands<Space, A, B, Sinks...>();
  template <class Sink>
  using check_of = typename sink_check<operands, Space, A, B, Sink>::type;

  static constexpr gemm_mistake first = [] {
    if constexpr (operands != gemm_mistake::none) return operands;
    else if constexpr (!(holds<check_of<Sinks>> && ...)) return gemm_mistake::reported;
    else
      return mistake_of_config<Config, decltype(gemm_arguments_of(std::declval<A>(), std::declval<B>(),
                                                                  std::declval<Sinks>()...))>();
  }();
};

/// Stands for a plan whose types are wrong; the compiler has said how.
struct no_plan {
  static status state() { return {}; }
  static std::size_t workspace_size() { return 0; }
  static gemm_explanation explain() { return {}; }
  template <class... X>
  static status run(const X&...) {
    return {};
  }
};

// In the namespace of the architectures, as the plan is that they return: `auto` is no part of a function's name.
inline namespace KILN_ABI {
template <class Config, class A, class B, class... Sinks>
auto make_plan(const A& a, const B& b, const Sinks&... sinks) {
  const auto p = gemm_arguments_of(a, b, sinks...);
  status s = check_gemm(p);
  if (s.ok()) s = check_sinks(p.batch, p.m, p.n, sinks...);
  return gemm_plan<Config, std::remove_const_t<decltype(p)>>(p, std::move(s));
}
}  // inline namespace KILN_ABI

}  // namespace detail

inline namespace KILN_ABI {

/// Checks the arguments and chooses the configuration; `run` it as often as you like while the views stay valid.
template <class Config = automatic, class A, class B, class... Sinks>
auto plan_gemm(const A& a, const B& b, const Sinks&... sinks) {
  using types = detail::gemm_types<Config, typename detail::space_of<A>::type, A, B, Sinks...>;
  static_assert(detail::sound_gemm<types::first>::value && (types::template check_of<Sinks>::value && ...));
  if constexpr (types::first == gemm_mistake::none) return detail::make_plan<Config>(a, b, sinks...);
  else return detail::no_plan{};
}
template <class... Any>
detail::no_plan plan_gemm(...) {
  static_assert(detail::never<Any...>,
                "plan_gemm takes (a, b, sinks...), as plan_gemm(a, b, store(d, acc)); run(executor) comes behind it");
  return {};
}

}  // inline namespace KILN_ABI

/// Plans and runs in one call.
template <class Config = automatic, executor Executor, class A, class B, class... Sinks>
status gemm(const Executor& ex, const A& a, const B& b, const Sinks&... sinks) {
  using types = detail::gemm_types<Config, typename Executor::space, A, B, Sinks...>;
  static_assert(detail::sound_gemm<types::first>::value && (types::template check_of<Sinks>::value && ...));
  if constexpr (types::first == gemm_mistake::none) return detail::make_plan<Config>(a, b, sinks...).run(ex);
  else return {};
}
template <class... Any>
status gemm(...) {
  static_assert(detail::never<Any...>,
                "gemm takes (executor, a, b, sinks...), the executor being host or device(stream): "
                "gemm(host, a, b, store(d, acc)); a configuration goes in front: gemm<config<...>>(...)");
  return {};
}

}  // namespace kiln
