#pragma once
/// Softmax and log-softmax over the last axis.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/softmax.hpp>

namespace kiln {

struct softmax_options {
  float scale = 1;      ///< of the input: softmax(scale * x)
  bool masked = false;  ///< a row that is all -inf gives zeros (log_softmax: -inf) instead of NaN
};

namespace rows {
template <executor Executor, class X, int R, class S, int U, class Y, class T, int V>
status softmax_checked(const Executor& ex, const char* name, const tensor<X, R, S, U>& x, const tensor<Y, R, T, V>& out,
                       softmax_options options, bool logarithmic) {
  check_spaces<Executor, tensor<X, R, S, U>, tensor<Y, R, T, V>>();
  check_float<X>(), check_float<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_same_shape("out", out, "x", x));
  KILN_TRY(check_in_place("out", out, "x", x));
  if (!is_finite(options.scale))
    return fail(errc::bad_option, "option `scale`: saw ", options.scale, ", needs a finite number");
  if (out.empty()) return {};
  softmax_program<std::remove_const_t<X>, Y> program{input_of(x), operand_of(out), options.scale, options.masked,
                                                     logarithmic};
  return run(ex, {.program = name, .bytes = bytes_of(x, out)}, program, count(x), length(x));
}
}  // namespace rows

/// out = softmax(scale * x) along the last axis. Views of rank 1 to 4 and equal extents, of float, f16 or bf16, any
/// strides; `out` may be `x` itself. Sums are float32, the result is rounded once. A NaN in a row, or +inf, makes its
/// results NaN; a row that is all -inf gives NaN, or 0 with `masked`. No elements: success, nothing written. Errors:
/// bad_shape, bad_stride, null_pointer, overlap (equal views are allowed), bad_option (scale not finite).
template <executor Executor, class X, int R, class S, int U, class Y, class T, int V>
status softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, R, T, V>& out,
               softmax_options options = {}) {
  return rows::softmax_checked(ex, "softmax", x, out, options, false);
}

/// out = scale * x - log(sum(exp(scale * x))) along the last axis; as `softmax` otherwise. With `masked`, a row that is
/// all -inf gives -inf.
template <executor Executor, class X, int R, class S, int U, class Y, class T, int V>
status log_softmax(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, R, T, V>& out,
                   softmax_options options = {}) {
  return rows::softmax_checked(ex, "log_softmax", x, out, options, true);
}

}  // namespace kiln
