#pragma once
/// RMSNorm, RMSNorm of a sum with its residual, and LayerNorm, whose result becomes int8, e4m3 or e5m2 with one scale a
/// row, in one launch. Each row is read once where registers hold it.
///
///     rms_norm(ex, x, weight, q, per_row_scales(s), 1e-5f);                        // computes s
///     rms_norm(ex, x, weight, q, given(per_row_scales(s)), 1e-5f);                 // s is there already, only read
///     add_rms_norm(ex, x, residual, weight, sum, q, per_row_scales(s), 1e-5f, {.range = int8_range::symmetric});
///     layer_norm(ex, x, weight, bias, q, given(per_tensor_scale(s)), 1e-5f);       // one for all rows
///
/// What norm.hpp makes in float32, and quantise.hpp of that: the normalised value is not rounded to the type of `x` on
/// its way, the code is its only rounding to a narrow type. s[r] = amax of the normalised row r / 127, 448 or 57344
/// (uint8: 255); 1 where amax is 0, also for rows without elements. Rounding, saturation and the options are those of
/// `quantise_rows`, and a NaN or an infinity in a row shows in its scale. With epsilon 0 a row of zeros is NaN.
///
/// `x`, `residual` and `sum` are float, f16 or bf16, rank 1 to 4, any strides, rows along the last axis; `q` has equal
/// extents. `weight` and `bias` have one element for each column. Scales are float, any stride: one for each row, or
/// one in all if given for the tensor. `sum` may be `x` or `residual` itself; all else that is written shares memory
/// with nothing.
///
/// Errors: bad_shape, bad_stride, bad_alignment, null_pointer, overlap, bad_option (epsilon negative or not finite).
#include <kiln/kernel/rows/norm_quantise.hpp>
#include <kiln/norm.hpp>
#include <kiln/quantise.hpp>

