#pragma once
/// Sinks: where values go. What is common to all of them, and how their types are checked.
#include <kiln/epilogue/operation.hpp>
#include <kiln/view/alignment.hpp>
#include <kiln/view/overlap.hpp>

namespace kiln {

/// Base of every sink. A sink has
///
///     view, expr                                            // an output and the expression that feeds it
///     using element = ...;                                  // of the output
///     static constexpr bool reduces;                        // false: put() writes each place; true: the program folds
///     template <int N> bool vectors() const;                // see place::vectors
///     status check(index_t batch, index_t m, index_t n) const;    // shapes, nulls, strides, overlap with reads
struct sink {};

template <class T>
inline constexpr bool is_sink_v = std::is_base_of_v<sink, std::remove_cvref_t<T>>;

namespace detail {

/// One assertion for each mistake, on plain values, so that a message is one sentence and names no long type.
template <mistake Mistake, bool ProductsSuffice, bool Rounded, bool ViewReachable, bool ReadsReachable>
struct sound {
  static constexpr bool value = true;  // first, for clang leaves the class at a failed assertion
  static_assert(
      Mistake != mistake::integer_activation,
      "an activation needs a float: this expression's value is int32; scale it by a float, or write as_float(acc)");
  static_assert(Mistake != mistake::functor_signature,
                "map(f, x...): f cannot be called; it needs a public, const call operator that is marked KILN_FN and "
                "takes as many "
                "floats as there are operands, perhaps with a kiln::coord behind them; with nvcc a lambda is marked "
                "__host__ __device__ and compiled with --extended-lambda");
  static_assert(Mistake != mistake::functor_result, "map(f, x...): f needs to return a float or an int32");
  static_assert(ProductsSuffice, "the epilogue uses acc_<1>, but there is one product: pass dual(b0, b1) as B");
  static_assert(
      Rounded,
      "a float expression goes into an int32 tensor: say how it is rounded, as in store(d, round_to<std::int32_t>(x))");
  static_assert(
      ViewReachable,
      "a sink's view lies in the wrong memory: gemm(host, ...) writes host views, gemm(device(...), ...) device views");
  static_assert(ReadsReachable,
                "an epilogue reads a view in the wrong memory, or calls what does not run there (a __device__ "
                "lambda on the host, a pointer to a function on the device): use host views with host, device views "
                "with device(...)");
};

/// A: the accumulators' type, Products: how many of them the program computes, Space: what it reaches.
template <class A, int Products, class Space, class Sink, class E = decltype(Sink::expr)>
using sound_sink =
    sound<E::template mistakes<A>(), E::products <= Products,
          E::template mistakes<A>() != mistake::none || !std::is_same_v<typename Sink::element, std::int32_t> ||
              std::is_same_v<typename E::template value<A>, std::int32_t>,
          std::is_same_v<Space, typename decltype(Sink::view)::space>, E::template runs_in<Space>()>;

/// Output of a sink against what expressions read, before or at the time of writing.
template <class View, class E>
status check_against_reads(const View& view, const E& expr, const char* where) {
  status s;
  expr.each_tensor([&](const auto& read, const char* name) {
    if (s.ok() && overlaps(view, read) == overlap::partial)
      static_cast<void>(s = fail(errc::overlap, "the output of `", where, "` shares memory with `", name,
                                 "`, needs to be apart from it, or element by element the same as an elem view"));
  });
  return s;
}

}  // namespace detail

}  // namespace kiln
