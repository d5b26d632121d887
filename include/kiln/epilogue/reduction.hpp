#pragma once
/// Sinks that reduce over a row or a column. They say what is folded and how; the program folds, in an order of its own
/// that is the same in every run.
#include <kiln/core/reduction.hpp>
#include <kiln/epilogue/arithmetic.hpp>
#include <kiln/epilogue/sink.hpp>

namespace kiln {

/// What is reduced: the columns of each row, giving m values, or the rows of each column, giving n.
enum class reduced_axis { columns, rows };

template <reduction Op, reduced_axis Over, class View, class E>
struct reduction_sink : sink {
  View view;  ///< [batch, m] or [batch, n]
  E expr;
  using element = typename View::element;
  static constexpr bool reduces = true;
  static constexpr reduction op = Op;
  static constexpr reduced_axis over = Over;
  /// Partial results: int32 or float.
  template <class A>
  using partial = typename E::template value<A>;

  /// What is folded at a place.
  template <int N, class A, int C>
  KILN_FN vec<partial<A>, N> values(const accumulators<A, C, N>& from, const place& at) const {
    static_assert(detail::sound_sink<A, C, typename View::space, reduction_sink>::value);
    auto x = detail::eval<N>(expr, from, at);
    if constexpr (Op == reduction::amax) {
      KILN_UNROLL
      for (int i = 0; i < N; ++i) x[i] = magnitude(x[i]);
    }
    return x;
  }
  /// Neutral in `combine`: the result over nothing.
  template <class P>
  KILN_FN static constexpr P identity() {
    if constexpr (Op == reduction::sum || Op == reduction::amax)
      return P{0};
    else if constexpr (std::is_integral_v<P>)
      return Op == reduction::max ? limits<P>::lowest() : (limits<P>::max)();
    else
      return Op == reduction::max ? -limits<P>::infinity() : limits<P>::infinity();
  }
  template <class P>
  KILN_FN static P combine(P x, P y) {
    if constexpr (Op == reduction::sum)
      return detail::plus{}(x, y);
    else if constexpr (Op == reduction::min)
      return activation::smaller(x, y);
    else
      return activation::larger(x, y);
  }
  /// The values inside the matrix of a place, folded from left to right: a part of a row's result.
  template <int N, class A, int C>
  KILN_FN partial<A> fold(const accumulators<A, C, N>& from, const place& at) const {
    const auto x = values(from, at);
    partial<A> r = x[0];
    KILN_UNROLL
    for (int i = 1; i < N; ++i)
      if (i < at.count) r = combine(r, x[i]);
    return r;
  }
  /// Writes the result of row or column `at`.
  template <class P>
  KILN_FN void write(index_t batch, index_t at, P x) const {
    detail::watch(view, batch, at);
    view.data[batch * view.stride(0) + at * view.stride(1)] = convert<element>(x);
  }

  /// For `place::vectors`.
  template <int N>
  bool vectors() const {
    return expr.template vectors<N>();
  }

  status check(index_t batch, index_t m, index_t n) const {
    const char* name = Over == reduced_axis::columns ? "reduce_rows" : "reduce_columns";
    const index_t needed = Over == reduced_axis::columns ? m : n;
    if (view.extent(1) != needed)
      return fail(errc::bad_shape, "the view of `", name, "` has ", view.extent(1), " elements, needs ", needed,
                  " (the ", Over == reduced_axis::columns ? "rows" : "columns", " of the result)");
    if (view.extent(0) != batch)
      return fail(errc::bad_shape, "the view of `", name, "` has ", view.extent(0), " batches, needs ", batch);
    KILN_TRY(expr.check(batch, m, n, name));
    if (view.empty()) return {};
    if (view.data == nullptr)
      return fail(errc::null_pointer, "the view of `", name, "` is null, needs ", needed, " elements");
    KILN_TRY(check_element_alignment(view, "the view of `", name, "`"));
    if (overlaps_itself(view))
      return fail(errc::bad_stride, "the view of `", name, "` has strides ", view.stride(0), ", ", view.stride(1),
                  " for ", batch, " x ", needed, " elements, needs each element at an address of its own");
    return detail::check_against_reads(view, expr, name);
  }

 private:
  KILN_FN static float magnitude(float x) { return x < 0.0f ? -x : x; }
  KILN_FN static std::int32_t magnitude(std::int32_t x) {
    return x == limits<std::int32_t>::lowest() ? (limits<std::int32_t>::max)() : x < 0 ? -x : x;
  }
};

namespace detail {

template <reduction Op, reduced_axis Over, class V, class E>
constexpr auto reduction_into(const V& view, const E& expr) {
  constexpr bool folds = Op != reduction::mean, viewed = is_tensor_v<V>, valued = is_operand_v<E>;
  static_assert(folds, "a sink folds a sum: scale it by 1/n for a mean");
  static_assert(viewed, "reduce_rows and reduce_columns write a view: host_view(p, n) or device_view(p, n)");
  static_assert(!viewed || valued, "reduce_rows and reduce_columns reduce an expression, such as acc");
  if constexpr (folds && viewed && valued) {
    static_assert(V::rank == 1 || V::rank == 2,
                  "reduce_rows and reduce_columns write vectors: views of rank 1, or 2 with a batch axis first");
    static_assert(!std::is_const_v<typename V::element>,
                  "reduce_rows and reduce_columns: the view's elements are const");
    require_element<typename V::value_type>();
    index_t other = 1;
    const auto out = as_batch_of_vectors(view, along::columns, other);
    const auto e = as_node(expr);
    return reduction_sink<Op, Over, std::remove_const_t<decltype(out)>, std::remove_const_t<decltype(e)>>{{}, out, e};
  } else {
    return sink{};
  }
}

template <class... Any>
constexpr sink no_reduction() {
  static_assert(never<Any...>,
                "reduce_rows<op> and reduce_columns<op> take (view, expression), as "
                "reduce_rows<reduction::sum>(host_view(p, m), acc)");
  return {};
}

}  // namespace detail

/// One value for each row, over its columns: `reduce_rows<reduction::amax>(v, expr)`, v of m, or batch x m, elements.
template <reduction Op, class V, class E>
constexpr auto reduce_rows(const V& view, const E& expr) {
  return detail::reduction_into<Op, reduced_axis::columns>(view, expr);
}
template <reduction = reduction::sum, class... Any>
constexpr sink reduce_rows(...) { return detail::no_reduction<Any...>(); }
/// One value for each column, over its rows; v of n, or batch x n, elements.
template <reduction Op, class V, class E>
constexpr auto reduce_columns(const V& view, const E& expr) {
  return detail::reduction_into<Op, reduced_axis::rows>(view, expr);
}
template <reduction = reduction::sum, class... Any>
constexpr sink reduce_columns(...) { return detail::no_reduction<Any...>(); }

}  // namespace kiln
