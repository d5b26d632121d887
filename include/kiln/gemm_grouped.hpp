#pragma once
/// Many products of different extents in one launch.
///
///     std::vector problems{gemm_problem(a0, b0, store(d0, acc + per_column(bias0))),
///                          gemm_problem(a1, b1, store(d1, acc + per_column(bias1)))};
///     status s = gemm_grouped(device(stream, workspace), problems);
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
/// negative count), overlap (an output shares memory with anything of another problem: they run at one time).
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
auto plan_gemm_grouped(const List& list) {
  static_assert(detail::sound_gemm<detail::is_list<List> ? gemm_mistake::none : gemm_mistake::not_a_list>::value);
  if constexpr (detail::is_list<List>) return plan_gemm_grouped<Config>(list.data(), static_cast<index_t>(list.size()));
  else return detail::no_plan{};
}

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
status gemm_grouped(const Executor& ex, const List& list) {
  static_assert(detail::sound_gemm<detail::is_list<List> ? gemm_mistake::none : gemm_mistake::not_a_list>::value);
  if constexpr (detail::is_list<List>) return gemm_grouped<Config>(ex, list.data(), static_cast<index_t>(list.size()));
  else return {};
}

}  // namespace kiln
