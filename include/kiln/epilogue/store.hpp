#pragma once
/// The sink that stores a value for each element, with one rounding, saturating where `convert` does.
#include <kiln/epilogue/sink.hpp>

namespace kiln {

template <class View, class E>
struct store_sink : sink {
  View view;  ///< [batch, rows, columns]; a matrix is a batch of one
  E expr;
  using element = typename View::element;
  static constexpr bool reduces = false;

  /// The values of a place, as stored.
  template <int N, class A, int C>
  KILN_FN vec<element, N> values(const accumulators<A, C, N>& from, const place& at) const {
    static_assert(detail::sound_sink<A, C, typename View::space, store_sink>::value);
    return detail::narrow<element>(detail::eval<N>(expr, from, at));
  }
  /// Writes them: in vectors where the address allows, nothing beyond `count`.
  template <int N>
  KILN_FN void write(const vec<element, N>& x, const place& at) const {
    detail::watch(view, at.batch, at.row, at.col + at.count - 1);
    element* p = view.data + at.batch * view.stride(0) + at.row * view.stride(1) + at.col * view.stride(2);
    detail::write_some<View::unit_axis == 2>(p, view.stride(2), at, x);
  }
  template <int N, class A, int C>
  KILN_FN void put(const accumulators<A, C, N>& from, const place& at) const {
    write(values(from, at), at);
  }

  /// For `place::vectors`: whether all that is read and written allows accesses of N elements.
  template <int N>
  bool vectors() const {
    return detail::rows_allow_vectors<N>(view) && expr.template vectors<N>();
  }

  status check(index_t batch, index_t m, index_t n) const {
    if (view.extent(1) != m || view.extent(2) != n)
      return fail(errc::bad_shape, "the view of `store` is ", view.extent(1), " x ", view.extent(2), ", needs ", m,
                  " x ", n);
    if (view.extent(0) != batch)
      return fail(errc::bad_shape, "the view of `store` has ", view.extent(0), " batches, needs ", batch);
    KILN_TRY(expr.check(batch, m, n, "store"));
    if (view.empty()) return {};
    if (view.data == nullptr)
      return fail(errc::null_pointer, "the view of `store` is null, needs ", m, " x ", n, " elements");
    KILN_TRY(check_element_alignment(view, "the view of `store`"));
    if (overlaps_itself(view)) {
      if (batch == 1)
        return fail(errc::bad_stride, "the view of `store` has strides ", view.stride(1), ", ", view.stride(2), " for ",
                    m, " x ", n, " elements, needs each element at an address of its own");
      return fail(errc::bad_stride, "the view of `store` has strides ", view.stride(0), ", ", view.stride(1), ", ",
                  view.stride(2), " for ", batch, " x ", m, " x ", n,
                  " elements, needs each element at an address of its own");
    }
    return detail::check_against_reads(view, expr, "store");
  }
};

/// Stores `expr` into a view of rank 2, or 3 with a batch axis first.
template <class V, class E>
constexpr auto store(const V& view, const E& expr) {
  constexpr bool viewed = is_tensor_v<V>, valued = is_operand_v<E>;
  static_assert(viewed,
                "store(view, expression): the first argument is a view: host_view(p, m, n) or device_view(p, m, n)");
  static_assert(!viewed || valued,
                "store(view, expression): the second argument is an expression, such as relu(acc + per_column(bias))");
  if constexpr (viewed && valued) {
    constexpr bool written = !std::is_const_v<typename V::element>, known = is_numeric_v<typename V::value_type>;
    static_assert(written, "store(view, expression): the view's elements are const");
    static_assert(!written || known,
                  "store(view, expression): elements are f16, bf16, e4m3, e5m2, float, double, int32, int8 or uint8");
    if constexpr (written && known) {
      const auto out = detail::as_batch_of_matrices(view);
      const auto e = detail::as_node(expr);
      return store_sink<std::remove_const_t<decltype(out)>, std::remove_const_t<decltype(e)>>{{}, out, e};
    } else {
      return sink{};
    }
  } else {
    return sink{};
  }
}
template <class... Any>
constexpr sink store(...) {
  static_assert(detail::never<Any...>,
                "store takes (view, expression), as store(d, relu(acc)); a second output has a store of its own");
  return {};
}

}  // namespace kiln
