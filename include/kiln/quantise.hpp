#pragma once
/// Numbers to int8, uint8, e4m3 and e5m2 and back, with scales that are computed or given.
///
///     quantise(ex, x, q, per_row_scales(s));                            // computes s: amax of each row / 127
///     quantise(ex, x, q, per_group_scales<1>(s, 128));                  // s[r, g]: of 128 neighbours of a row
///     quantise(ex, x, q, per_column_scales(s).with_zero_points(z));     // affine: computes s and z
///     quantise(ex, x, q, given(per_column_scales(s)));                  // s is there already and only read
///     dequantise(ex, q, y, per_column_scales(s));
///
/// The sets of scales are those of view/quantised.hpp, so `quantised(q, per_row_scales(s))` is the view of what was
/// made, and s goes into an epilogue's `per_row` or `per_column`.
///
/// `x` is float, f16 or bf16, rank 1 to 4, any strides; its last axis are its columns, all others its rows, so a vector
/// is one row. `q` has equal extents. Scales are float, any strides: a vector of 1 (tensor), of the rows or of the
/// columns, or a matrix for groups: [rows, ceil(columns / group)] along axis 1, [ceil(rows / group), columns] along
/// axis 0. A group may be of any size from 1, also longer than the axis; the last one may be shorter.
///
/// Symmetric: q = x / scale, rounded half to even and saturated: int8 to [-128, 127] (or -127, see the options), uint8
/// to [0, 255], so negative values are 0, e4m3 to 448, e5m2 to 57344. A computed scale is amax / 127, 255, 448 or
/// 57344; where amax is 0 it is 1 and all q are 0. NaN is 0 in an integer and stays in a float.
///
/// Affine (int8 and uint8): q = round(x / scale) + zero point, clamped; x is near (q - zero point) * scale. Zero points
/// are int32, int8 or uint8 and shaped as the scales. Computed ones spread the range from min(x, 0) to max(x, 0) over
/// all codes, so 0 has a code of its own; they are int32 or of q's type, for the whole tensor int32. A range of 0 has
/// scale 1 and zero point 0. NaN becomes the zero point.
///
/// A NaN or an infinity among the values makes a computed scale NaN or infinite, so that it shows; calibrate.hpp passes
/// them over. No computed scale is below 2^-126, nor so large that the code of a finite number stands for an infinite
/// one: a range of nearly all floats is clipped by up to a step. Given scales have to be finite and positive.
///
/// Errors: bad_shape, bad_stride, bad_option (a group below 1), bad_alignment, null_pointer, overlap.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/items.hpp>
#include <kiln/kernel/rows/quantise.hpp>
#include <kiln/kernel/rows/quantise_sound.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/scale_sets.hpp>
#include <kiln/view/quantised.hpp>

