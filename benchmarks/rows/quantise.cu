#include <algorithm>
#include <benchmarks/rows/cases.hpp>
#include <kiln/quantise.hpp>

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

}  // namespace

void register_quantise() {
  using kiln::bf16;
  register_shapes("quantise_rows_int8", element::bf16, large_shapes(), false, quantise_case<bf16, std::int8_t>);
  register_shapes("quantise_rows_e4m3", element::bf16, few_large_shapes(), false, quantise_case<bf16, kiln::e4m3>);
  register_shapes("quantise_rows_int8", element::bf16, decode_shapes(), true, quantise_case<bf16, std::int8_t>);
}

}  // namespace bench
