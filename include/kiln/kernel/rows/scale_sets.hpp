#pragma once
/// Sets of scales as arguments of a call: their types and shapes, and how the programs reach them.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/quantise.hpp>
#include <kiln/kernel/rows/quantise_sound.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/view/quantised.hpp>

namespace kiln::rows {

/// Groups that a row, or a column, of n elements has.
constexpr index_t groups_of(index_t n, index_t group) { return n == 0 ? 0 : (n - 1) / group + 1; }

/// Scales, or zero points, with the extents that n rows of m elements ask for.
template <granularity G, class T, int R, class S, int U>
status check_factors(const char* name, const tensor<T, R, S, U>& v, index_t n, index_t m,
                     [[maybe_unused]] index_t group) {
  KILN_TRY(check_view(name, v));
  if constexpr (G == granularity::tensor) return check_length(name, v, 1, "one for the tensor");
  if constexpr (G == granularity::row) return check_length(name, v, n, "one for each row");
  if constexpr (G == granularity::column) return check_length(name, v, m, "one for each column");
  if constexpr (kiln::detail::is_grouped(G)) {
    constexpr int axis = G == granularity::group_0 ? 0 : 1;
    index_t needed[2] = {n, m};
    needed[axis] = groups_of(needed[axis], group);
    for (int a = 0; a < 2; ++a)
      if (v.extents[a] != needed[a])
        return fail(errc::bad_shape, "operand `", name, "`: axis ", a, " has extent ", v.extents[a], ", needs ",
                    needed[a], " (groups of ", group, " along axis ", axis, ")");
  }
  return {};
}

/// Shapes of a set of `x`.
template <class X, int R, class S, int U, granularity G, class Scales, class Zeros>
status check_set(const tensor<X, R, S, U>& x, const scale_set<G, Scales, Zeros>& set) {
  if constexpr (kiln::detail::is_grouped(G))
    if (set.group < 1)
      return fail(errc::bad_option, "operand `scales`: groups of ", set.group, " elements, needs at least 1");
  const char* name = G == granularity::tensor ? "scale" : "scales";
  KILN_TRY(check_factors<G>(name, set.scales, count(x), length(x), set.group));
  if constexpr (scale_set<G, Scales, Zeros>::affine)
    return check_factors<G>("zero points", set.zeros, count(x), length(x), set.group);
  return {};
}

/// `out` shares nothing with the set.
template <class View, granularity G, class Scales, class Zeros>
status check_apart_from_set(const char* name, const View& out, const scale_set<G, Scales, Zeros>& set) {
  KILN_TRY(check_apart(name, out, "scales", set.scales));
  if constexpr (scale_set<G, Scales, Zeros>::affine) return check_apart(name, out, "zero points", set.zeros);
  return {};
}

/// The scales and zero points are outputs, apart from what they are made of, which the call names `of`, and from each
/// other.
template <class From, granularity G, class Scales, class Zeros>
status check_written_set(const char* of, const From& from, const scale_set<G, Scales, Zeros>& set) {
  KILN_TRY(check_output("scales", set.scales));
  KILN_TRY(check_apart("scales", set.scales, of, from));
  if constexpr (scale_set<G, Scales, Zeros>::affine) {
    KILN_TRY(check_output("zero points", set.zeros));
    KILN_TRY(check_apart("zero points", set.zeros, of, from));
    KILN_TRY(check_apart("zero points", set.zeros, "scales", set.scales));
  }
  return {};
}

/// What `place_of_run` calls (row, group), or (group, column) where scales serve columns.
template <granularity G, class T, int R, class S, int U>
constexpr place_of_run<T> place_of(const tensor<T, R, S, U>& v) {
  if constexpr (G == granularity::tensor)
    return {v.data, 0, 0};
  else if constexpr (G == granularity::row)
    return {v.data, v.stride(0), 0};
  else if constexpr (G == granularity::column)
    return {v.data, 0, v.stride(0)};
  else
    return {v.data, v.stride(0), v.stride(1)};
}
template <granularity>
constexpr place_of_run<no_zero> place_of(const kiln::detail::no_zero_points&) {
  return {};
}
template <granularity G, class V>
constexpr auto place_of_const(const V& v) {
  if constexpr (is_tensor_v<V>)
    return place_of<G, const typename V::value_type>(
        tensor<const typename V::value_type, V::rank, typename V::space, V::unit_axis>(v));
  else
    return place_of_run<const no_zero>{};
}

/// The lines of a column set: one for all rows, or one for each group of rows.
template <class T, class S, int U>
constexpr operand<const T> lines_of(const tensor<T, 1, S, U>& v) {
  return shared_line(static_cast<tensor<const T, 1, S, U>>(v));
}
template <class T, class S, int U>
constexpr operand<const T> lines_of(const tensor<const T, 1, S, U>& v) {
  return shared_line(v);
}
template <class T, class S, int U>
constexpr auto lines_of(const tensor<T, 2, S, U>& v) {
  return input_of(v);
}
constexpr operand<const no_zero> lines_of(const kiln::detail::no_zero_points&) { return {}; }

template <class Zeros>
struct zero_type {
  using type = no_zero;
};
template <class Zeros>
requires is_tensor_v<Zeros>
struct zero_type<Zeros> {
  using type = typename Zeros::value_type;
};

/// A set as the factors of a `scaled_program`.
template <granularity G, class Scales, class Zeros>
constexpr auto factors_of(const scale_set<G, Scales, Zeros>& set) {
  using zero = typename zero_type<Zeros>::type;
  if constexpr (G == granularity::column || G == granularity::group_0)
    return column_factors<zero>{lines_of(set.scales), lines_of(set.zeros),
                                G == granularity::column ? cut::any : set.group};
  else
    return run_factors<zero>{place_of_const<G>(set.scales), place_of_const<G>(set.zeros)};
}

/// y = step(x, factors of `set`).
template <class Executor, class X, int R, class S, int U, class Y, class SY, int UY, class Set, class Step>
status run_scaled(const Executor& ex, const char* name, const tensor<X, R, S, U>& x, const tensor<Y, R, SY, UY>& y,
                  const Set& set, const Step& step) {
  if (y.empty()) return {};
  const cut cuts(length(x), Set::served == granularity::group_1 ? set.group : cut::any);
  const auto factors = factors_of(set);
  scaled_program<std::remove_const_t<X>, Y, std::remove_const_t<decltype(factors)>, Step> program{
      input_of(x), operand_of(y), factors, step, cuts};
  return run(ex, {.program = name, .bytes = bytes_of(x, y, set.scales)}, program, count(x) * cuts.runs(), cuts.piece);
}

}  // namespace kiln::rows