namespace kiln {

namespace rows {

/// What a call says of its scales.
template <class Arg>
struct norm_scales {
  static constexpr bool computed = true;
  using set = Arg;
  static constexpr const set& of(const Arg& a) { return a; }
};
template <class View>
struct norm_scales<given_scales<View>> {
  static constexpr bool computed = false;
  using set = View;
  static constexpr const set& of(const given_scales<View>& a) { return a.view; }
};

template <class Set, bool Computed>
constexpr bool scales_of_norm() {
  return !Set::affine && (Set::served == granularity::row || (!Computed && Set::served == granularity::tensor));
}

/// True if the types are sound; else an assertion has said why.
template <class Executor, class X, class Q, class Arg>
constexpr bool sound_norm_quantise() {
  using scales = norm_scales<Arg>;
  using set = typename scales::set;
  constexpr auto found = mistake_of_quantise<typename Executor::space, X, Q, set, scales::computed>();
  if constexpr (!sound_quantise<found>::value) {
    return false;
  } else {
    constexpr bool served = scales_of_norm<set, scales::computed>();
    static_assert(served,
                  "a norm computes per_row_scales, or takes given per_row_scales or a given per_tensor_scale, without "
                  "zero points");
    return served;
  }
}

/// An operand beside `q` and the scales, and its name.
template <class View>
struct named_view {
  const char* name;
  const View& view;
};
template <class View>
named_view(const char*, const View&) -> named_view<View>;

/// `q`, the scales and epsilon, against `x` and every other view of the call.
template <bool Computed, class X, class Q, class Set, class... Others>
status check_codes(const X& x, const Q& q, const Set& set, float epsilon, const named_view<Others>&... others) {
  KILN_TRY(check_output("q", q));
  KILN_TRY(check_same_shape("q", q, "x", x));
  KILN_TRY(check_set(x, set));
  if constexpr (Computed) KILN_TRY(check_output("scales", set.scales));
  status s = check_apart_from_set("q", q, set);
  const auto apart = [&](const char* name, const auto& view) {
    if (s.ok()) s = check_apart("q", q, name, view);
    if constexpr (Computed)
      if (s.ok()) s = check_apart("scales", set.scales, name, view);
  };
  apart("x", x);
  (apart(others.name, others.view), ...);
  KILN_TRY(s);
  return check_epsilon(epsilon);
}

template <class Arg, class Executor, class Source, class Norm, class X, class Q, class Set>
status run_norm_quantise(const Executor& ex, trace::launch_record record, const Source& source, const Norm& norm,
                         const X& x, const Q& q, const Set& set, quantise_options options) {
  constexpr bool computed = norm_scales<Arg>::computed;
  if (computed ? set.scales.empty() : q.empty()) return {};
  using code = typename Q::value_type;
  using program = norm_quantise_program<Source, Norm, code, std::conditional_t<computed, float, const float>>;
  const auto place = [&] {
    if constexpr (computed)
      return place_of<Set::served>(set.scales);
    else
      return place_of_const<Set::served>(set.scales);
  };
  return run(ex, record, program{source, norm, operand_of(q), place(), {codes_of<code>(options).rule}}, count(x), length(x));
}

}  // namespace rows

/// q = x / sqrt(mean(x^2) + epsilon) * weight over the scales.
template <executor Executor, class X, int R, class S, int U, class W, class SW, int UW, class Q, class SQ, int UQ,
          class Scales>
  requires(!std::is_convertible_v<Scales, float>)
status rms_norm(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<W, 1, SW, UW>& weight,
                const tensor<Q, R, SQ, UQ>& q, const Scales& scales, float epsilon, quantise_options options = {}) {
  using namespace rows;
  if constexpr (sound_norm_quantise<Executor, tensor<X, R, S, U>, tensor<Q, R, SQ, UQ>, Scales>()) {
    check_spaces<Executor, tensor<W, 1, SW, UW>>();
    check_float<W>();
    const auto& set = norm_scales<Scales>::of(scales);
    KILN_TRY(check_view("x", x));
    KILN_TRY(check_view("weight", weight));
    KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
    KILN_TRY(check_codes<norm_scales<Scales>::computed>(x, q, set, epsilon, named_view{"weight", weight}));
    return run_norm_quantise<Scales>(
        ex, {.program = "rms_norm", .fused = "quantise", .bytes = bytes_of(x, weight, q, set.scales)},
        rows_of_one<std::remove_const_t<X>>{input_of(x)},
        rms_values<std::remove_const_t<W>>{shared_line(weight), epsilon}, x, q, set, options);
  } else {
    return {};
  }
}

/// sum = x + residual, q = rms_norm(sum) * weight over the scales, in one pass. The norm is that of the sum before it
/// is rounded to the type of `sum`.
template <executor Executor, class X, int R, class S, int U, class A, class SA, int UA, class W, class SW, int UW,
          class T, class ST, int UT, class Q, class SQ, int UQ, class Scales>
  requires(!std::is_convertible_v<Scales, float>)
status add_rms_norm(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<A, R, SA, UA>& residual,
                    const tensor<W, 1, SW, UW>& weight, const tensor<T, R, ST, UT>& sum, const tensor<Q, R, SQ, UQ>& q,
                    const Scales& scales, float epsilon, quantise_options options = {}) {
  using namespace rows;
  if constexpr (sound_norm_quantise<Executor, tensor<X, R, S, U>, tensor<Q, R, SQ, UQ>, Scales>()) {
    check_spaces<Executor, tensor<A, R, SA, UA>, tensor<W, 1, SW, UW>, tensor<T, R, ST, UT>>();
    check_float<A>(), check_float<W>(), check_float<T>();
    const auto& set = norm_scales<Scales>::of(scales);
    KILN_TRY(check_view("x", x));
    KILN_TRY(check_view("residual", residual));
    KILN_TRY(check_view("weight", weight));
    KILN_TRY(check_output("sum", sum));
    KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
    KILN_TRY(check_same_shape("residual", residual, "x", x));
    KILN_TRY(check_same_shape("sum", sum, "x", x));
    KILN_TRY(check_in_place("sum", sum, "x", x));
    KILN_TRY(check_in_place("sum", sum, "residual", residual));
    KILN_TRY(check_apart("sum", sum, "weight", weight));
    KILN_TRY(check_apart_from_set("sum", sum, set));
    KILN_TRY(check_codes<norm_scales<Scales>::computed>(x, q, set, epsilon, named_view{"residual", residual},
                                                        named_view{"weight", weight}, named_view{"sum", sum}));
    using source = rows_of_sum<std::remove_const_t<X>, std::remove_const_t<A>, T>;
    return run_norm_quantise<Scales>(ex,
                                     {.program = "add_rms_norm",
                                      .fused = "residual add, quantise",
                                      .bytes = bytes_of(x, residual, weight, sum, q, set.scales)},
                                     source{input_of(x), input_of(residual), operand_of(sum)},
                                     rms_values<std::remove_const_t<W>>{shared_line(weight), epsilon}, x, q, set,
                                     options);
  } else {
    return {};
  }
}

/// q = ((x - mean) / sqrt(variance + epsilon) * weight + bias) over the scales.
template <executor Executor, class X, int R, class S, int U, class W, class SW, int UW, class B, class SB, int UB,
          class Q, class SQ, int UQ, class Scales>
  requires(!std::is_convertible_v<Scales, float>)
status layer_norm(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<W, 1, SW, UW>& weight,
                  const tensor<B, 1, SB, UB>& bias, const tensor<Q, R, SQ, UQ>& q, const Scales& scales, float epsilon,
                  quantise_options options = {}) {
  using namespace rows;
  if constexpr (sound_norm_quantise<Executor, tensor<X, R, S, U>, tensor<Q, R, SQ, UQ>, Scales>()) {
    check_spaces<Executor, tensor<W, 1, SW, UW>, tensor<B, 1, SB, UB>>();
    check_float<W>(), check_float<B>();
    const auto& set = norm_scales<Scales>::of(scales);
    KILN_TRY(check_view("x", x));
    KILN_TRY(check_view("weight", weight));
    KILN_TRY(check_view("bias", bias));
    KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
    KILN_TRY(check_length("bias", bias, length(x), "the columns of `x`"));
    KILN_TRY(check_codes<norm_scales<Scales>::computed>(x, q, set, epsilon, named_view{"weight", weight},
                                                        named_view{"bias", bias}));
    return run_norm_quantise<Scales>(
        ex,
        {.program = "layer_norm", .fused = "weight, bias, quantise", .bytes = bytes_of(x, weight, bias, q, set.scales)},
        rows_of_one<std::remove_const_t<X>>{input_of(x)},
        layer_values<std::remove_const_t<W>, std::remove_const_t<B>>{shared_line(weight), shared_line(bias), epsilon},
        x, q, set, options);
  } else {
    return {};
  }
}

}  // namespace kiln
