#pragma once
/// The leaves of an expression: accumulators, numbers, and values read from memory.
#include <kiln/epilogue/access.hpp>
#include <kiln/epilogue/place.hpp>
#include <kiln/view/alignment.hpp>
#include <kiln/view/sound.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln {

/// The accumulator of one product.
template <int Index>
struct accumulator_node : node {
  static_assert(Index >= 0, "acc_<N>: products are numbered from 0");
  static constexpr int products = Index + 1;
  template <class A>
  using value = A;
  template <int N, class A, int C>
  KILN_FN vec<A, N> eval([[maybe_unused]] const accumulators<A, C, N>& from, const place&) const {
    if constexpr (Index < C) {
      return from.v[Index];
    } else {
      return {};  // the sink tells
    }
  }
};

/// The product of A and B; with `dual`, `acc_<0>` and `acc_<1>` are those of its first and second operand.
inline constexpr accumulator_node<0> acc{};
template <int Index>
inline constexpr accumulator_node<Index> acc_{};

/// The same number everywhere.
template <class V>
struct constant_node : node {
  V number;
  template <class A>
  using value = V;
  template <int N, class A, int C>
  KILN_FN vec<V, N> eval(const accumulators<A, C, N>&, const place&) const {
    vec<V, N> r;
    KILN_UNROLL
    for (int i = 0; i < N; ++i) r[i] = number;
    return r;
  }
};

namespace detail {
/// A node as it is; a number as a node that holds an int32 or a float.
template <class X>
constexpr auto as_node(const X& x) {
  if constexpr (is_node_v<X>)
    return x;
  else if constexpr (std::is_integral_v<X>)
    return constant_node<std::int32_t>{{}, static_cast<std::int32_t>(x)};
  else if constexpr (is_scalar_v<X>)
    return constant_node<float>{{}, convert<float>(x)};
  else
    return constant_node<float>{};  // the caller has reported it
}
}  // namespace detail

namespace detail {

/// How a broadcast leaf was asked for; its text is for messages.
enum class along { rows, columns, nothing };
constexpr const char* name_of(along a) {
  return a == along::rows ? "per_row" : a == along::columns ? "per_column" : "per_tensor";
}

template <class T>
constexpr void require_element() {
  static_assert(is_numeric_v<T>, "an epilogue reads f16, bf16, e4m3, e5m2, float, double, int32, int8 or uint8");
}

/// A view with other axes: the axes of `v` named in `from` (-1: one layer, stride 0).
template <int Rank, int Unit, class T, int R, class S, int U>
constexpr tensor<T, Rank, S, Unit> with_axes(const tensor<T, R, S, U>& v, const int (&from)[Rank]) {
  tensor<T, Rank, S, Unit> t;
  t.data = v.data;
#if defined(KILN_DEBUG)
  t.name = v.name;
#endif
  for (int a = 0; a < Rank; ++a) {
    t.extents[a] = from[a] < 0 ? 1 : v.extent(from[a]);
    t.strides[a] = from[a] < 0 ? 0 : v.stride(from[a]);
  }
  return t;
}

/// As [batch, rows, columns]; the batch axis of a matrix, or of one layer, has stride 0, so every batch reads the same.
template <class T, int R, class S, int U>
constexpr auto as_batch_of_matrices(const tensor<T, R, S, U>& v) {
  static_assert(R == 2 || R == 3,
                "an epilogue reads and writes matrices: views of rank 2, or 3 with a batch axis first");
  constexpr int unit = U == R - 1 ? 2 : U == R - 2 ? 1 : no_unit;
  auto t = with_axes<3, unit>(v, {R == 3 ? 0 : -1, R - 2, R - 1});
  if (t.extents[0] == 1) t.strides[0] = 0;
  return t;
}

/// As [batch, elements]. Rank 1 is a vector; rank 2 has a batch axis first; rank 3 has an axis of one beside the
/// vector's: (batch, 1, n) along columns, (batch, m, 1) along rows. `other` is that axis' extent.
template <class T, int R, class S, int U>
constexpr auto as_batch_of_vectors(const tensor<T, R, S, U>& v, along a, index_t& other) {
  static_assert(
      R <= 3, "per_row and per_column read vectors: views of rank 1, 2 (batch first) or 3 (with one axis of extent 1)");
  const int axis = R == 3 && a == along::rows ? 1 : R - 1;
  constexpr int unit = U != no_unit && U == R - 1 ? 1 : no_unit;
  other = R == 3 ? v.extent(a == along::rows ? R - 1 : R > 1 ? 1 : 0) : 1;
  // A unit axis that is not the vector's, as in a column cut from a matrix: its stride has been taken above.
  auto t = with_axes < 2, R == 3 ? no_unit : unit > (v, {R == 1 ? -1 : 0, axis});
  if (t.extents[0] == 1) t.strides[0] = 0;
  return t;
}

/// The extent of the batch axis, which comes first, of what a leaf reads. Behind it come `axes`.
inline status check_batches(index_t seen, index_t batch, const char* name, const char* where, const char* axes) {
  if (seen == 1 || seen == batch) return {};
  return fail(errc::bad_shape, "`", name, "` in `", where, "` has ", seen, " batches, needs ",
              batch == 1 ? "" : "1 or ", batch, " (it reads [", axes, "] or [batch, ", axes,
              "]; a matrix is read by elem)");
}

#if defined(KILN_DEBUG)
/// Aborts with the view's name if element `at` is outside.
template <class View, class... Index>
KILN_FN void watch(const View& v, index_t batch, Index... at) {
  (void)v(v.extent(0) == 1 ? index_t{0} : batch, at...);
}
#else
template <class View, class... Index>
KILN_FN void watch(const View&, index_t, Index...) {}
#endif

}  // namespace detail

