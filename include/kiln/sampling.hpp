#pragma once
/// Random columns of rows of logits, by their probabilities: top-k, top-p (nucleus) and temperature, with a given seed.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/sampling.hpp>
#include <kiln/kernel/rows/sampling_long.hpp>
#include <kiln/kernel/rows/sound.hpp>

namespace kiln {

struct sampling_options {
  float temperature = 1;   ///< logits are divided by it; 0 takes the largest
  std::int64_t top_k = 0;  ///< only the k largest; 0 or less, or more than there are: all
  float top_p = 1;         ///< of these only the likeliest that reach this probability together; 1 or more: all
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;  ///< which draw of this seed: count up from call to call, or all calls draw alike
};

namespace rows {

/// Short rows as other row kernels take them, longer ones by a block each.
template <class Executor, class X>
status run_sampling(const Executor& ex, trace::launch_record record, const sampling_program<X>& program, index_t count,
                    index_t length) {
  constexpr int width = chunk_width<sampling_program<X>>;
  constexpr index_t short_enough = 1024;
  if (length <= short_enough) return run(ex, record, program, count, length);
  record.schedule = "rows, a block each, listed";
  const auto columns = static_cast<std::uint32_t>(length);
  using where = where_of<Executor>;
  if (detail::all_vectors(program, length, width))
    return run_blocks(ex, record, long_sampling_program<where, width, X>{program, columns}, count);
  return run_blocks(ex, record, long_sampling_program<where, 1, X>{program, columns}, count);
}

}  // namespace rows

/// out[r] = a column c of row r, drawn with probability softmax(logits / temperature)[c] among those that are left.
///
/// First `top_k` leaves the k largest logits, then `top_p` the fewest of these whose probabilities, measured among
/// them, add up to p at least; one is always left. Of equal logits at the limit those of the lowest columns are left.
/// `logits` of rank 1 to 4 (leading axes are rows), of float, f16 or bf16, any strides; `out` int32 with one element
/// for each row.
///
/// Row r of draw d uses Philox 4x32-10 with key `seed` and counter (d, r), so a call can be repeated, and no two rows
/// or draws share their numbers. Probabilities are exponentials in float32 as integers (2^-40 of the largest, 2^-31 at
/// worst for rows of 2^31), added exactly; the executors draw the same column unless their exponentials differ in the
/// last bits just where the drawn number falls.
///
/// With temperature 0, top_k 1 or top_p 0 the result is that of `argmax`. A logit of -inf is never drawn. A row whose
/// largest element is NaN or infinite (NaN counts as the largest, as in `argmax`) has no distribution: it gives that
/// element's column, and `flag` (if not null: one int32 in the executor's memory, which the caller sets to 0)
/// becomes 1.
///
/// No rows: success, nothing written. Errors: bad_shape (rows without columns; 2^31 columns or more), bad_stride,
/// null_pointer, overlap, bad_option (temperature negative or not finite, top_p negative or NaN).
///
/// Rows of up to 1024 columns are read once; longer ones twice where `top_k` leaves up to some thousand, up to five
/// times where `top_p` alone leaves so many, and else up to 80 times, mostly from L2.
template <executor Executor, class X, class Y>
status sample_rows(const Executor& ex, const X& logits, const Y& out, sampling_options options = {},
                   std::int32_t* flag = nullptr) {
  using namespace rows;
  constexpr auto found =
      first_fault<typename Executor::space>(reads<X, numbers>(1, 4), writes<Y, elements_of<std::int32_t>>(1));
  static_assert(
      found.what != fault::memory,
      "sample_rows: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "sample_rows: logits needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "sample_rows: out needs to be a vector (a view of rank 1) of int32, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("sample_rows", [&]() -> status {
      KILN_TRY(check_view("logits", logits));
      KILN_TRY(check_output("out", out));
      KILN_TRY(check_length("out", out, count(logits), "the rows of `logits`"));
      KILN_TRY(check_apart("out", out, "logits", logits));
      if (!(is_finite(options.temperature) && options.temperature >= 0))
        return fail(errc::bad_option, "option `temperature`: saw ", options.temperature,
                    ", needs a finite number of at least 0");
      if (!(options.top_p >= 0))
        return fail(errc::bad_option, "option `top_p`: saw ", options.top_p, ", needs a number of at least 0");
      if (out.empty()) return {};
      if (length(logits) < 1 || length(logits) > 0x7fffffff)
        return fail(errc::bad_shape, "operand `logits`: has ", length(logits), " columns, needs 1 to 2147483647");
      const sampling_program<typename X::value_type> program{input_of(logits), each_row(out), options.temperature,
                                                             options.top_p,    options.top_k, options.seed,
                                                             options.draw,     flag};
      return run_sampling(ex, {.program = "sample_rows", .bytes = bytes_of(logits, out)}, program, count(logits),
                          length(logits));
    }());
  }
}
template <class Any = void>
status sample_rows(...) {
  static_assert(kiln::detail::never<Any>,
                "sample_rows takes (executor, logits, out, options, flag), the last two may be left out; the executor "
                "is host or device(stream)");
  return {};
}
template <class X, class Y>
status sample_rows(const X&, const Y&, const sampling_options&) {
  return sample_rows<X>();
}

}  // namespace kiln
