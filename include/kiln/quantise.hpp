#pragma once
/// Symmetric quantisation to int8, e4m3 and e5m2: per row or per tensor, with a scale that is computed or given.
///
/// q = x / scale, rounded half to even and saturated: int8 to [-128, 127] (or -127, see the options), e4m3 to 448, e5m2
/// to 57344; x is near q * scale. A computed scale is amax / 127, 448 or 57344; where amax is 0 it is 1 and all q are
/// 0. A NaN or an infinity makes the computed scale NaN or infinite. Given scales have to be finite and positive; they
/// are only read. `x` of float, f16 or bf16, rank 1 to 4, any strides; `q` of equal extents. Errors: bad_shape,
/// bad_stride, null_pointer, overlap.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/items.hpp>
#include <kiln/kernel/rows/quantise.hpp>
#include <kiln/kernel/rows/run.hpp>

namespace kiln {

struct quantise_options {
  int8_range range = int8_range::full;  ///< symmetric: int8 never becomes -128
};

/// Scales that are there already: `quantise_rows(ex, x, q, given(scales))`.
template <class View>
struct given_scales {
  View view;
};
template <class T, class S, int U>
constexpr given_scales<tensor<const T, 1, S, U>> given(const tensor<T, 1, S, U>& scales) {
  return {scales};
}

namespace rows {

template <class X, class Q, class T>
constexpr void check_quantise_types() {
  check_float<X>();
  static_assert(std::is_same_v<Q, std::int8_t> || std::is_same_v<Q, e4m3> || std::is_same_v<Q, e5m2>,
                "quantise writes int8, e4m3 or e5m2");
  static_assert(std::is_same_v<std::remove_const_t<T>, float>, "scales are float");
}

template <class Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, class T, class ST, int UT>
status check_quantise(const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q, const char* name,
                      const tensor<T, 1, ST, UT>& scales, index_t needed, const char* why) {
  check_spaces<Executor, tensor<X, R, S, U>, tensor<Q, R, SQ, UQ>, tensor<T, 1, ST, UT>>();
  check_quantise_types<X, Q, T>();
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("q", q));
  KILN_TRY(check_same_shape("q", q, "x", x));
  KILN_TRY(check_view(name, scales));
  KILN_TRY(check_length(name, scales, needed, why));
  KILN_TRY(check_apart("q", q, "x", x));
  return check_apart("q", q, name, scales);
}

template <class Executor, class X, int R, class S, int U, class Q, class SQ, int UQ>
status quantise_given(const Executor& ex, const char* name, const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q,
                      const operand<const float>& scales, quantise_options options) {
  if (q.empty()) return {};
  const cut cuts(length(x));
  quantise_program<std::remove_const_t<X>, Q> program{input_of(x), operand_of(q), scales,
                                                      options.range == int8_range::symmetric, cuts};
  return run(ex, {.program = name, .bytes = bytes_of(x, q)}, program, count(x) * cuts.pieces,
             min_of(length(x), cut::longest));
}

}  // namespace rows

/// scales[r] = amax of row r / largest, q = x / scales[r]. `scales`: one float for each row (product of the leading
/// extents).
template <executor Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, class T, class ST, int UT>
status quantise_rows(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q,
                     const tensor<T, 1, ST, UT>& scales, quantise_options options = {}) {
  using namespace rows;
  static_assert(!std::is_const_v<T>,
                "quantise_rows writes the scales; pass given(scales) to use scales that are there");
  KILN_TRY(check_quantise<Executor>(x, q, "scales", scales, count(x), "the rows of `x`"));
  KILN_TRY(check_output("scales", scales));
  KILN_TRY(check_apart("scales", scales, "x", x));
  if (scales.empty()) return {};
  quantise_rows_program<std::remove_const_t<X>, Q> program{input_of(x), operand_of(q), each_row(scales),
                                                           options.range == int8_range::symmetric};
  return run(ex, {.program = "quantise_rows", .fused = "amax", .bytes = bytes_of(x, q, scales)}, program, count(x),
             length(x));
}

/// q = x / scales[r] with given scales.
template <executor Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, class View>
status quantise_rows(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q,
                     const given_scales<View>& scales, quantise_options options = {}) {
  using namespace rows;
  KILN_TRY(check_quantise<Executor>(x, q, "scales", scales.view, count(x), "the rows of `x`"));
  return quantise_given(ex, "quantise_rows", x, q, each_row(scales.view), options);
}

/// scale[0] = amax of all of `x` / largest, q = x / scale[0]. Four launches; one that fails ends the call.
template <executor Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, class T, class ST, int UT>
status quantise(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q,
                const tensor<T, 1, ST, UT>& scale, quantise_options options = {}) {
  using namespace rows;
  static_assert(!std::is_const_v<T>, "quantise writes the scale; pass given(scale) to use one that is there");
  KILN_TRY(check_quantise<Executor>(x, q, "scale", scale, 1, "one for the tensor"));
  KILN_TRY(check_apart("scale", scale, "x", x));
  KILN_TRY(run_items(ex, {.program = "quantise: start"}, scale_program<Q>{scale.data, true}, 1));
  if (!x.empty()) {
    const cut cuts(length(x));
    KILN_TRY(run(ex, {.program = "quantise: amax", .bytes = bytes_of(x)},
                 amax_program<std::remove_const_t<X>>{input_of(x), scale.data, cuts}, count(x) * cuts.pieces,
                 min_of(length(x), cut::longest)));
  }
  KILN_TRY(run_items(ex, {.program = "quantise: scale"}, scale_program<Q>{scale.data, false}, 1));
  return quantise_given(ex, "quantise", x, q, shared_line(scale), options);
}

/// q = x / scale[0] with a given scale.
template <executor Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, class View>
status quantise(const Executor& ex, const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q,
                const given_scales<View>& scale, quantise_options options = {}) {
  using namespace rows;
  KILN_TRY(check_quantise<Executor>(x, q, "scale", scale.view, 1, "one for the tensor"));
  return quantise_given(ex, "quantise", x, q, shared_line(scale.view), options);
}

}  // namespace kiln
