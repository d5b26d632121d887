#pragma once
/// Everything an epilogue is written with, and the checks of a list of sinks.
#include <kiln/epilogue/operation.hpp>  // first, so that clang's path to its sentences is short

#include <kiln/epilogue/axpby.hpp>
#include <kiln/epilogue/functions.hpp>
#include <kiln/epilogue/map.hpp>
#include <kiln/epilogue/reduction.hpp>
#include <kiln/epilogue/store.hpp>

namespace kiln {

/// Compile-time checks of a program's sinks; call it first, so that a mistake gives one sentence.
template <class A, int Products, class Space, class... Sinks>
constexpr void require_sinks() {
  static_assert(sizeof...(Sinks) > 0, "no sink: add store(d, expression)");
  static_assert((detail::sound_sink<A, Products, Space, std::remove_cv_t<Sinks>>::value && ...));
}

namespace detail {

template <int, int, class Sink>
status check_sink_pairs(const Sink&) {
  return {};
}
/// Sink `Index` against those behind it, from `J` on. Sinks act from left to right at each place, so a later one
/// must not read what an earlier one has written.
template <int Index, int J, class First, class Second, class... Rest>
status check_sink_pairs(const First& first, const Second& second, const Rest&... rest) {
  if (overlaps(first.view, second.view) != overlap::none)
    return fail(errc::overlap, "the outputs of two sinks, ", Index, " and ", J, ", share memory, each needs its own");
  status s = check_against_reads(second.view, first.expr, "a sink");
  if (!s.ok()) return s;
  second.expr.each_tensor([&](const auto& read, const char* name) {
    if (s.ok() && overlaps(first.view, read) != overlap::none)
      static_cast<void>(
          s = fail(errc::overlap, "a sink, number ", J, ", reads `", name,
                   "`, which shares memory with the output of number ", Index, "; put the one that reads first"));
  });
  if (!s.ok()) return s;
  return check_sink_pairs<Index, J + 1>(first, rest...);
}

}  // namespace detail

template <int Number = 0>
status check_sinks(index_t, index_t, index_t) {
  return {};
}
/// Run-time checks: each sink against the result's extents, and all of them against each other. `Number`: of the first.
template <int Number = 0, class First, class... Rest>
status check_sinks(index_t batch, index_t m, index_t n, const First& first, const Rest&... rest) {
  KILN_TRY(first.check(batch, m, n));
  KILN_TRY((detail::check_sink_pairs<Number, Number + 1>(first, rest...)));
  return check_sinks<Number + 1>(batch, m, n, rest...);
}

}  // namespace kiln