namespace kiln {

struct quantise_options {
  one_of<int8_range> range = int8_range::full;   ///< symmetric: int8 never becomes -128
  one_of<overflow> beyond = overflow::saturate;  ///< of 8-bit floats; to_nan: e4m3 NaN, e5m2 infinity
};

/// Scales that are there already: `quantise(ex, x, q, given(per_row_scales(s)))`.
template <class View>
struct given_scales {
  View view;
};
template <class Scales>
constexpr auto given([[maybe_unused]] const Scales& scales) {
  constexpr bool vector = kiln::detail::is_view_of<Scales, kiln::detail::any_element>(1, 1);
  constexpr bool good = vector || rows::is_scale_set<Scales>, told = std::is_same_v<Scales, detail::wrong_scales>;
  static_assert(good || told,
                "given takes a set, such as per_row_scales(scales), or a vector (a view of rank 1) of float");
  if constexpr (vector)
    return given_scales<tensor<const typename Scales::value_type, 1, typename Scales::space, Scales::unit_axis>>{
        scales};
  else if constexpr (good)
    return given_scales<Scales>{scales};
  else
    return detail::wrong_scales{};
}

namespace rows {

/// What a call says of its scales: a set to be computed, or a given one.
template <class Arg>
struct scales_argument {
  static constexpr bool computed = true;
  using type = Arg;
  static constexpr const type& of(const Arg& a) { return a; }
};
template <class View>
struct scales_argument<given_scales<View>> {
  static constexpr bool computed = false;
  using type = View;
  static constexpr const type& of(const given_scales<View>& a) { return a.view; }
};

/// A view that stands for a set of one scale for the tensor, or of one for each row; or the set.
template <granularity Alone, class V>
constexpr auto as_set(const V& v) {
  if constexpr (!is_tensor_v<V>)
    return v;
  else if constexpr (Alone == granularity::row)
    return per_row_scales(v);
  else
    return per_tensor_scale(v);
}

template <class X, int R, class S, int U, class Q, class SQ, int UQ, class Set>
status check_quantise(const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q, const Set& set) {
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_output("q", q));
  KILN_TRY(check_same_shape("q", q, "x", x));
  KILN_TRY(check_set(x, set));
  KILN_TRY(check_apart("q", q, "x", x));
  return check_apart_from_set("q", q, set);
}

template <class Q>
constexpr to_codes<Q> codes_of(quantise_options options) {
  return {{options.range == int8_range::symmetric, options.beyond == overflow::to_nan}};
}

template <class Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, class Set>
status quantise_given(const Executor& ex, const char* name, const tensor<X, R, S, U>& x, const tensor<Q, R, SQ, UQ>& q,
                      const Set& set, quantise_options options) {
  KILN_TRY(check_quantise(x, q, set));
  return run_scaled(ex, name, x, q, set, codes_of<Q>(options));
}

/// Of the whole tensor: four launches; one that fails ends the call.
template <class Q, class Executor, class X, int R, class S, int U, class Set>
status scales_of_tensor(const Executor& ex, const tensor<X, R, S, U>& x, const Set& set, bool symmetric) {
  const cut cuts(length(x));
  const auto of_all = [&](const auto& start, const auto& look, const auto& end) -> status {
    KILN_TRY(run_items(ex, {.program = "quantise: start"}, start, 1));
    if (!x.empty())
      KILN_TRY(run(ex, {.program = "quantise: range", .bytes = bytes_of(x)}, look, count(x) * cuts.runs(), cuts.piece));
    return run_items(ex, {.program = "quantise: scale"}, end, 1);
  };
  using element = std::remove_const_t<X>;
  float* scale = set.scales.data;
  if constexpr (Set::affine) {
    std::int32_t* zero = set.zeros.data;
    // The low end lives in the zero point's word until the scale is made.
    const range_program<element, false, std::int32_t> look{input_of(x), {zero, 0, 0}, {scale, 0, 0}, {}, cuts};
    return of_all(affine_program<Q>{scale, zero, true, symmetric}, look,
                  affine_program<Q>{scale, zero, false, symmetric});
  } else {
    return of_all(scale_program<Q>{scale, true}, amax_program<element>{input_of(x), scale, cuts},
                  scale_program<Q>{scale, false});
  }
}

template <class Executor, class X, int R, class S, int U, class Q, class SQ, int UQ, granularity G, class Scales,
          class Zeros>
status quantise_computed(const Executor& ex, const char* name, const tensor<X, R, S, U>& x,
                         const tensor<Q, R, SQ, UQ>& q, const scale_set<G, Scales, Zeros>& set,
                         quantise_options options) {
  using element = std::remove_const_t<X>;
  using zero = typename zero_type<Zeros>::type;
  KILN_TRY(check_quantise(x, q, set));
  KILN_TRY(check_written_set("x", x, set));
  if (set.scales.empty()) return {};
  const to_codes<Q> codes = codes_of<Q>(options);
  const trace::launch_record record{.program = name, .fused = "scales", .bytes = bytes_of(x, q, set.scales)};
  if constexpr (G == granularity::row || G == granularity::group_1) {
    const cut cuts(length(x), G == granularity::row ? cut::any : set.group, cut::any);
    quantise_runs_program<element, Q, zero> program{
        input_of(x), operand_of(q), place_of<G>(set.scales), place_of<G>(set.zeros), {codes.rule}, cuts};
    return run(ex, record, program, count(x) * cuts.runs(), min_of(cuts.piece, length(x)));
  } else if constexpr (G == granularity::tensor) {
    KILN_TRY(scales_of_tensor<Q>(ex, x, set, codes.rule.symmetric));
    return run_scaled(ex, name, x, q, set, codes);
  } else {
    const scales_of_columns<Q, zero> into{place_of<G>(set.scales), place_of<G>(set.zeros), codes.rule.symmetric};
    KILN_TRY(column_ranges<false>(ex, {.program = "quantise: ranges", .bytes = bytes_of(x)}, input_of(x), into,
                                  count(x), length(x), G == granularity::column ? cut::any : set.group));
    return run_scaled(ex, name, x, q, set, codes);
  }
}

/// The set of an argument that is one, or stands for one.
template <granularity Alone, class Arg>
using set_of = std::remove_cvref_t<decltype(as_set<Alone>(std::declval<const typename scales_argument<Arg>::type&>()))>;

template <granularity Alone, class Executor, class X, class Q, class Arg>
status quantise_sound_types(const Executor& ex, const char* name, const X& x, const Q& q, const Arg& arg,
                            quantise_options options) {
  const auto set = as_set<Alone>(scales_argument<Arg>::of(arg));
  if constexpr (scales_argument<Arg>::computed)
    return in_call(name, quantise_computed(ex, "quantise", x, q, set, options));
  else
    return in_call(name, quantise_given(ex, "quantise", x, q, set, options));
}

}  // namespace rows

