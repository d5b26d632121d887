#pragma once
/// What calibration keeps, its checks, and the programs without a shape of their own: kiln/calibrate.hpp says what it
/// is for.
#include <kiln/kernel/rows/histogram.hpp>
#include <kiln/kernel/rows/scale_sets.hpp>

namespace kiln {

/// The ranges seen: one for the tensor, for each row, column or group.
template <granularity G, class Space>
struct observed_ranges {
  static constexpr granularity served = G;
  static constexpr int rank = detail::is_grouped(G) ? 2 : 1;
  using space = Space;
  tensor<float, rank, Space, no_unit> low, high;
  tensor<std::int64_t, rank, Space, no_unit> ignored;
  index_t group = 0;
};
/// Elements of a histogram's counts: the bins, then the errors of a search and its choice.
inline constexpr index_t histogram_size = rows::histogram_bins + rows::candidates + 1;

template <class Space>
struct observed_histogram {
  using space = Space;
  tensor<std::int64_t, 1, Space, 0> counts;
  observed_ranges<granularity::tensor, Space> range;
};
namespace rows {

/// Stands for ranges, or a histogram, of which the compiler has said what is wrong.
struct wrong_ranges {};

enum class seen_kind { none, wrong, ranges, histogram };
template <class T>
inline constexpr seen_kind kind_of = std::is_same_v<T, wrong_ranges> ? seen_kind::wrong : seen_kind::none;
template <granularity G, class S>
inline constexpr seen_kind kind_of<observed_ranges<G, S>> = seen_kind::ranges;
template <class S>
inline constexpr seen_kind kind_of<observed_histogram<S>> = seen_kind::histogram;

template <granularity G, class S>
status check_observed(const observed_ranges<G, S>& seen) {
  KILN_TRY(check_output("low", seen.low));
  KILN_TRY(check_output("high", seen.high));
  KILN_TRY(check_output("ignored", seen.ignored));
  if constexpr (G == granularity::tensor) KILN_TRY(check_length("low", seen.low, 1, "one for the tensor"));
  if (kiln::detail::is_grouped(G) && seen.group < 1)
    return fail(errc::bad_option, "operand `low`: groups of ", seen.group, " elements, needs at least 1");
  KILN_TRY(check_same_shape("high", seen.high, "low", seen.low));
  KILN_TRY(check_same_shape("ignored", seen.ignored, "low", seen.low));
  KILN_TRY(check_apart("low", seen.low, "high", seen.high));
  KILN_TRY(check_apart("low", seen.low, "ignored", seen.ignored));
  return check_apart("high", seen.high, "ignored", seen.ignored);
}
template <class S>
status check_observed(const observed_histogram<S>& seen) {
  KILN_TRY(check_observed(seen.range));
  KILN_TRY(check_view("counts", seen.counts));
  KILN_TRY(check_length("counts", seen.counts, histogram_size, "histogram_size"));
  KILN_TRY(check_apart("counts", seen.counts, "low", seen.range.low));
  KILN_TRY(check_apart("counts", seen.counts, "high", seen.range.high));
  return check_apart("counts", seen.counts, "ignored", seen.range.ignored);
}

/// Where the range of number i lies: numbers count along the last axis of what `place_of_run` indexes.
template <granularity G, class V>
constexpr index_t side_by_side(const V& v) {
  if constexpr (kiln::detail::is_grouped(G)) return v.extents[1];
  return G == granularity::column ? v.extents[0] : 1;
}

struct forget_ranges {
  place_of_run<float> low, high;
  place_of_run<std::int64_t> ignored;
  index_t wide;
  KILN_FN void run(index_t n) const {
    const index_t i = divided(n, wide), j = n - i * wide;
    *low.at(i, j) = -0.0f, *high.at(i, j) = 0, *ignored.at(i, j) = 0;
  }
};
struct forget_counts {
  std::int64_t* counts;
  KILN_FN void run(index_t i) const { counts[i] = 0; }
};
/// Joins the range of a column with what was there.
struct into_ranges {
  place_of_run<float> low, high;
  place_of_run<std::int64_t> ignored;
  KILN_FN void operator()(index_t g, index_t c, value_range r, index_t others) const {
    const value_range all = joined({*low.at(g, c), *high.at(g, c)}, r);
    *low.at(g, c) = all.low, *high.at(g, c) = all.high, *ignored.at(g, c) += others;
  }
};
/// Makes the scale, and zero point, of each range.
template <class Q, class Z>
struct scales_of_ranges {
  place_of_run<const float> low, high;
  place_of_run<float> scales;
  place_of_run<Z> zeros;
  index_t wide;
  bool symmetric;
  KILN_FN void run(index_t n) const {
    const index_t i = divided(n, wide), j = n - i * wide;
    const value_range r{*low.at(i, j), *high.at(i, j)};
    calibration<Q, Z>{nullptr, nullptr, nullptr, scales.at(i, j), zeros.at(i, j), symmetric}.write(r);
  }
};

template <class X, int R, class S, int U, granularity G, class SO>
status check_batch(const tensor<X, R, S, U>& x, const observed_ranges<G, SO>& seen) {
  KILN_TRY(check_view("x", x));
  KILN_TRY(check_observed(seen));
  KILN_TRY(check_factors<G>("low", seen.low, count(x), length(x), seen.group));
  KILN_TRY(check_apart("low", seen.low, "x", x));
  KILN_TRY(check_apart("high", seen.high, "x", x));
  return check_apart("ignored", seen.ignored, "x", x);
}

/// What make_scales' types have against them.
template <class Space, class Q, granularity G, class S, class Set>
constexpr quantise_mistake mistake_of_scales() {
  using enum quantise_mistake;
  if constexpr (!std::is_same_v<Space, S>)
    return memory;
  else if constexpr (constexpr auto found = mistake_of_set<Space, Q, Set, true>(); found != none)
    return found;
  else
    return Set::served == G ? none : served;
}

template <granularity G, class S, class Set>
status check_made(const observed_ranges<G, S>& seen, const Set& set) {
  if (kiln::detail::is_grouped(G) && set.group != seen.group)
    return fail(errc::bad_option, "operand `scales`: groups of ", set.group, " elements, needs groups of ", seen.group,
                " as in the ranges");
  KILN_TRY(check_same_shape("scales", set.scales, "low", seen.low));
  if constexpr (Set::affine) KILN_TRY(check_same_shape("zero points", set.zeros, "low", seen.low));
  KILN_TRY(check_written_set("low", seen.low, set));
  KILN_TRY(check_written_set("high", seen.high, set));
  return check_written_set("ignored", seen.ignored, set);
}

}  // namespace rows

}  // namespace kiln
