#pragma once
/// RMSNorm, RMSNorm of a sum with its residual, and LayerNorm, over the last axis.
///
/// Views of rank 1 to 4, of float, f16 or bf16, any strides. Statistics are float32 and neither overflow nor vanish
/// where the result does not; only an RMSNorm of nothing but subnormal numbers with epsilon 0 gives infinities. Every
/// output may be an input of equal shape and type itself. No elements: success, nothing written. Errors: bad_shape,
/// bad_stride, null_pointer, overlap (equal views are allowed), bad_option (epsilon negative or not finite).
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/norm.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/sound.hpp>

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
template <class Policy = round_at_store, executor Executor, class X, class W, class Y>
status rms_norm(const Executor& ex, const X& x, const W& weight, const Y& out, float epsilon, Policy = {}) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(1, 4), reads<W, numbers>(1),
                                                               writes<Y, numbers>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "rms_norm: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "rms_norm: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "rms_norm: weight needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 2, "rms_norm: out needs to be a view of x's rank of float, f16 or bf16, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("rms_norm", [&]() -> status {
      KILN_TRY(check_view("x", x));
      KILN_TRY(check_view("weight", weight));
      KILN_TRY(check_output("out", out));
      KILN_TRY(check_length("weight", weight, length(x), "the columns of `x`"));
      KILN_TRY(check_same_shape("out", out, "x", x));
      KILN_TRY(check_in_place("out", out, "x", x));
      KILN_TRY(check_apart("out", out, "weight", weight));
      KILN_TRY(check_epsilon(epsilon));
      if (out.empty()) return {};
      using program =
          rms_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type, Policy::when>;
      return run(ex, {.program = "rms_norm", .bytes = bytes_of(x, weight, out)},
                 program{input_of(x), shared_line(weight), operand_of(out), epsilon}, count(x), length(x));
    }());
  }
}
template <class Any = void>
status rms_norm(...) {
  static_assert(kiln::detail::never<Any>,
                "rms_norm takes (executor, x, weight, out, epsilon), or (executor, x, weight, codes, scales, epsilon); "
                "the executor is host or device(stream)");
  return {};
}

/// sum = x + residual, out = rms_norm(sum) * weight, in one pass. The norm is that of the sum before it is rounded to
/// the type of `sum`. `sum` and `out` may each be `x` or `residual` itself, but not each other; all strides are their
/// own.
template <class Policy = round_at_store, executor Executor, class X, class A, class W, class T, class Y>
status add_rms_norm(const Executor& ex, const X& x, const A& residual, const W& weight, const T& sum, const Y& out,
                    float epsilon, Policy = {}) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(1, 4), reads<A, numbers>(rank_of<X>),
                                                               reads<W, numbers>(1), writes<T, numbers>(rank_of<X>),
                                                               writes<Y, numbers>(rank_of<X>));
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
                "add_rms_norm: out needs to be a view of x's rank of float, f16 or bf16, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("add_rms_norm", [&]() -> status {
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
      using program = add_rms_norm_program<typename X::value_type, typename A::value_type, typename W::value_type,
                                           typename T::value_type, typename Y::value_type, Policy::when>;
      return run(
          ex, {.program = "add_rms_norm", .fused = "residual add", .bytes = bytes_of(x, residual, weight, sum, out)},
          program{input_of(x), input_of(residual), shared_line(weight), operand_of(sum), operand_of(out), epsilon},
          count(x), length(x));
    }());
  }
}
template <class Any = void>
status add_rms_norm(...) {
  static_assert(kiln::detail::never<Any>,
                "add_rms_norm takes (executor, x, residual, weight, sum, out, epsilon), or (executor, x, residual, "
                "weight, sum, codes, scales, epsilon); the executor is host or device(stream)");
  return {};
}

/// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, with the variance of all columns (divided by their
/// number).
template <executor Executor, class X, class W, class B, class Y>
status layer_norm(const Executor& ex, const X& x, const W& weight, const B& bias, const Y& out, float epsilon) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(1, 4), reads<W, numbers>(1),
                                                               reads<B, numbers>(1), writes<Y, numbers>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "layer_norm: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "layer_norm: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "layer_norm: weight needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 2, "layer_norm: bias needs to be a vector (a view of rank 1) of float, f16 or bf16");
  static_assert(found.operand != 3, "layer_norm: out needs to be a view of x's rank of float, f16 or bf16, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("layer_norm", [&]() -> status {
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
      using program = layer_norm_program<typename X::value_type, typename W::value_type, typename B::value_type,
                                         typename Y::value_type>;
      return run(ex, {.program = "layer_norm", .fused = "weight, bias", .bytes = bytes_of(x, weight, bias, out)},
                 program{input_of(x), shared_line(weight), shared_line(bias), operand_of(out), epsilon}, count(x),
                 length(x));
    }());
  }
}
template <class Any = void>
status layer_norm(...) {
  static_assert(kiln::detail::never<Any>,
                "layer_norm takes (executor, x, weight, bias, out, epsilon), or (executor, x, weight, bias, codes, "
                "scales, epsilon); the executor is host or device(stream)");
  return {};
}

}  // namespace kiln