/// Computes the scales (and zero points) of a set and q with them; a vector of one is the scale of the tensor. With
/// given(scales): uses scales that are there. One launch for rows and groups of a row's neighbours, two for columns and
/// groups along columns, four for the tensor; one with given scales.
template <executor Executor, class X, class Q, class Scales>
status quantise(const Executor& ex, const X& x, const Q& q, const Scales& scales, quantise_options options = {}) {
  using namespace rows;
  using space = typename Executor::space;
  constexpr auto found = first_fault<space>(reads<X, numbers>(1, 4), writes<Q, code_elements>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "quantise: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "quantise: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1,
                "quantise: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const");
  if constexpr (!found.none())
    return {};
  else if constexpr (constexpr bool computed = scales_argument<Scales>::computed;
                     !sound_quantise<
                         mistake_of_set_of<space, Q, set_of<granularity::tensor, Scales>, computed>()>::value)
    return {};
  else
    return quantise_sound_types<granularity::tensor>(ex, "quantise", x, q, scales, options);
}
template <class Any = void>
status quantise(...) {
  static_assert(kiln::detail::never<Any>,
                "quantise takes (executor, x, q, scales, options), the last may be left out; the executor is host or "
                "device(stream), scales a set, such as per_row_scales(view), or given(scales)");
  return {};
}
template <class X, class Q, class Scales>
status quantise(const X&, const Q&, const Scales&, const quantise_options&) {
  return quantise<X>();
}

/// scales[r] = amax of row r / largest, q = x / scales[r]: `quantise` with per_row_scales(scales), or, with
/// given(scales), with given(per_row_scales(scales)).
template <executor Executor, class X, class Q, class Scales>
status quantise_rows(const Executor& ex, const X& x, const Q& q, const Scales& scales, quantise_options options = {}) {
  using namespace rows;
  using space = typename Executor::space;
  constexpr auto found = first_fault<space>(reads<X, numbers>(1, 4), writes<Q, code_elements>(rank_of<X>));
  static_assert(
      found.what != fault::memory,
      "quantise_rows: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "quantise_rows: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1,
                "quantise_rows: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const");
  using argument = scales_argument<Scales>;
  constexpr bool vector = kiln::detail::is_view_of<typename argument::type, kiln::detail::any_element>(1, 1);
  constexpr bool told = !found.none() || std::is_same_v<Scales, kiln::detail::wrong_scales>;
  static_assert(vector || told,
                "quantise_rows: scales needs to be a vector (a view of rank 1) of float, or given(vector)");
  if constexpr (!vector || told)
    return {};
  else if constexpr (!sound_quantise<
                         mistake_of_set_of<space, Q, set_of<granularity::row, Scales>, argument::computed>()>::value)
    return {};
  else
    return quantise_sound_types<granularity::row>(ex, "quantise_rows", x, q, scales, options);
}
template <class Any = void>
status quantise_rows(...) {
  static_assert(kiln::detail::never<Any>,
                "quantise_rows takes (executor, x, q, scales, options), the last may be left out; the executor is host "
                "or device(stream)");
  return {};
}
template <class X, class Q, class Scales>
status quantise_rows(const X&, const Q&, const Scales&, const quantise_options&) {
  return quantise_rows<X>();
}

/// y = scale * (q - zero point), rounded once to float, f16 or bf16. `scales`: a set, or a vector of one for the
/// tensor.
template <executor Executor, class Q, class Y, class Scales>
status dequantise(const Executor& ex, const Q& q, const Y& y, const Scales& scales) {
  using namespace rows;
  using space = typename Executor::space;
  constexpr auto found = first_fault<space>(reads<Q, code_elements>(1, 4), writes<Y, numbers>(rank_of<Q>));
  static_assert(
      found.what != fault::memory,
      "dequantise: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "dequantise: q needs to be a view of rank 1 to 4 of int8, uint8, e4m3 or e5m2");
  static_assert(found.operand != 1, "dequantise: y needs to be a view of q's rank of float, f16 or bf16, not const");
  if constexpr (!found.none()) {
    return {};
  } else if constexpr (!sound_quantise<
                           mistake_of_set_of<space, Q, set_of<granularity::tensor, Scales>, false>()>::value) {
    return {};
  } else {
    const auto set = as_set<granularity::tensor>(scales);
    return in_call("dequantise", [&]() -> status {
      KILN_TRY(check_view("q", q));
      KILN_TRY(check_output("y", y));
      KILN_TRY(check_same_shape("y", y, "q", q));
      KILN_TRY(check_set(q, set));
      KILN_TRY(check_apart("y", y, "q", q));
      KILN_TRY(check_apart_from_set("y", y, set));
      return run_scaled(ex, "dequantise", q, y, set, to_numbers<typename Y::value_type>{});
    }());
  }
}
template <class Any = void>
status dequantise(...) {
  static_assert(kiln::detail::never<Any>,
                "dequantise takes (executor, q, y, scales); the executor is host or device(stream), scales a set, such "
                "as per_row_scales(view)");
  return {};
}

}  // namespace kiln