/// One value for each row, each column, or for all.
template <class View, detail::along Along>
struct broadcast_node : node {
  View view;    ///< [batch, elements]
  index_t other;  ///< extent of the axis that must be one
  using element = typename View::value_type;
  template <class A>
  using value = detail::wide_t<element>;
  template <class Space>
  static constexpr bool runs_in() {
    return std::is_same_v<Space, typename View::space>;
  }

  template <int N, class A, int C>
  KILN_FN vec<value<A>, N> eval(const accumulators<A, C, N>&, const place& at) const {
    const element* p = view.data + at.batch * view.stride(0);
    if constexpr (Along == detail::along::columns) {
      detail::watch(view, at.batch, at.col + at.count - 1);
      p += at.col * view.stride(1);
      return detail::widen(detail::read_some< View::unit_axis == 1, N>(p, view.stride(1), at));
    } else {
      if constexpr (Along == detail::along::rows) {
        detail::watch(view, at.batch, at.row);
        p += at.row * view.stride(1);
      }
      const auto x = convert<value<A>>(detail::read_one(p));
      vec<value<A>, N> r;
      KILN_UNROLL
      for (int i = 0; i < N; ++i) r[i] = x;
      return r;
    }
  }

  template <int N>
  bool vectors() const {
    return Along != detail::along::columns || detail::rows_allow_vectors<N>(view);
  }
  status check(index_t batch, index_t m, index_t n, const char* where) const {
    constexpr const char* name = detail::name_of(Along);
    KILN_TRY(detail::check_batches(view.extent(0), batch, name, where, "values"));
    const index_t needed = Along == detail::along::rows ? m : Along == detail::along::columns ? n : 1;
    if (view.extent(1) != needed || other != 1) {
      if constexpr (Along == detail::along::nothing)
        return fail(errc::bad_shape, "`per_tensor` in `", where, "` has ", view.extent(1),
                    " values, needs 1; per_row and per_column read vectors");
      else if (other != 1)
        return fail(errc::bad_shape, "`", name, "` in `", where, "` is a view of rank 3 whose other axis has extent ",
                    other, ", needs 1; elem reads matrices");
      else
        return fail(errc::bad_shape, "`", name, "` in `", where, "` has ", view.extent(1), " values, needs ", needed,
                    " (the ", Along == detail::along::rows ? "rows" : "columns", " of the result)");
    }
    if (view.data == nullptr && batch * m * n != 0)
      return fail(errc::null_pointer, "`", name, "` in `", where, "` is null, needs ", needed, " values");
    return check_element_alignment(view, "`", name, "` in `", where, "`");
  }
  template <class F>
  void each_tensor(F&& f) const {
    f(view, detail::name_of(Along));
  }
};

