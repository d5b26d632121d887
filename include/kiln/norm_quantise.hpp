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

template <class Set, bool Computed>
constexpr bool scales_of_norm() {
  return !Set::affine && (Set::served == granularity::row || (!Computed && Set::served == granularity::tensor));
}

/// What a norm has against its set.
template <class Executor, class Q, class Arg>
constexpr quantise_mistake mistake_of_norm_scales() {
  using set = typename scales_argument<Arg>::type;
  constexpr bool computed = scales_argument<Arg>::computed;
  constexpr quantise_mistake found = mistake_of_set_of<typename Executor::space, Q, set, computed>();
  if constexpr (found != quantise_mistake::none)
    return found;
  else
    return scales_of_norm<set, computed>() ? quantise_mistake::none : quantise_mistake::of_norm;
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
  constexpr bool computed = scales_argument<Arg>::computed;
  if (computed ? set.scales.empty() : q.empty()) return {};
  using code = typename Q::value_type;
  using program = norm_quantise_program<Source, Norm, code, std::conditional_t<computed, float, const float>>;
  const auto place = [&] {
    if constexpr (computed)
      return place_of<Set::served>(set.scales);
    else
      return place_of_const<Set::served>(set.scales);
  };
  return run(ex, record, program{source, norm, operand_of(q), place(), {codes_of<code>(options).rule}}, count(x),
             length(x));
}

}  // namespace rows

/// q = x / sqrt(mean(x^2) + epsilon) * weight over the scales.
template <executor Executor, class X, class W, class Q, class Scales>
requires(!std::is_convertible_v<Scales, float>) status
    rms_norm(const Executor& ex, const X& x, const W& weight, const Q& q, const Scales& scales, float epsilon,
             quantise_options options = {}) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(1, 4), reads<W, numbers>(1),
                                                               writes<Q, code_elements>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "rms_norm: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "rms_norm: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "rms_norm: weight needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 2,
                "rms_norm: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const");
  if constexpr (!found.none()) {
    return {};
  } else if constexpr (!sound_quantise<mistake_of_norm_scales<Executor, Q, Scales>()>::value) {
    return {};
  } else {
    return in_call("rms_norm", [&]() -> status {
      const auto& set = scales_argument<Scales>::of(scales);
      KILN_TRY(check_view("x", x));
      KILN_TRY(check_view("weight", weight));
      KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
      KILN_TRY(check_codes<scales_argument<Scales>::computed>(x, q, set, epsilon, named_view{"weight", weight}));
      return run_norm_quantise<Scales>(
          ex, {.program = "rms_norm", .fused = "quantise", .bytes = bytes_of(x, weight, q, set.scales)},
          rows_of_one<typename X::value_type>{input_of(x)},
          rms_values<typename W::value_type>{shared_line(weight), epsilon}, x, q, set, options);
    }());
  }
}
template <class X, class W, class Q, class Scales>
status rms_norm(const X&, const W&, const Q&, const Scales&, float, const quantise_options&) {
  return rms_norm<X>();
}

/// sum = x + residual, q = rms_norm(sum) * weight over the scales, in one pass. The norm is that of the sum before it
/// is rounded to the type of `sum`.
template <executor Executor, class X, class A, class W, class T, class Q, class Scales>
requires(!std::is_convertible_v<Scales, float>) status
    add_rms_norm(const Executor& ex, const X& x, const A& residual, const W& weight, const T& sum, const Q& q,
                 const Scales& scales, float epsilon, quantise_options options = {}) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(1, 4), reads<A, numbers>(rank_of<X>),
                                                               reads<W, numbers>(1), writes<T, numbers>(rank_of<X>),
                                                               writes<Q, code_elements>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "add_rms_norm: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "add_rms_norm: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "add_rms_norm: residual needs to be a view of x's rank of float, f16 or bf16");
  static_assert(found.operand != 2,
                "add_rms_norm: weight needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 3,
                "add_rms_norm: sum needs to be a view of x's rank of float, f16 or bf16, not const");
  static_assert(found.operand != 4,
                "add_rms_norm: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const");
  if constexpr (!found.none()) {
    return {};
  } else if constexpr (!sound_quantise<mistake_of_norm_scales<Executor, Q, Scales>()>::value) {
    return {};
  } else {
    return in_call("add_rms_norm", [&]() -> status {
      const auto& set = scales_argument<Scales>::of(scales);
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
      using source = rows_of_sum<typename X::value_type, typename A::value_type, typename T::value_type>;
      KILN_TRY(check_codes<scales_argument<Scales>::computed>(x, q, set, epsilon, named_view{"residual", residual},
                                                              named_view{"weight", weight}, named_view{"sum", sum}));
      return run_norm_quantise<Scales>(ex,
                                       {.program = "add_rms_norm",
                                        .fused = "residual add, quantise",
                                        .bytes = bytes_of(x, residual, weight, sum, q, set.scales)},
                                       source{input_of(x), input_of(residual), operand_of(sum)},
                                       rms_values<typename W::value_type>{shared_line(weight), epsilon}, x, q, set,
                                       options);
    }());
  }
}
template <class X, class A, class W, class T, class Q, class Scales>
status add_rms_norm(const X&, const A&, const W&, const T&, const Q&, const Scales&, float, const quantise_options&) {
  return add_rms_norm<X>();
}

/// q = ((x - mean) / sqrt(variance + epsilon) * weight + bias) over the scales.
template <executor Executor, class X, class W, class B, class Q, class Scales>
requires(!std::is_convertible_v<Scales, float>) status
    layer_norm(const Executor& ex, const X& x, const W& weight, const B& bias, const Q& q, const Scales& scales,
               float epsilon, quantise_options options = {}) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(
      reads<X, numbers>(1, 4), reads<W, numbers>(1), reads<B, numbers>(1), writes<Q, code_elements>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "layer_norm: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "layer_norm: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "layer_norm: weight needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 2, "layer_norm: bias needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 3,
                "layer_norm: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const");
  if constexpr (!found.none()) {
    return {};
  } else if constexpr (!sound_quantise<mistake_of_norm_scales<Executor, Q, Scales>()>::value) {
    return {};
  } else {
    return in_call("layer_norm", [&]() -> status {
      const auto& set = scales_argument<Scales>::of(scales);
      KILN_TRY(check_view("x", x));
      KILN_TRY(check_view("weight", weight));
      KILN_TRY(check_view("bias", bias));
      KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
      KILN_TRY(check_length("bias", bias, length(x), "the columns of `x`"));
      KILN_TRY(check_codes<scales_argument<Scales>::computed>(x, q, set, epsilon, named_view{"weight", weight},
                                                              named_view{"bias", bias}));
      return run_norm_quantise<Scales>(
          ex,
          {.program = "layer_norm",
           .fused = "weight, bias, quantise",
           .bytes = bytes_of(x, weight, bias, q, set.scales)},
          rows_of_one<typename X::value_type>{input_of(x)},
          layer_values<typename W::value_type, typename B::value_type>{shared_line(weight), shared_line(bias), epsilon},
          x, q, set, options);
    }());
  }
}
template <class X, class W, class B, class Q, class Scales>
status layer_norm(const X&, const W&, const B&, const Q&, const Scales&, float, const quantise_options&) {
  return layer_norm<X>();
}

}  // namespace kiln
