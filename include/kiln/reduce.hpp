#pragma once
/// Sums, means, maxima, minima and largest magnitudes along rows or along columns.
///
/// `x` of float, f16, bf16, e4m3 or e5m2, rank 1 to 4 (all axes but the last are rows), any strides; `out` a vector of
/// one of these types. Accumulation is float32 in an order that is fixed by the configuration, the result is rounded
/// once. NaN wins. Of nothing the sum is 0, the maximum -inf, the minimum inf, the largest magnitude 0, the mean NaN.
/// Errors: bad_shape, bad_stride, null_pointer, overlap (of the two views, or of one with the workspace's memory that a
/// call would use).
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/columns.hpp>
#include <kiln/kernel/rows/reduce.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/sound.hpp>

namespace kiln {

namespace rows {
using reducible = elements_of<float, f16, bf16, e4m3, e5m2>;

/// Columns of a thread, where rows are made of whole aligned chunks: 16 bytes, but no more than 8, whose sums fit into
/// registers and shared memory.
template <class T>
inline constexpr int chunk_of_columns = sizeof(T) < 2 ? 8 : 16 / static_cast<int>(sizeof(T));
template <class X, int R, class S, int U>
bool moves_chunks(const tensor<X, R, S, U>& x) {
  constexpr int width = chunk_of_columns<std::remove_const_t<X>>;
  return input_of(x).vectors(width) && length(x) % width == 0;
}
}  // namespace rows

/// out[r] = the reduction of row r: `row_reduce<reduction::sum>(ex, x, out)`.
template <reduction Op, executor Executor, class X, class Y>
status row_reduce(const Executor& ex, const X& x, const Y& out) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, reducible>(1, 4), writes<Y, reducible>(1));
  static_assert(
      found.what != fault::memory,
      "row_reduce: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0,
                "row_reduce: x needs to be a view of rank 1 to 4 of float, f16, bf16, e4m3 or e5m2");
  static_assert(found.operand != 1,
                "row_reduce: out needs to be a vector (a view of rank 1) of float, f16, bf16, e4m3 or e5m2, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("row_reduce", [&]() -> status {
      KILN_TRY(check_view("x", x));
      KILN_TRY(check_output("out", out));
      KILN_TRY(check_length("out", out, count(x), "the rows of `x`"));
      KILN_TRY(check_apart("out", out, "x", x));
      if (out.empty()) return {};
      return run(ex, {.program = "row_reduce", .bytes = bytes_of(x, out)},
                 row_reduce_program<typename X::value_type, typename Y::value_type, Op>{input_of(x), each_row(out)},
                 count(x), length(x));
    }());
  }
}
template <reduction Op = reduction::sum, class Any = void>
status row_reduce(...) {
  static_assert(kiln::detail::never<Any>,
                "row_reduce<op> takes (executor, x, out), as row_reduce<reduction::sum>(host, x, out); the executor is "
                "host or device(stream)");
  return {};
}

#if defined(__CUDACC__)
inline namespace KILN_ABI {
/// Bytes of scratch memory with which `column_reduce` on the current GPU is fastest; 0 for most shapes. The executor
/// carries it, 256-byte aligned. With less, a matrix of many rows and few columns takes longer.
template <class X, int R, class S, int U>
std::size_t column_reduce_workspace_size(const tensor<X, R, S, U>& x) {
  using namespace rows;
  using element = std::remove_const_t<X>;
  if (x.empty()) return 0;
  const auto bytes = [&]<int Width>(std::integral_constant<int, Width>) {
    using program = column_reduce_program<on_device, Width, element, float, reduction::sum>;
    const int log_splits = shape_on_device<program>(count(x), ceil_div<index_t>(length(x), Width)).log_splits;
    return log_splits > 0 ? sizeof(float) * static_cast<std::size_t>(length(x) << log_splits) : std::size_t{0};
  };
  if (moves_chunks(x)) return bytes(std::integral_constant<int, chunk_of_columns<element>>{});
  return bytes(std::integral_constant<int, 1>{});
}
}  // namespace KILN_ABI
#endif

/// out[c] = the reduction of column c over all rows: `column_reduce<reduction::amax>(ex, x, out)`.
template <reduction Op, executor Executor, class X, class Y>
status column_reduce(const Executor& ex, const X& x, const Y& out) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, reducible>(1, 4), writes<Y, reducible>(1));
  static_assert(
      found.what != fault::memory,
      "column_reduce: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0,
                "column_reduce: x needs to be a view of rank 1 to 4 of float, f16, bf16, e4m3 or e5m2");
  static_assert(
      found.operand != 1,
      "column_reduce: out needs to be a vector (a view of rank 1) of float, f16, bf16, e4m3 or e5m2, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("column_reduce", [&]() -> status {
      KILN_TRY(check_view("x", x));
      KILN_TRY(check_output("out", out));
      KILN_TRY(check_length("out", out, length(x), "the columns of `x`"));
      KILN_TRY(check_apart("out", out, "x", x));
      if (out.empty()) return {};
      if constexpr (!Executor::on_host) {
        const std::size_t given = ex.scratch.data == nullptr ? 0 : ex.scratch.bytes,
                          used = given == 0 ? 0 : min_of(column_reduce_workspace_size(x), given);
        const auto scratch = view_of_bytes<device_space>(ex.scratch.data, used);
        KILN_TRY(check_apart("the workspace", scratch, "x", x));
        KILN_TRY(check_apart("the workspace", scratch, "out", out));
      }
      const trace::launch_record record{.program = "column_reduce", .bytes = bytes_of(x, out)};
      const line<typename Y::value_type> to{out.data, out.stride(0)};
      if (moves_chunks(x))
        return run_columns<chunk_of_columns<typename X::value_type>, Op>(ex, record, input_of(x), to, count(x),
                                                                         length(x));
      return run_columns<1, Op>(ex, record, input_of(x), to, count(x), length(x));
    }());
  }
}
template <reduction Op = reduction::sum, class Any = void>
status column_reduce(...) {
  static_assert(kiln::detail::never<Any>,
                "column_reduce<op> takes (executor, x, out), as column_reduce<reduction::sum>(host, x, out); the "
                "executor is host or device(stream)");
  return {};
}

}  // namespace kiln
