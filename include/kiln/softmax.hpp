#pragma once
/// Softmax and log-softmax over the last axis, with and without a mask.
///
/// Views of rank 1 to 4 and equal extents, of float, f16 or bf16, any strides; `out` may be `x` itself. Sums are
/// float32, the result is rounded once. A NaN in a row, or +inf, makes its results NaN; a row that is all -inf gives
/// NaN, or 0 (log_softmax: -inf) with `masked`. No elements: success, nothing written. Errors: bad_shape, bad_stride,
/// null_pointer, overlap (equal views of `x` and `out` are allowed), bad_option (scale not finite).
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/softmax.hpp>
#include <kiln/kernel/rows/sound.hpp>

namespace kiln {

struct softmax_options {
  float scale = 1;      ///< of the input: softmax(scale * x)
  bool masked = false;  ///< a row that is all -inf gives zeros (log_softmax: -inf) instead of NaN
};

/// A mask whose elements are kept where it is true (not 0).
template <class View>
struct kept_elements {
  View view;
};
/// A mask that is added to the scaled input: 0 keeps an element, -inf takes it out.
template <class View>
struct added_mask {
  View view;
};

/// Only elements where `mask` (bool or uint8) is true take part: the others count as -inf, whatever they hold.
template <class T, int R, class S, int U>
constexpr auto keep_where(const tensor<T, R, S, U>& mask) {
  static_assert(std::is_same_v<std::remove_const_t<T>, bool> || std::is_same_v<std::remove_const_t<T>, std::uint8_t>,
                "keep_where takes a view of bool or uint8; a mask of numbers is passed as add_mask");
  return kept_elements<tensor<const T, R, S, no_unit>>{mask};
}

/// scale * x + mask, with a mask of float, f16 or bf16.
template <class T, int R, class S, int U>
constexpr auto add_mask(const tensor<T, R, S, U>& mask) {
  rows::check_float<T>();
  return added_mask<tensor<const T, R, S, no_unit>>{mask};
}

namespace rows {

template <class X, int R, class S, int U, class Y, class T, int V>
status check_softmax(const tensor<X, R, S, U>& x, const tensor<Y, R, T, V>& out, softmax_options options) {
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_same_shape("out", out, "x", x));
  KILN_TRY(check_in_place("out", out, "x", x));
  if (!is_finite(options.scale))
    return fail(errc::bad_option, "option `scale`: saw ", options.scale, ", needs a finite number");
  return {};
}

template <executor Executor, class X, int R, class S, int U, class Y, class T, int V>
status softmax_checked(const Executor& ex, const char* name, const tensor<X, R, S, U>& x, const tensor<Y, R, T, V>& out,
                       softmax_options options, bool logarithmic) {
  KILN_TRY(check_softmax(x, out, options));
  if (out.empty()) return {};
  softmax_program<std::remove_const_t<X>, Y> program{input_of(x), operand_of(out), options.scale, options.masked,
                                                     logarithmic};
  return run(ex, {.program = name, .bytes = bytes_of(x, out)}, program, count(x), length(x));
}

/// A mask repeated along its axes of extent 1; bool as the byte that it is.
template <class M, int R, class S, class X>
constexpr auto repeated_over(const tensor<const M, R, S, no_unit>& mask, const X& x) {
  using element = std::conditional_t<std::is_same_v<M, bool>, std::uint8_t, M>;
  tensor<const element, R, S, no_unit> t;
  t.data = reinterpret_cast<const element*>(mask.data);
  for (int a = 0; a < R; ++a) t.extents[a] = x.extents[a], t.strides[a] = mask.extents[a] == 1 ? 0 : mask.strides[a];
  return t;
}

template <executor Executor, class X, int R, class S, int U, class M, class SM, class Y, class T, int V>
status masked_softmax_checked(const Executor& ex, const char* name, const tensor<X, R, S, U>& x,
                              const tensor<const M, R, SM, no_unit>& mask, const tensor<Y, R, T, V>& out,
                              softmax_options options, bool logarithmic) {
  KILN_TRY(check_softmax(x, out, options));
  KILN_TRY(check_view("mask", mask));
  for (int a = 0; a < R; ++a)
    if (mask.extents[a] != 1 && mask.extents[a] != x.extents[a])
      return fail(errc::bad_shape, "operand `mask`: axis ", a, " has extent ", mask.extents[a], ", needs 1 or ",
                  x.extents[a], " as in `x`");
  KILN_TRY(check_apart("out", out, "mask", mask));
  if (out.empty()) return {};
  const auto whole = repeated_over(mask, x);
  using element = typename decltype(whole)::value_type;
  masked_softmax_program<std::remove_const_t<X>, element, Y> program{input_of(x),   operand_of(whole), operand_of(out),
                                                                     options.scale, options.masked,    logarithmic};
  return run(ex, {.program = name, .fused = "mask", .bytes = bytes_of(x, mask, out)}, program, count(x), length(x));
}

}  // namespace rows

