#pragma once
/// RMSNorm, RMSNorm of a sum with its residual, and LayerNorm, over the last axis.
///
/// Views of rank 1 to 4, of float, f16 or bf16, any strides. Statistics are float32 and neither overflow nor vanish
/// where the result does not. Every output may be an input of equal shape and type itself. No elements: success,
/// nothing written. Errors: bad_shape, bad_stride, null_pointer, overlap (equal views are allowed), bad_option (epsilon
/// negative or not finite).
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/norm.hpp>
#include <kiln/kernel/rows/run.hpp>

namespace kiln {

/// Policies for the weight of an RMSNorm: one rounding at the store (the default) ...
struct round_at_store {
  static constexpr rows::rounding when = rows::rounding::at_store;
};
/// ... or the normalised value rounded to the input's type first and the product once more, as Hugging Face's models
/// do.
struct round_before_weight {
  static constexpr rows::rounding when = rows::rounding::before_weight;
};

namespace rows {
inline status check_epsilon(float epsilon) {
  if (is_finite(epsilon) && epsilon >= 0) return {};
  return fail(errc::bad_option, "option `epsilon`: saw ", epsilon, ", needs a finite number of at least 0");
}
}  // namespace rows

/// out = x / sqrt(mean(x^2) + epsilon) * weight. `weight` has one element for each column.
template <class Policy = round_at_store, executor Executor, class X, int R, class S, int U, class W, class SW, int UW,
          class Y, class SY, int UY>
status rms_norm(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<W, 1, SW, UW>& weight,
                const tensor<Y, R, SY, UY>& out, float epsilon, Policy = {}) {
  using namespace rows;
  check_spaces<Executor, tensor<X, R, S, U>, tensor<W, 1, SW, UW>, tensor<Y, R, SY, UY>>();
  check_float<X>(), check_float<W>(), check_float<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_view("weight", weight));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
  KILN_TRY(check_same_shape("out", out, "x", x));
  KILN_TRY(check_in_place("out", out, "x", x));
  KILN_TRY(check_apart("out", out, "weight", weight));
  KILN_TRY(check_epsilon(epsilon));
  if (out.empty()) return {};
  using program = rms_norm_program<std::remove_const_t<X>, std::remove_const_t<W>, Y, Policy::when>;
  return run(ex, {.program = "rms_norm", .bytes = bytes_of(x, weight, out)},
             program{input_of(x), shared_line(weight), operand_of(out), epsilon}, count(x), length(x));
}

/// sum = x + residual, out = rms_norm(sum) * weight, in one pass. The norm is that of the sum before it is rounded to
/// the type of `sum`. `sum` and `out` may each be `x` or `residual` itself, but not each other; all strides are their
/// own.
template <class Policy = round_at_store, executor Executor, class X, int R, class S, int U, class A, class SA, int UA,
          class W, class SW, int UW, class T, class ST, int UT, class Y, class SY, int UY>
status add_rms_norm(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<A, R, SA, UA>& residual,
                    const tensor<W, 1, SW, UW>& weight, const tensor<T, R, ST, UT>& sum,
                    const tensor<Y, R, SY, UY>& out, float epsilon, Policy = {}) {
  using namespace rows;
  check_spaces<Executor, tensor<X, R, S, U>, tensor<A, R, SA, UA>, tensor<W, 1, SW, UW>, tensor<T, R, ST, UT>,
               tensor<Y, R, SY, UY>>();
  check_float<X>(), check_float<A>(), check_float<W>(), check_float<T>(), check_float<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_view("residual", residual));
  KILN_TRY(check_view("weight", weight));
  KILN_TRY(check_output("sum", sum));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
  KILN_TRY(check_same_shape("residual", residual, "x", x));
  KILN_TRY(check_same_shape("sum", sum, "x", x));
  KILN_TRY(check_same_shape("out", out, "x", x));
  KILN_TRY(check_in_place("sum", sum, "x", x));
  KILN_TRY(check_in_place("sum", sum, "residual", residual));
  KILN_TRY(check_in_place("out", out, "x", x));
  KILN_TRY(check_in_place("out", out, "residual", residual));
  KILN_TRY(check_apart("sum", sum, "weight", weight));
  KILN_TRY(check_apart("out", out, "weight", weight));
  KILN_TRY(check_apart("out", out, "sum", sum));
  KILN_TRY(check_epsilon(epsilon));
  if (out.empty()) return {};
  using program =
      add_rms_norm_program<std::remove_const_t<X>, std::remove_const_t<A>, std::remove_const_t<W>, T, Y, Policy::when>;
  return run(ex, {.program = "add_rms_norm", .fused = "residual add", .bytes = bytes_of(x, residual, weight, sum, out)},
             program{input_of(x), input_of(residual), shared_line(weight), operand_of(sum), operand_of(out), epsilon},
             count(x), length(x));
}

/// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, with the variance of all columns (divided by their
/// number).
template <executor Executor, class X, int R, class S, int U, class W, class SW, int UW, class B, class SB, int UB,
          class Y, class SY, int UY>
status layer_norm(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<W, 1, SW, UW>& weight,
                  const tensor<B, 1, SB, UB>& bias, const tensor<Y, R, SY, UY>& out, float epsilon) {
  using namespace rows;
  check_spaces<Executor, tensor<X, R, S, U>, tensor<W, 1, SW, UW>, tensor<B, 1, SB, UB>, tensor<Y, R, SY, UY>>();
  check_float<X>(), check_float<W>(), check_float<B>(), check_float<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_view("weight", weight));
  KILN_TRY(check_view("bias", bias));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
  KILN_TRY(check_length("bias", bias, length(x), "the columns of `x`"));
  KILN_TRY(check_same_shape("out", out, "x", x));
  KILN_TRY(check_in_place("out", out, "x", x));
  KILN_TRY(check_apart("out", out, "weight", weight));
  KILN_TRY(check_apart("out", out, "bias", bias));
  KILN_TRY(check_epsilon(epsilon));
  if (out.empty()) return {};
  using program = layer_norm_program<std::remove_const_t<X>, std::remove_const_t<W>, std::remove_const_t<B>, Y>;
  return run(ex, {.program = "layer_norm", .fused = "weight, bias", .bytes = bytes_of(x, weight, bias, out)},
             program{input_of(x), shared_line(weight), shared_line(bias), operand_of(out), epsilon}, count(x),
             length(x));
}

}  // namespace kiln
