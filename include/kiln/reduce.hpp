#pragma once
/// Sums, means, maxima, minima and largest magnitudes along rows or along columns.
///
/// `x` of float, f16, bf16, e4m3 or e5m2, rank 1 to 4 (all axes but the last are rows), any strides; `out` a vector of
/// one of these types. Accumulation is float32 in an order that is fixed by the configuration, the result is rounded once. NaN wins.
/// Of nothing the sum is 0, the maximum -inf, the minimum inf, the largest magnitude 0, the mean NaN. Errors:
/// bad_shape, bad_stride, null_pointer, overlap.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/columns.hpp>
#include <kiln/kernel/rows/reduce.hpp>
#include <kiln/kernel/rows/run.hpp>

namespace kiln {

namespace rows {
template <class T>
constexpr void check_reducible() {
  using element = std::remove_const_t<T>;
  static_assert(is_floating_v<element> && !std::is_same_v<element, double>,
                "reductions read and write float, f16, bf16, e4m3 and e5m2");
}
}  // namespace rows

/// out[r] = the reduction of row r: `row_reduce<reduction::sum>(ex, x, out)`.
template <reduction Op, executor Executor, class X, int R, class S, int U, class Y, class SY, int UY>
status row_reduce(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, 1, SY, UY>& out) {
  using namespace rows;
  check_spaces<Executor, tensor<X, R, S, U>, tensor<Y, 1, SY, UY>>();
  check_reducible<X>(), check_reducible<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_length("out", out, count(x), "the rows of `x`"));
  KILN_TRY(check_apart("out", out, "x", x));
  if (out.empty()) return {};
  return run(ex, {.program = "row_reduce", .bytes = bytes_of(x, out)},
             row_reduce_program<std::remove_const_t<X>, Y, Op>{input_of(x), each_row(out)}, count(x), length(x));
}

/// out[c] = the reduction of column c over all rows: `column_reduce<reduction::amax>(ex, x, out)`.
template <reduction Op, executor Executor, class X, int R, class S, int U, class Y, class SY, int UY>
status column_reduce(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Y, 1, SY, UY>& out) {
  using namespace rows;
  using element = std::remove_const_t<X>;
  check_spaces<Executor, tensor<X, R, S, U>, tensor<Y, 1, SY, UY>>();
  check_reducible<X>(), check_reducible<Y>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("out", out));
  KILN_TRY(check_length("out", out, length(x), "the columns of `x`"));
  KILN_TRY(check_apart("out", out, "x", x));
  if (out.empty()) return {};
  constexpr int width = 16 / static_cast<int>(sizeof(element));
  const trace::launch_record record{.program = "column_reduce", .bytes = bytes_of(x, out)};
  const line<Y> to{out.data, out.stride(0)};
  if (input_of(x).vectors(width) && length(x) % width == 0)
    return run_columns<width, Op>(ex, record, input_of(x), to, count(x), length(x));
  return run_columns<1, Op>(ex, record, input_of(x), to, count(x), length(x));
}

}  // namespace kiln
