#include <algorithm>
#include <benchmarks/rows/cases.hpp>
#include <kiln/norm_quantise.hpp>

namespace bench {

namespace {

/// Values over their row's scale, to int8 or e4m3.
template <class X, class Q>
void quantise_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(static_cast<double>(s.size()) * (sizeof(X) + sizeof(Q)) + 4.0 * static_cast<double>(s.rows));
  const copies<X> x = c.input<X>(s.size());
  const copies<Q> q = c.output<Q>(s.size());
  const copies<float> scales = c.output<float>(s.rows);
  c.set_kiln([=](auto ex, int set) {
    return kiln::quantise_rows(ex, x.input(set, s.rows, s.columns), q.view(set, s.rows, s.columns),
                               scales.view(set, s.rows));
  });
  constexpr bool integers = std::is_same_v<Q, std::int8_t>;
  for (const std::int64_t r : some_rows(s.rows)) {
    const std::vector<double> v = c.values(x, r * s.columns, s.columns);
    double amax = 0;
    for (const double e : v) amax = (std::max)(amax, std::fabs(e));
    const double scale = amax / (integers ? 127 : 448);
    c.expect("the scales", scales, r, {scale}, {2 * scale * u32});
    std::vector<double> want, bound;
    // A quotient is off by 2 roundings before it becomes an integer, half a unit away at most.
    for (const double e : v)
      want.push_back(e / scale), bound.push_back((integers ? 0.5 : 0) + 4 * u32 * std::fabs(e / scale));
    c.expect("quantise_rows", q, r * s.columns, want, bound);
  }
  finish(c, state, decode);
}

/// RMSNorm whose result goes to int8 or e4m3 in the same launch.
template <class X, class Q>
void rms_norm_quantise_case(benchmark::State& state, row_shape s, bool decode) {
  constexpr float epsilon = 1e-5f;
  memory_case c(static_cast<double>(s.size()) * (sizeof(X) + sizeof(Q)) + static_cast<double>(s.columns) * sizeof(X) +
                4.0 * static_cast<double>(s.rows));
  const copies<X> x = c.input<X>(s.size()), weight = c.input<X>(s.columns);
  const copies<Q> q = c.output<Q>(s.size());
  const copies<float> scales = c.output<float>(s.rows);
  c.set_kiln([=](auto ex, int set) {
    return kiln::rms_norm(ex, x.input(set, s.rows, s.columns), weight.input(set, s.columns),
                          q.view(set, s.rows, s.columns), kiln::per_row_scales(scales.view(set, s.rows)), epsilon);
  });
  constexpr bool integers = std::is_same_v<Q, std::int8_t>;
  const std::vector<double> w = c.values(weight, 0, s.columns);
  const double relative = (depth_of_sum(s.columns) + 16) * u32;
  for (const std::int64_t r : some_rows(s.rows)) {
    std::vector<double> v = c.values(x, r * s.columns, s.columns);
    double squares = 0, amax = 0;
    for (const double e : v) squares += e * e;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(s.columns) + static_cast<double>(epsilon));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] *= factor * w[i], amax = (std::max)(amax, std::fabs(v[i]));
    const double scale = amax / (integers ? 127 : 448);
    c.expect("the scales", scales, r, {scale}, {(relative + 2 * u32) * scale});
    std::vector<double> want, bound;
    // Value and scale carry the norm's error each; the code is half a unit away at most.
    for (const double e : v)
      want.push_back(e / scale),
          bound.push_back((integers ? 0.5 : 0) + (2 * relative + 4 * u32) * std::fabs(e / scale));
    c.expect("rms_norm, quantised", q, r * s.columns, want, bound);
  }
  finish(c, state, decode);
}

}  // namespace

void register_quantise() {
  using kiln::bf16;
  register_shapes("quantise_rows_int8", element::bf16, large_shapes(), false, quantise_case<bf16, std::int8_t>);
  register_shapes("quantise_rows_e4m3", element::bf16, few_large_shapes(), false, quantise_case<bf16, kiln::e4m3>);
  register_shapes("quantise_rows_int8", element::bf16, decode_shapes(), true, quantise_case<bf16, std::int8_t>);
  register_shapes("rms_norm_quantise_int8", element::bf16, large_shapes(), false,
                  rms_norm_quantise_case<bf16, std::int8_t>);
  register_shapes("rms_norm_quantise_e4m3", element::bf16, few_large_shapes(), false,
                  rms_norm_quantise_case<bf16, kiln::e4m3>);
  register_shapes("rms_norm_quantise_int8", element::bf16, decode_shapes(), true,
                  rms_norm_quantise_case<bf16, std::int8_t>);
}

}  // namespace bench
