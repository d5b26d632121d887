#pragma once
/// Many products of different extents in one launch.
///
///     std::vector problems{gemm_problem(a0, b0, store(d0, acc + per_column(bias0))),
///                          gemm_problem(a1, b1, store(d1, acc + per_column(bias1)))};
///     status s = gemm_grouped(device(stream, workspace), problems);  // or {problem, ...}, or a pointer and a count
///
/// Each problem is what one call of `gemm` takes: operands, also batched or `dual`, any strides and alignment, any
/// sinks with views of its own. All problems of a list have the same types, and so the same layouts and epilogue;
/// extents, strides and addresses differ. One with a zero extent of the output is left out, one with k = 0 gets
/// accumulators of 0.
///
/// The list and its extents are read on the host, before anything is launched, and may go away after the call. On the
/// device it is written to the executor's workspace by small kernels on the stream, about 4 KB each, so a captured
/// graph needs nothing of the host's. `plan_gemm_grouped(problems).workspace_size()` says how many bytes that takes;
/// the host executor needs none.
///
/// The kernels are those of the block-wide schedules, which read a list from memory; Hopper's has its tensor maps from
/// the host, one set a launch, so on that GPU, too, a list takes the kernel for 8.0, and `explain()` says so. Each
/// reduction of each problem takes one more small launch.
///
/// Errors: those of `gemm`, with the number of the problem in front; null_pointer (a list without memory), bad_shape (a
/// negative count), overlap (an output shares memory with anything of another problem: they run at one time; or the
/// workspace with anything of one).
#include <kiln/gemm.hpp>
#include <kiln/kernel/gemm/grouped_plan.hpp>

namespace kiln {

namespace detail {

template <class T>
inline constexpr bool is_grouped_problem = false;
template <class Arguments>
inline constexpr bool is_grouped_problem<grouped_problem<Arguments>> = true;

template <class L>
inline constexpr bool is_list = requires(const L& list) { list.data(), list.size(); };

/// Whether a call passes a list, or a pointer and a count, behind an executor. What does not is told by an overload for
/// the rest; it cannot be an ellipsis, for that takes no std::vector.
template <class... X>
inline constexpr bool is_grouped_call = false;
template <class E, class List>
inline constexpr bool is_grouped_call<E, List> = executor<E> && is_list<List>;
template <class E, class P, class Count>
inline constexpr bool is_grouped_call<E, P, Count> =
    executor<E> && std::is_pointer_v<std::decay_t<P>> && std::is_convertible_v<Count, index_t>;

template <class Config, class Problem, class Space>
constexpr gemm_mistake mistake_of_list() {
  if constexpr (std::is_same_v<Problem, no_plan>) return gemm_mistake::reported;
  else if constexpr (!is_grouped_problem<Problem>) return gemm_mistake::not_a_problem;
  else if constexpr (!std::is_same_v<Space, typename decltype(Problem::arguments_type::a)::space>)
    return gemm_mistake::executor_space;
  else if constexpr (is_config_v<Config>) {
    if constexpr (Config::hopper) return gemm_mistake::grouped_hopper;
    else return mistake_of_config<Config, typename Problem::arguments_type>();
  } else return mistake_of_config<Config, typename Problem::arguments_type>();
}

}  // namespace detail

/// One product of a list, D = epilogue(A * B), checked here; what is wrong is said by the call that gets the list.
template <class A, class B, class... Sinks>
auto gemm_problem(const A& a, const B& b, const Sinks&... sinks) {
  using types = detail::gemm_types<automatic, typename detail::space_of<A>::type, A, B, Sinks...>;
  static_assert(detail::sound_gemm<types::first>::value && (types::template check_of<Sinks>::value && ...));
  if constexpr (types::first == gemm_mistake::none) {
    const auto p = detail::gemm_arguments_of(a, b, sinks...);
    status s = detail::check_gemm(p);
    if (s.ok()) s = check_sinks(p.batch, p.m, p.n, sinks...);
    return grouped_problem<std::remove_const_t<decltype(p)>>{p, std::move(s)};
  } else {
    return detail::no_plan{};
  }
}
template <class... Any>
detail::no_plan gemm_problem(...) {
  static_assert(detail::never<Any...>,
                "gemm_problem takes (a, b, sinks...), as gemm_problem(a, b, store(d, acc)); executor and config<...> "
                "go to gemm_grouped");
  return {};
}

inline namespace KILN_ABI {  // as plan_gemm

/// Checks a list and chooses the configuration; `run` it as often as you like while the views stay valid.
template <class Config = automatic, class Problem>
auto plan_gemm_grouped(const Problem* problems, index_t count) {
  constexpr gemm_mistake mistake = [] {
    if constexpr (detail::is_grouped_problem<Problem>)
      return detail::mistake_of_list<Config, Problem, typename decltype(Problem::arguments_type::a)::space>();
    else
      return detail::mistake_of_list<Config, Problem, host_space>();
  }();
  static_assert(detail::sound_gemm<mistake>::value);
  if constexpr (mistake == gemm_mistake::none)
    return grouped_plan<Config, typename Problem::arguments_type>(problems, count);
  else return detail::no_plan{};
}
template <class Config = automatic, class List>
  requires detail::is_list<List>
auto plan_gemm_grouped(const List& list) {
  return plan_gemm_grouped<Config>(list.data(), static_cast<index_t>(list.size()));
}
template <class Config = automatic, class Problem>
auto plan_gemm_grouped(std::initializer_list<Problem> list) {
  return plan_gemm_grouped<Config>(list.begin(), static_cast<index_t>(list.size()));
}
template <class Any = void, class... X>
  requires(!detail::is_grouped_call<host_executor, X...>)
detail::no_plan plan_gemm_grouped(const X&...) {
  static_assert(detail::never<Any>,
                "plan_gemm_grouped takes a list of what gemm_problem(...) makes, or a pointer to them and a count; "
                "run(executor) comes behind it");
  return {};
}

}  // inline namespace KILN_ABI

/// Plans and runs in one call.
template <class Config = automatic, executor Executor, class Problem>
status gemm_grouped(const Executor& ex, const Problem* problems, index_t count) {
  constexpr gemm_mistake mistake = detail::mistake_of_list<Config, Problem, typename Executor::space>();
  static_assert(detail::sound_gemm<mistake>::value);
  if constexpr (mistake == gemm_mistake::none)
    return grouped_plan<Config, typename Problem::arguments_type>(problems, count).run(ex);
  else return {};
}
template <class Config = automatic, executor Executor, class List>
  requires detail::is_list<List>
status gemm_grouped(const Executor& ex, const List& list) {
  return gemm_grouped<Config>(ex, list.data(), static_cast<index_t>(list.size()));
}
template <class Config = automatic, executor Executor, class Problem>
status gemm_grouped(const Executor& ex, std::initializer_list<Problem> list) {
  return gemm_grouped<Config>(ex, list.begin(), static_cast<index_t>(list.size()));
}
template <class Any = void, class... X>
  requires(!detail::is_grouped_call<X...>)
status gemm_grouped(const X&...) {
  static_assert(detail::never<Any>,
                "gemm_grouped takes (executor, list), or (executor, pointer, count), of what gemm_problem(...) makes: "
                "gemm_grouped(host, std::vector{gemm_problem(a, b, store(d, acc)), ...})");
  return {};
}

}  // namespace kiln
