#pragma once
/// Scales from many batches: what has been seen is kept in memory of yours, on the executor, and becomes a set of
/// scales.
///
///     const auto seen = per_row_ranges(low, high, ignored);  // or per_column_, per_group_ranges, per_tensor_range
///     KILN_TRY(forget(ex, seen));                            // once
///     KILN_TRY(observe(ex, batch, seen));                    // for each batch
///     KILN_TRY(make_scales<std::int8_t>(ex, seen, per_row_scales(s)));                       // amax / 127
///     KILN_TRY(make_scales<std::uint8_t>(ex, seen, per_row_scales(s).with_zero_points(z)));  // affine: min and max
///
///     const auto all = histogram(counts, per_tensor_range(low, high, ignored));
///     KILN_TRY(make_scales<std::int8_t>(ex, all, per_tensor_scale(s), percentile{0.9999}));
///     KILN_TRY(make_scales<e4m3>(ex, all, per_tensor_scale(s), least_squares{}));
///
/// The sets are those of quantise.hpp: `quantise(ex, x, q, given(per_row_scales(s)))`, and `per_row(s)` in an epilogue.
/// A vector of row maxima, as the epilogue's `reduce_rows<reduction::amax>` writes it, is a batch, too: as [m, 1] of
/// per_row_ranges, or as a vector of per_tensor_range.
///
/// `x` is float, f16 or bf16, rank 1 to 4, any strides; its last axis are its columns, all others its rows, of which
/// each batch has as many as there are ranges. `low` and `high` are float, `ignored` is int64, one each of a range.
/// Values that are not finite are passed over and counted in `ignored`. Ranges hold 0, so 0 has a code; a range of 0
/// has scale 1 (and zero point 0), and no scale is below 2^-126. Which scale belongs to a range is said in
/// quantise.hpp.
///
/// A histogram has a bin for each bf16: values of bf16 are counted exactly, others as the nearest, at most 2^-9 of
/// themselves away (below 2^-126: 2^-134). `counts` are `histogram_size` int64 in one piece, the first 65536 of them
/// the counts by code, zeros in code 0; what lies behind is scratch memory of make_scales.
///
/// - `percentile{p}`: at most a part 1 - p of all finite values is clipped; affine: on each side. What is found is a
///   bin, so within 2^-9 of the value of that rank; nothing clipped is the exact range.
/// - `least_squares{}`: the least sum of (x - dequantised x)^2 over the counts. Symmetric: of the largest magnitudes
///   amax * 2^(-i / 16), i = 0 to 255. Affine: each end of the range is shrunk by up to 8 octaves, first in steps of
///   1/2, then, around the best pair, in steps of 1/16. The sum is float64, in an order that both executors share.
///
/// The same values give the same bits in any order and any cut into batches. Errors: bad_shape, bad_stride, bad_option
/// (p outside [0, 1]), null_pointer, overlap.
#include <kiln/kernel/rows/calibrate.hpp>
#include <kiln/kernel/rows/histogram.hpp>
#include <kiln/kernel/rows/items.hpp>
#include <kiln/kernel/rows/quantise_sound.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/scale_sets.hpp>
#include <kiln/quantise.hpp>

