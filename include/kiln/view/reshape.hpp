#pragma once
/// Views made from views: other strides, swapped axes, slices, repeated axes. Nothing is copied.
#include <kiln/core/status.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln {

namespace detail {
template <int NewRank, int NewUnit, class T, int R, class S, int U>
KILN_FN constexpr auto reshaped(const tensor<T, R, S, U>& v) {
  tensor<T, NewRank, S, NewUnit> t;
  t.data = v.data;
#if defined(KILN_DEBUG)
  t.name = v.name;
#endif
  return t;
}
KILN_FN constexpr int swapped(int axis, int a, int b) { return axis == a ? b : axis == b ? a : axis; }
}  // namespace detail

/// The last two axes swapped: a row-major weight [N, K] becomes the K x N operand of x * W^T.
template <class T, int R, class S, int U>
  requires(R >= 2)
KILN_FN constexpr auto transposed(const tensor<T, R, S, U>& v) {
  auto t = detail::reshaped<R, (U == no_unit ? no_unit : detail::swapped(U, R - 2, R - 1))>(v);
  for (int a = 0; a < R; ++a) {
    const int from = a == R - 2 ? R - 1 : a == R - 1 ? R - 2 : a;
    t.extents[a] = v.extents[from], t.strides[a] = v.stride(from);
  }
  return t;
}

template <class T, class S, int U>
constexpr auto transposed(const tensor<T, 1, S, U>& v) {
  static_assert(sizeof(T) == 0,
                "transposed swaps two axes: a view of rank 1 becomes a matrix with broadcast<axis>(v, 1)");
  return v;
}

/// Axes in another order, as template arguments: `permuted<2, 0, 1>(v)`; -1 is the last axis.
template <int... Axes, class T, int R, class S, int U>
KILN_FN constexpr auto permuted(const tensor<T, R, S, U>& v) {
  static_assert(sizeof...(Axes) == R, "permuted needs one axis number for each axis of the view");
  constexpr int axes[R] = {(Axes < 0 ? Axes + R : Axes)...};
  constexpr bool valid = [] {
    for (int a = 0; a < R; ++a) {
      int seen = 0;
      const int list[R] = {(Axes < 0 ? Axes + R : Axes)...};
      for (int b = 0; b < R; ++b) seen += list[b] == a;
      if (seen != 1) return false;
    }
    return true;
  }();
  static_assert(valid, "permuted needs every axis exactly once");
  constexpr int unit = [] {
    const int list[R] = {(Axes < 0 ? Axes + R : Axes)...};
    for (int a = 0; a < R; ++a)
      if (list[a] == U) return a;
    return no_unit;
  }();
  auto t = detail::reshaped<R, unit>(v);
  for (int a = 0; a < R; ++a) t.extents[a] = v.extents[axes[a]], t.strides[a] = v.stride(axes[a]);
  return t;
}

/// Rows `pitch` elements apart (columns, where the unit axis is the last but one): the leading dimension of a matrix
/// inside a wider buffer. Axes in front of the last two follow packed behind.
template <class T, int R, class S, int U>
  requires(R >= 2 && U >= R - 2)
KILN_FN constexpr auto pitched(tensor<T, R, S, U> v, index_t pitch) {
  constexpr int outer = U == R - 1 ? R - 2 : R - 1;
  v.strides[outer] = pitch;
  index_t step = saturated_product(pitch, v.extents[outer]);
  for (int a = R - 3; a >= 0; --a) v.strides[a] = step, step = saturated_product(step, v.extents[a]);
  return v;
}

namespace detail {
/// What a wrong slice, step or index leaves behind: a view that every call refuses for its negative extent.
template <class T, int R, class S, int U>
KILN_FN constexpr tensor<T, R, S, U> refused(tensor<T, R, S, U> v, int axis) {
  v.extents[axis] = -1;
  return v;
}
}  // namespace detail

/// Elements [begin, end) of one axis. A negative axis or bound counts from the end. Bounds outside the axis, or begin >
/// end, give a view with extent -1, which every call refuses; `check_slice` says what is wrong.
template <class T, int R, class S, int U>
KILN_FN constexpr auto slice(tensor<T, R, S, U> v, int axis, index_t begin, index_t end) {
  if (axis < 0) axis += R;
  if (axis < 0 || axis >= R) return detail::refused(v, 0);
  const index_t n = v.extents[axis];
  if (n < 0) return detail::refused(v, axis);
  if (begin < 0) begin += n;
  if (end < 0) end += n;
  if (begin < 0 || end > n || begin > end) return detail::refused(v, axis);
  // Null stays null, which calls refuse; where no element is left, the next would lie outside the memory.
  if (v.data != nullptr && begin < end) v.data += begin * v.stride(axis);
  v.extents[axis] = end - begin;
  return v;
}

