#pragma once
/// Cross-entropy of rows of logits with one target class each, and their log-sum-exp.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/cross_entropy.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/sound.hpp>

namespace kiln {

struct cross_entropy_options {
  std::int64_t ignore_index = -100;  ///< rows with this target have loss 0
  float label_smoothing = 0;         ///< in [0, 1]: the share of the target that is spread evenly over all classes
};

namespace rows {
template <executor Executor, class X, int R, class S, int U, class Id, class SI, int UI, class L, class SL, int UL>
status cross_entropy_checked(const Executor& ex, const tensor<X, R, S, U>& logits, const tensor<Id, 1, SI, UI>& targets,
                             const tensor<L, 1, SL, UL>& loss,
                             const std::type_identity_t<tensor<float, 1, SL, no_unit>>* log_sum,
                             const cross_entropy_options& options, std::int32_t* flag) {
  using id_type = std::remove_const_t<Id>;
  KILN_TRY(check_view("logits", logits));
  KILN_TRY(check_view("targets", targets));
  KILN_TRY(check_output("loss", loss));
  KILN_TRY(check_length("targets", targets, count(logits), "the rows of `logits`"));
  KILN_TRY(check_length("loss", loss, count(logits), "the rows of `logits`"));
  KILN_TRY(check_apart("loss", loss, "logits", logits));
  KILN_TRY(check_apart("loss", loss, "targets", targets));
  if (log_sum != nullptr) {
    KILN_TRY(check_output("log_sum", *log_sum));
    KILN_TRY(check_length("log_sum", *log_sum, count(logits), "the rows of `logits`"));
    KILN_TRY(check_apart("log_sum", *log_sum, "logits", logits));
    KILN_TRY(check_apart("log_sum", *log_sum, "targets", targets));
    KILN_TRY(check_apart("log_sum", *log_sum, "loss", loss));
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    return fail(errc::bad_option, "option `label_smoothing`: saw ", options.label_smoothing,
                ", needs a number from 0 to 1");
  if (loss.empty()) return {};
  if (length(logits) < 1)
    return fail(errc::bad_shape, "operand `logits`: has ", length(logits), " columns, needs at least 1 class");
  cross_entropy_program<std::remove_const_t<X>, id_type> program{
      input_of(logits),
      each_row(tensor<const id_type, 1, SI, no_unit>(targets)),
      each_row(loss),
      log_sum == nullptr ? operand<float>{} : each_row(*log_sum),
      options.ignore_index,
      options.label_smoothing,
      flag};
  const double bytes = bytes_of(logits, targets, loss) + (log_sum == nullptr ? 0 : bytes_of(*log_sum));
  return run(ex, {.program = "cross_entropy", .bytes = bytes}, program, count(logits), length(logits));
}

/// With log_sum or without; what the types have against them is said first.
template <class Executor, class X, class Id, class L, class... LogSum>
status cross_entropy_of(const Executor& ex, const cross_entropy_options& options, std::int32_t* flag, const X& logits,
                        const Id& targets, const L& loss, const LogSum&... log_sum) {
  constexpr auto found = first_fault<typename Executor::space>(
      reads<X, numbers>(1, 4), reads<Id, elements_of<std::int32_t, std::int64_t>>(1), writes<L, elements_of<float>>(1),
      writes<LogSum, elements_of<float>>(1)...);
  static_assert(
      found.what != fault::memory,
      "cross_entropy: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "cross_entropy: logits needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "cross_entropy: targets needs to be a vector (a view of rank 1) of int32 or int64");
  static_assert(found.operand != 2, "cross_entropy: loss needs to be a vector (a view of rank 1) of float, not const");
  static_assert(found.operand != 3,
                "cross_entropy: log_sum needs to be a vector (a view of rank 1) of float, not const");
  if constexpr (!found.none()) {
    return {};
  } else if constexpr (sizeof...(LogSum) == 0) {
    return in_call("cross_entropy", cross_entropy_checked(ex, logits, targets, loss, nullptr, options, flag));
  } else {
    const tensor<float, 1, typename Executor::space, no_unit> any_stride(log_sum...);
    return in_call("cross_entropy", cross_entropy_checked(ex, logits, targets, loss, &any_stride, options, flag));
  }
}
}  // namespace rows

/// loss[r] = log(sum_c exp(x_c)) - ((1 - s) * x_t + s * mean_c x_c) of row r, with its target t and label smoothing s.
///
/// `logits` of rank 1 to 4 (leading axes are rows), of float, f16 or bf16, any strides; `targets` int32 or int64 and
/// `loss` float, with one element for each row. Each row is read once, twice with smoothing if registers do not hold
/// it. Statistics are float32, and logits far from zero cost no digits of the loss.
///
/// A target equal to `ignore_index` gives loss 0 and its row's values do not matter. Any other target outside [0,
/// classes) gives NaN, so that it shows in every mean, and sets `flag` (if not null: one int32 in the executor's
/// memory, which the caller sets to 0) to 1; nothing is read at such a place. A target whose logit is -inf has loss
/// inf; with smoothing so has every row with a logit of -inf. A row with a NaN or +inf, or of -inf alone, gives NaN.
///
/// No rows: success, nothing written. Errors: bad_shape (also rows without classes), bad_stride, null_pointer, overlap,
/// bad_option (label_smoothing outside [0, 1]).
template <executor Executor, class X, class Id, class L>
status cross_entropy(const Executor& ex, const X& logits, const Id& targets, const L& loss,
                     cross_entropy_options options = {}, std::int32_t* flag = nullptr) {
  return rows::cross_entropy_of(ex, options, flag, logits, targets, loss);
}

/// As above, and log_sum[r] = log(sum_c exp(x_c)) of every row, ignored ones too: what a backward pass or a penalty on
/// the normaliser needs. It is -inf for a row of -inf alone, inf for one with +inf.
template <executor Executor, class X, class Id, class L, class M>
requires(!std::is_convertible_v<M, cross_entropy_options>) status
    cross_entropy(const Executor& ex, const X& logits, const Id& targets, const L& loss, const M& log_sum,
                  cross_entropy_options options = {}, std::int32_t* flag = nullptr) {
  return rows::cross_entropy_of(ex, options, flag, logits, targets, loss, log_sum);
}

template <class Any = void>
status cross_entropy(...) {
  static_assert(kiln::detail::never<Any>,
                "cross_entropy takes (executor, logits, targets, loss, log_sum, options, flag), the last three may be "
                "left out; the executor is host or device(stream)");
  return {};
}
template <class X, class Id, class L>
status cross_entropy(const X&, const Id&, const L&, const cross_entropy_options&) {
  return cross_entropy<X>();
}

}  // namespace kiln