namespace kiln {

namespace rows {
/// Ranges of views of `rank` axes; what their types have against them is said once.
template <granularity G, class L, class H, class Ignored>
constexpr auto make_ranges([[maybe_unused]] const L& low, [[maybe_unused]] const H& high,
                           [[maybe_unused]] const Ignored& ignored, [[maybe_unused]] index_t group = 0) {
  using space = typename space_of<L>::type;
  constexpr int rank = kiln::detail::is_grouped(G) ? 2 : 1;
  constexpr auto found = first_fault<space>(writes<L, elements_of<float>>(rank), writes<H, elements_of<float>>(rank),
                                            writes<Ignored, elements_of<std::int64_t>>(rank));
  static_assert(found.none() || rank == 2,
                "ranges are low and high, vectors (views of rank 1) of float, and ignored, one of int64, none of them "
                "const, in one memory");
  static_assert(
      found.none() || rank == 1,
      "ranges of groups are low and high, matrices (views of rank 2) of float, and ignored, one of int64, none "
      "of them const, in one memory");
  if constexpr (found.none())
    return observed_ranges<G, space>{low, high, ignored, group};
  else
    return wrong_ranges{};
}
}  // namespace rows

template <class L, class H, class Ignored>
constexpr auto per_tensor_range(const L& low, const H& high, const Ignored& ignored) {
  return rows::make_ranges<granularity::tensor>(low, high, ignored);
}
template <class L, class H, class Ignored>
constexpr auto per_row_ranges(const L& low, const H& high, const Ignored& ignored) {
  return rows::make_ranges<granularity::row>(low, high, ignored);
}
template <class L, class H, class Ignored>
constexpr auto per_column_ranges(const L& low, const H& high, const Ignored& ignored) {
  return rows::make_ranges<granularity::column>(low, high, ignored);
}

/// Ranges of groups of `group` neighbours along axis `Axis`; matrices as per_group_scales takes them.
template <int Axis, class L, class H, class Ignored>
constexpr auto per_group_ranges([[maybe_unused]] const L& low, [[maybe_unused]] const H& high,
                                [[maybe_unused]] const Ignored& ignored, [[maybe_unused]] index_t group) {
  constexpr bool axis = Axis == 0 || Axis == 1;
  static_assert(axis, "groups run along axis 0 or axis 1");
  if constexpr (axis)
    return rows::make_ranges<(Axis == 0 ? granularity::group_0 : granularity::group_1)>(low, high, ignored, group);
  else
    return rows::wrong_ranges{};
}

template <class Counts, class Range>
constexpr auto histogram([[maybe_unused]] const Counts& counts, [[maybe_unused]] const Range& range) {
  using namespace rows;
  using space = typename space_of<Counts>::type;
  if constexpr (kind_of<Range> == seen_kind::wrong) {
    return wrong_ranges{};
  } else {
    constexpr auto found = first_fault<space>(writes<Counts, elements_of<std::int64_t>>(1));
    constexpr bool whole = std::is_same_v<Range, observed_ranges<granularity::tensor, space>>;
    static_assert(found.none(), "histogram: counts needs to be a vector (a view of rank 1) of int64, not const");
    static_assert(!found.none() || whole,
                  "histogram: behind counts comes per_tensor_range(low, high, ignored) in the same memory");
    if constexpr (found.none() && whole)
      return observed_histogram<space>{with_unit<0>(counts), range};
    else
      return wrong_ranges{};
  }
}

/// How a range is chosen from what was seen.
struct full_range {};
struct percentile {
  double fraction;  ///< of all values, in [0, 1]
};
struct least_squares {};

namespace rows {
template <class Executor, granularity G, class S>
status forget_seen(const Executor& ex, const observed_ranges<G, S>& seen) {
  KILN_TRY(check_observed(seen));
  if (seen.low.empty()) return {};
  return run_items(ex, {.program = "calibrate: forget"},
                   forget_ranges{place_of<G>(seen.low), place_of<G>(seen.high), place_of<G>(seen.ignored),
                                 side_by_side<G>(seen.low)},
                   seen.low.size());
}
template <class Executor, class S>
status forget_seen(const Executor& ex, const observed_histogram<S>& seen) {
  KILN_TRY(check_observed(seen));
  KILN_TRY(forget_seen(ex, seen.range));
  return run_items(ex, {.program = "calibrate: forget"}, forget_counts{seen.counts.data}, histogram_size);
}

template <class Executor, class X, granularity G, class SO>
status observe_batch(const Executor& ex, const X& x, const observed_ranges<G, SO>& seen) {
  KILN_TRY(check_batch(x, seen));
  if (x.empty()) return {};
  const trace::launch_record record{.program = "calibrate: ranges", .bytes = bytes_of(x)};
  const auto low = place_of<G>(seen.low), high = place_of<G>(seen.high);
  const auto ignored = place_of<G>(seen.ignored);
  const index_t group = kiln::detail::is_grouped(G) ? seen.group : cut::any;
  if constexpr (G == granularity::column || G == granularity::group_0) {
    return column_ranges<true>(ex, record, input_of(x), into_ranges{low, high, ignored}, count(x), length(x), group);
  } else {
    const cut cuts(length(x), group, G == granularity::tensor ? cut::longest : cut::any);
    return run(ex, record, range_program<typename X::value_type, true>{input_of(x), low, high, ignored, cuts},
               count(x) * cuts.runs(), cuts.piece);
  }
}
template <class Executor, class X, class SO>
status observe_batch(const Executor& ex, const X& x, const observed_histogram<SO>& seen) {
  KILN_TRY(check_observed(seen));
  KILN_TRY(check_apart("counts", seen.counts, "x", x));
  KILN_TRY(observe_batch(ex, x, seen.range));
  if (x.empty()) return {};
  const cut cuts(length(x));
  return run(ex, {.program = "calibrate: histogram", .bytes = bytes_of(x)},
             histogram_program<typename X::value_type>{input_of(x), seen.counts.data, cuts}, count(x) * cuts.runs(),
             cuts.piece);
}
}  // namespace rows

/// Starts anew: nothing seen.
template <executor Executor, class Seen>
status forget(const Executor& ex, const Seen& seen) {
  using namespace rows;
  constexpr bool known = kind_of<Seen> != seen_kind::none, told = kind_of<Seen> == seen_kind::wrong;
  constexpr bool here = told || std::is_same_v<typename space_of<Seen>::type, typename Executor::space>;
  static_assert(known, "forget: what was seen is per_row_ranges(...) or one like it, or histogram(...)");
  static_assert(!known || here,
                "forget: a view lies in another memory than the executor's: host takes host_view, device device_view");
  if constexpr (known && !told && here)
    return in_call("forget", forget_seen(ex, seen));
  else
    return {};
}
template <class Any = void>
status forget(...) {
  static_assert(kiln::detail::never<Any>, "forget takes (executor, seen); the executor is host or device(stream)");
  return {};
}

/// Adds a batch to what was seen.
template <executor Executor, class X, class Seen>
status observe(const Executor& ex, const X& x, const Seen& seen) {
  using namespace rows;
  constexpr auto found = first_fault<typename Executor::space>(reads<X, numbers>(1, 4));
  constexpr bool known = kind_of<Seen> != seen_kind::none, told = kind_of<Seen> == seen_kind::wrong;
  constexpr bool here =
      found.what != fault::memory && (told || std::is_same_v<typename space_of<Seen>::type, typename Executor::space>);
  static_assert(found.operand != 0, "observe: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand == 0 || known,
                "observe: what was seen is per_row_ranges(...) or one like it, or histogram(...)");
  static_assert(found.operand == 0 || !known || here,
                "observe: a view lies in another memory than the executor's: host takes host_view, device device_view");
  if constexpr (found.none() && known && !told && here)
    return in_call("observe", observe_batch(ex, x, seen));
  else
    return {};
}
template <class Any = void>
status observe(...) {
  static_assert(kiln::detail::never<Any>, "observe takes (executor, x, seen); the executor is host or device(stream)");
  return {};
}

/// Scales for codes of type Q from the ranges; with zero points in the set, affine ones.
template <class Q, executor Executor, granularity G, class S, class Set>
status make_scales(const Executor& ex, const observed_ranges<G, S>& seen, const Set& set, full_range = {},
                   quantise_options options = {}) {
  using namespace rows;
  constexpr auto found = mistake_of_scales<typename Executor::space, Q, G, S, Set>();
  if constexpr (!sound_quantise<found>::value) {
    return {};
  } else {
    return in_call("make_scales", [&]() -> status {
      KILN_TRY(check_observed(seen));
      KILN_TRY(check_made(seen, set));
      if (seen.low.empty()) return {};
      using zero = typename zero_type<std::remove_cvref_t<decltype(set.zeros)>>::type;
      const scales_of_ranges<Q, zero> program{place_of_const<G>(seen.low), place_of_const<G>(seen.high),
                                              place_of<G>(set.scales),     place_of<G>(set.zeros),
                                              side_by_side<G>(seen.low),   options.range == int8_range::symmetric};
      return run_items(ex, {.program = "calibrate: scales"}, program, seen.low.size());
    }());
  }
}

namespace rows {
template <class Q, class Executor, class S, class Set, class Method>
status scales_of_histogram(const Executor& ex, const observed_histogram<S>& seen, const Set& set, const Method& method,
                           const quantise_options& options) {
  KILN_TRY(check_observed(seen));
  KILN_TRY(check_made(seen.range, set));
  KILN_TRY(check_written_set("counts", seen.counts, set));
  using zero = typename zero_type<std::remove_cvref_t<decltype(set.zeros)>>::type;
  const calibration<Q, zero> to{seen.counts.data,
                                seen.range.low.data,
                                seen.range.high.data,
                                set.scales.data,
                                place_of<granularity::tensor>(set.zeros).data,
                                options.range == int8_range::symmetric};
  using where = where_of<Executor>;
  if constexpr (std::is_same_v<Method, percentile>) {
    if (!(method.fraction >= 0 && method.fraction <= 1))
      return fail(errc::bad_option, "make_scales: percentile{", method.fraction, "}, needs a fraction in [0, 1]");
    return run_blocks(ex, {.program = "calibrate: percentile", .schedule = "one block"},
                      percentile_program<where, Q, zero>{to, method.fraction}, 1);
  } else {
    std::int64_t *best = seen.counts.data + histogram_bins, *errors = best + 1;
    for (const bool second : {false, true}) {
      const bool last = second || !to.affine;
      KILN_TRY(run_blocks(ex, {.program = "calibrate: errors", .schedule = "a block each"},
                          errors_program<where, Q, zero>{to, best, second, errors}, candidates));
      KILN_TRY(
          run_items(ex, {.program = "calibrate: choose"}, choose_program<Q, zero>{to, best, second, last, errors}, 1));
      if (last) break;
    }
    return {};
  }
}
}  // namespace rows

/// The same from a histogram, with the range that `method` chooses.
template <class Q, executor Executor, class S, class Set, class Method>
status make_scales(const Executor& ex, const observed_histogram<S>& seen, const Set& set, const Method& method,
                   quantise_options options = {}) {
  using namespace rows;
  constexpr bool known =
      std::is_same_v<Method, full_range> || std::is_same_v<Method, percentile> || std::is_same_v<Method, least_squares>;
  static_assert(known, "make_scales: the method is full_range{}, percentile{p} or least_squares{}");
  if constexpr (!known) {
    return {};
  } else if constexpr (std::is_same_v<Method, full_range>) {
    KILN_TRY(in_call("make_scales", check_observed(seen)));
    return make_scales<Q>(ex, seen.range, set, method, options);
  } else {
    constexpr auto found = mistake_of_scales<typename Executor::space, Q, granularity::tensor, S, Set>();
    if constexpr (sound_quantise<found>::value)
      return in_call("make_scales", scales_of_histogram<Q>(ex, seen, set, method, options));
    else
      return {};
  }
}
/// What is wrong with the ranges has been said.
template <class Q, executor Executor, class... Rest>
status make_scales(const Executor&, const rows::wrong_ranges&, const Rest&...) {
  return {};
}
template <class Q = void, class Any = void>
status make_scales(...) {
  static_assert(kiln::detail::never<Any>,
                "make_scales<code> takes (executor, seen, scales, method, options), the last two may be left out for "
                "ranges, as make_scales<std::int8_t>(host, ranges, per_row_scales(s)); the executor is host or "
                "device(stream)");
  return {};
}

}  // namespace kiln