/// One value for each element.
template <class View>
struct element_node : node {
  View view;  ///< [batch, rows, columns]
  using element = typename View::value_type;
  template <class A>
  using value = detail::wide_t<element>;
  template <class Space>
  static constexpr bool runs_in() {
    return std::is_same_v<Space, typename View::space>;
  }

  template <int N, class A, int C>
  KILN_FN vec<value<A>, N> eval(const accumulators<A, C, N>&, const place& at) const {
    detail::watch(view, at.batch, at.row, at.col + at.count - 1);
    const element* p = view.data + at.batch * view.stride(0) + at.row * view.stride(1) + at.col * view.stride(2);
    return detail::widen(detail::read_some<View::unit_axis == 2, N>(p, view.stride(2), at));
  }

  template <int N>
  bool vectors() const {
    return detail::rows_allow_vectors<N>(view);
  }
  status check(index_t batch, index_t m, index_t n, const char* where, const char* name = "elem") const {
    if (view.extent(1) != m || view.extent(2) != n)
      return fail(errc::bad_shape, "`", name, "` in `", where, "` is ", view.extent(1), " x ", view.extent(2),
                  ", needs ", m, " x ", n, " (the result's shape); per_row and per_column read vectors");
    KILN_TRY(detail::check_batches(view.extent(0), batch, name, where, "rows, columns"));
    if (view.data == nullptr && batch * m * n != 0)
      return fail(errc::null_pointer, "`", name, "` in `", where, "` is null, needs ", m, " x ", n, " elements");
    return check_element_alignment(view, "`", name, "` in `", where, "`");
  }
  template <class F>
  void each_tensor(F&& f) const {
    f(view, "elem");
  }
};

namespace detail {

/// What stands for a leaf that is not made of one view.
template <class... Any>
struct no_leaf : constant_node<float> {
  static_assert(never<Any...>, "per_row, per_column, per_tensor and elem take one view: per_column(host_view(p, n))");
};

template <along Along, class V>
constexpr auto broadcast_leaf(const V& v) {
  static_assert(is_tensor_v<V>, "per_row, per_column and per_tensor read a view: host_view(p, n) or device_view(p, n)");
  if constexpr (is_tensor_v<V>) {
    require_element<typename V::value_type>();
    index_t other = 1;
    const auto view = as_batch_of_vectors(v, Along, other);
    return broadcast_node<std::remove_const_t<decltype(view)>, Along>{{}, view, other};
  } else {
    return constant_node<float>{};
  }
}

}  // namespace detail

/// v[row], or v[batch, row]: a vector with a value for each row. A batch axis of one serves every batch.
template <class V>
constexpr auto per_row(const V& v) {
  return detail::broadcast_leaf<detail::along::rows>(v);
}
template <class... Any>
detail::no_leaf<Any...> per_row(...);

/// v[col], or v[batch, col]: a vector with a value for each column; (1, N) and (1, 1, N) will do.
template <class V>
constexpr auto per_column(const V& v) {
  return detail::broadcast_leaf<detail::along::columns>(v);
}
template <class... Any>
detail::no_leaf<Any...> per_column(...);

/// v[0]: one value in memory, as for a scale that a kernel before has computed.
template <class V>
constexpr auto per_tensor(const V& v) {
  if constexpr (is_tensor_v<V>)
    static_assert(V::rank == 1, "per_tensor reads one value: a view of rank 1 and length 1");
  return detail::broadcast_leaf<detail::along::nothing>(v);
}
template <class... Any>
detail::no_leaf<Any...> per_tensor(...);

/// t[row, col], or t[batch, row, col]. Any strides, also 0. `elem<T>(t)` also says which element type is expected.
template <class T = void, class V>
constexpr auto elem(const V& t) {
  static_assert(is_tensor_v<V>, "elem reads a view: host_view(p, m, n) or device_view(p, m, n)");
  if constexpr (is_tensor_v<V>) {
    static_assert(std::is_void_v<T> || std::is_same_v<native_t<T>, typename V::value_type>,
                  "elem<T>(view): the view's elements are not of type T; elem(view) reads any type and widens it");
    detail::require_element<typename V::value_type>();
    const auto view = detail::as_batch_of_matrices(t);
    return element_node<std::remove_const_t<decltype(view)>>{{}, view};
  } else {
    return constant_node<float>{};
  }
}
template <class... Any>
detail::no_leaf<Any...> elem(...);

}  // namespace kiln