/// out = softmax(scale * x) along the last axis.
template <executor Executor, class X, int R, class S, int U, class Y, int Q, class T, int V>
status softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, Q, T, V>& out,
               softmax_options options = {}) {
  constexpr auto found = rows::mistake_of_rows<typename Executor::space, tensor<X, R, S, U>, tensor<Y, Q, T, V>>();
  if constexpr (rows::sound_rows<found>::value)
    return rows::softmax_checked(ex, "softmax", x, out, options, false);
  else
    return {};
}

/// out = scale * x - log(sum(exp(scale * x))) along the last axis.
template <executor Executor, class X, int R, class S, int U, class Y, int Q, class T, int V>
status log_softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, Q, T, V>& out,
                   softmax_options options = {}) {
  constexpr auto found = rows::mistake_of_rows<typename Executor::space, tensor<X, R, S, U>, tensor<Y, Q, T, V>>();
  if constexpr (rows::sound_rows<found>::value)
    return rows::softmax_checked(ex, "log_softmax", x, out, options, true);
  else
    return {};
}

/// out = softmax of the masked input: `softmax(ex, x, out, keep_where(mask))`, or `add_mask(mask)`. The mask has as
/// many axes as `x`, each of equal extent or 1; along an axis of extent 1, or of stride 0, it repeats. Elements taken
/// out get 0. A row without any other gives NaN, or 0 with `masked`. A mask whose rows are not contiguous and aligned,
/// as those of `x` and `out` should be, costs the kernel its vector accesses.
template <executor Executor, class X, int R, class S, int U, class Y, int Q, class T, int V, class M>
status softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, Q, T, V>& out,
               const kept_elements<M>& mask, softmax_options options = {}) {
  constexpr auto found = rows::mistake_of_rows<typename Executor::space, tensor<X, R, S, U>, tensor<Y, Q, T, V>, M>();
  if constexpr (rows::sound_rows<found>::value)
    return rows::masked_softmax_checked(ex, "softmax", x, mask.view, out, options, false);
  else
    return {};
}
template <executor Executor, class X, int R, class S, int U, class Y, int Q, class T, int V, class M>
status softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, Q, T, V>& out,
               const added_mask<M>& mask, softmax_options options = {}) {
  constexpr auto found = rows::mistake_of_rows<typename Executor::space, tensor<X, R, S, U>, tensor<Y, Q, T, V>, M>();
  if constexpr (rows::sound_rows<found>::value)
    return rows::masked_softmax_checked(ex, "softmax", x, mask.view, out, options, false);
  else
    return {};
}

/// out = log-softmax of the masked input; elements taken out get -inf.
template <executor Executor, class X, int R, class S, int U, class Y, int Q, class T, int V, class M>
status log_softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, Q, T, V>& out,
                   const kept_elements<M>& mask, softmax_options options = {}) {
  constexpr auto found = rows::mistake_of_rows<typename Executor::space, tensor<X, R, S, U>, tensor<Y, Q, T, V>, M>();
  if constexpr (rows::sound_rows<found>::value)
    return rows::masked_softmax_checked(ex, "log_softmax", x, mask.view, out, options, true);
  else
    return {};
}
template <executor Executor, class X, int R, class S, int U, class Y, int Q, class T, int V, class M>
status log_softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, Q, T, V>& out,
                   const added_mask<M>& mask, softmax_options options = {}) {
  constexpr auto found = rows::mistake_of_rows<typename Executor::space, tensor<X, R, S, U>, tensor<Y, Q, T, V>, M>();
  if constexpr (rows::sound_rows<found>::value)
    return rows::masked_softmax_checked(ex, "log_softmax", x, mask.view, out, options, true);
  else
    return {};
}

}  // namespace kiln