template <class T, int R, class S, int U>
constexpr auto slice(const tensor<T, R, S, U>& v, index_t, index_t) {
  static_assert(sizeof(T) == 0, "slice takes (view, axis, begin, end)");
  return v;
}

/// What is wrong with a slice, if anything: begin > end, or bounds outside the axis, or a step below one.
template <class T, int R, class S, int U>
status check_slice(const tensor<T, R, S, U>& v, int axis, index_t begin, index_t end, index_t step = 1) {
  const int a = axis < 0 ? axis + R : axis;
  if (a < 0 || a >= R) return fail(errc::bad_option, "slice: axis ", axis, " of a view with ", R, " axes");
  const index_t n = v.extents[a];
  if (n < 0) return fail(errc::bad_shape, "slice: axis ", axis, " has extent ", n, ", needs 0 or more");
  const index_t b = begin < 0 ? begin + n : begin, e = end < 0 ? end + n : end;
  if (step < 1) return fail(errc::bad_option, "slice: step ", step, ", needs at least 1");
  if (b < 0 || e > n || b > e)
    return fail(errc::bad_shape, "slice: [", begin, ", ", end, ") of axis ", axis, " with extent ", n,
                ", needs begin <= end inside it");
  return {};
}

/// Every `step`-th element of an axis; the axis is no longer a unit axis. A step below one gives
/// extent -1, and a refused axis stays refused.
template <int Axis, class T, int R, class S, int U>
KILN_FN constexpr auto strided(const tensor<T, R, S, U>& v, index_t step) {
  constexpr int axis = Axis < 0 ? Axis + R : Axis;
  static_assert(axis >= 0 && axis < R, "strided needs an axis of the view");
  auto t = detail::reshaped<R, (axis == U ? no_unit : U)>(v);
  for (int a = 0; a < R; ++a) t.extents[a] = v.extents[a], t.strides[a] = v.stride(a);
  if (step < 1) return detail::refused(t, axis);
  const index_t n = t.extents[axis];
  t.extents[axis] = n <= 0 ? n : (n - 1) / step + 1;
  if (t.extents[axis] > 1) t.strides[axis] = saturated_product(t.strides[axis], step);
  return t;
}

/// One index of an axis, which leaves the view: `pick<0>(batch, b)` is matrix b. A negative index counts from the end;
/// one outside the axis gives extent -1.
template <int Axis, class T, int R, class S, int U>
  requires(R >= 2)
KILN_FN constexpr auto pick(const tensor<T, R, S, U>& v, index_t at) {
  constexpr int axis = Axis < 0 ? Axis + R : Axis;
  static_assert(axis >= 0 && axis < R, "pick needs an axis of the view");
  constexpr int unit = U == axis ? no_unit : (U > axis ? U - 1 : U);
  auto t = detail::reshaped<R - 1, unit>(v);
  const index_t n = v.extents[axis];
  if (at < 0) at = n < 0 ? n : at + n;
  for (int a = 0, b = 0; a < R; ++a)
    if (a != axis) t.extents[b] = v.extents[a], t.strides[b] = v.stride(a), ++b;
  if (at < 0 || at >= n) return detail::refused(t, 0);
  if (t.data != nullptr) t.data += at * v.stride(axis);
  return t;
}
template <int Axis, class T, class S, int U>
KILN_FN constexpr auto pick(const tensor<T, 1, S, U>& v, index_t) {
  static_assert(sizeof(T) == 0, "pick leaves an axis out, and a view of rank 1 has no other: slice(v, 0, i, i + 1)");
  return v;
}

/// A new axis of `extent` equal layers (stride 0) in front of axis `Axis`.
template <int Axis, class T, int R, class S, int U>
KILN_FN constexpr auto broadcast(const tensor<T, R, S, U>& v, index_t extent) {
  constexpr int axis = Axis < 0 ? Axis + R + 1 : Axis;
  static_assert(axis >= 0 && axis <= R,
                "broadcast puts the new axis in front of an axis of the view, or behind the last");
  auto t = detail::reshaped<R + 1, (U == no_unit ? no_unit : U >= axis ? U + 1 : U)>(v);
  for (int a = 0, b = 0; a <= R; ++a) {
    if (a == axis)
      t.extents[a] = extent, t.strides[a] = 0;
    else
      t.extents[a] = v.extents[b], t.strides[a] = v.stride(b), ++b;
  }
  return t;
}

}  // namespace kiln
