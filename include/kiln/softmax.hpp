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

namespace rows {
/// Stands for a mask of which the compiler has said what is wrong.
struct wrong_mask {};
}  // namespace rows

/// Only elements where `mask` (bool or uint8) is true take part: the others count as -inf, whatever they hold.
template <class V>
constexpr auto keep_where([[maybe_unused]] const V& mask) {
  constexpr bool good = kiln::detail::is_view_of<V, kiln::detail::elements_of<bool, std::uint8_t>>(1, 4);
  static_assert(good, "keep_where takes a view of bool or uint8; a mask of numbers is passed as add_mask");
  if constexpr (good)
    return kept_elements<tensor<const typename V::value_type, V::rank, typename V::space, no_unit>>{mask};
  else
    return rows::wrong_mask{};
}

/// scale * x + mask, with a mask of float, f16 or bf16.
template <class V>
constexpr auto add_mask([[maybe_unused]] const V& mask) {
  constexpr bool good = kiln::detail::is_view_of<V, rows::numbers>(1, 4);
  static_assert(good, "add_mask takes a view of float, f16 or bf16; one of bool or uint8 is passed as keep_where");
  if constexpr (good)
    return added_mask<tensor<const typename V::value_type, V::rank, typename V::space, no_unit>>{mask};
  else
    return rows::wrong_mask{};
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

template <class M>
inline constexpr bool is_mask = false;
template <class V>
inline constexpr bool is_mask<kept_elements<V>> = true;
template <class V>
inline constexpr bool is_mask<added_mask<V>> = true;

/// The rule of a mask's view, that has `rank` axes; of what is no mask, none.
template <class M>
constexpr auto reads_mask(int rank) {
  using view = decltype(M::view);
  return reads<view, elements_of<typename view::value_type>>(rank);
}

/// Softmax, or its logarithm, whose types are sound; else an assertion has said why. `mask`: one, or none.
template <bool Logarithmic, class Executor, class X, class Y, class... Mask>
status softmax_of(const Executor& ex, const X& x, const Y& out, softmax_options options, const Mask&... mask) {
  if constexpr ((std::is_same_v<Mask, wrong_mask> || ...)) {
    return {};
  } else if constexpr (!(is_mask<Mask> && ...)) {
    static_assert(kiln::detail::never<Mask...>,
                  "softmax: behind out come a mask, which is keep_where(view) or add_mask(view), and the options");
    return {};
  } else {
    constexpr auto found = first_fault<typename Executor::space>(
        reads<X, numbers>(1, 4), writes<Y, numbers>(rank_of<X>), reads_mask<Mask>(rank_of<X>)...);
    static_assert(
        found.what != fault::memory,
        "softmax: a view lies in another memory than the executor's: host takes host_view, device device_view");
    static_assert(found.operand != 0, "softmax: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
    static_assert(found.operand != 1, "softmax: out needs to be a view of x's rank of float, f16 or bf16, not const");
    static_assert(found.operand != 2, "softmax: the mask needs as many axes as x; one of extent 1 repeats");
    constexpr const char* name = Logarithmic ? "log_softmax" : "softmax";
    if constexpr (!found.none())
      return {};
    else if constexpr (sizeof...(Mask) == 0)
      return in_call(name, softmax_checked(ex, name, x, out, options, Logarithmic));
    else
      return in_call(name, masked_softmax_checked(ex, name, x, mask.view..., out, options, Logarithmic));
  }
}

}  // namespace rows

/// out = softmax(scale * x) along the last axis.
template <executor Executor, class X, class Y>
status softmax(const Executor& ex, const X& x, const Y& out, softmax_options options = {}) {
  return rows::softmax_of<false>(ex, x, out, options);
}
/// out = scale * x - log(sum(exp(scale * x))) along the last axis.
template <executor Executor, class X, class Y>
status log_softmax(const Executor& ex, const X& x, const Y& out, softmax_options options = {}) {
  return rows::softmax_of<true>(ex, x, out, options);
}

/// out = softmax of the masked input: `softmax(ex, x, out, keep_where(mask))`, or `add_mask(mask)`. The mask has as
/// many axes as `x`, each of equal extent or 1; along an axis of extent 1, or of stride 0, it repeats. Elements taken
/// out get 0. A row without any other gives NaN, or 0 with `masked`. A mask whose rows are not contiguous and aligned,
/// as those of `x` and `out` should be, costs the kernel its vector accesses.
template <executor Executor, class X, class Y, class Mask>
requires(!std::is_convertible_v<Mask, softmax_options>) status
    softmax(const Executor& ex, const X& x, const Y& out, const Mask& mask, softmax_options options = {}) {
  return rows::softmax_of<false>(ex, x, out, options, mask);
}
/// out = log-softmax of the masked input; elements taken out get -inf.
template <executor Executor, class X, class Y, class Mask>
requires(!std::is_convertible_v<Mask, softmax_options>) status
    log_softmax(const Executor& ex, const X& x, const Y& out, const Mask& mask, softmax_options options = {}) {
  return rows::softmax_of<true>(ex, x, out, options, mask);
}

template <class Any = void>
status softmax(...) {
  static_assert(
      kiln::detail::never<Any>,
      "softmax takes (executor, x, out, mask, options), the last two may be left out; the executor is host or "
      "device(stream)");
  return {};
}
template <class X, class Y>
status softmax(const X&, const Y&, const softmax_options&) {
  return softmax<X>();
}
template <class Any = void>
status log_softmax(...) {
  return softmax<Any>();
}
template <class X, class Y>
status log_softmax(const X&, const Y&, const softmax_options&) {
  return softmax<X>();
}

}  // namespace kiln
