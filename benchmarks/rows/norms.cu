#include <benchmarks/rows/cases.hpp>
#include <kiln/norm.hpp>

namespace bench {

namespace {

constexpr float epsilon = 1e-5f;

/// v / sqrt(mean(v^2) + epsilon) * weight.
void expect_rms(const std::vector<double>& v, const std::vector<double>& weight, std::vector<double>& want,
                std::vector<double>& bound) {
  double squares = 0;
  for (const double e : v) squares += e * e;
  const auto n = static_cast<std::int64_t>(v.size());
  const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(epsilon));
  want.clear(), bound.clear();
  for (std::size_t i = 0; i < v.size(); ++i) {
    want.push_back(v[i] * factor * weight[i]);
    bound.push_back(std::fabs(want.back()) * (depth_of_sum(n) + 16) * u32);
  }
}

template <class T>
void rms_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(static_cast<double>(2 * s.size() + s.columns) * sizeof(T));
  const copies<T> x = c.input<T>(s.size()), weight = c.input<T>(s.columns), y = c.output<T>(s.size());
  c.set_kiln([=](auto ex, int set) {
    return kiln::rms_norm(ex, x.input(set, s.rows, s.columns), weight.input(set, s.columns),
                          y.view(set, s.rows, s.columns), epsilon);
  });
  std::vector<double> want, bound;
  const std::vector<double> w = c.values(weight, 0, s.columns);
  for (const std::int64_t r : some_rows(s.rows)) {
    expect_rms(c.values(x, r * s.columns, s.columns), w, want, bound);
    c.expect("rms_norm", y, r * s.columns, want, bound);
  }
  finish(c, state, decode);
}

template <class T>
void add_rms_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(static_cast<double>(4 * s.size() + s.columns) * sizeof(T));
  const copies<T> x = c.input<T>(s.size()), residual = c.input<T>(s.size()), weight = c.input<T>(s.columns);
  const copies<T> sum = c.output<T>(s.size()), y = c.output<T>(s.size());
  c.set_kiln([=](auto ex, int set) {
    return kiln::add_rms_norm(ex, x.input(set, s.rows, s.columns), residual.input(set, s.rows, s.columns),
                              weight.input(set, s.columns), sum.view(set, s.rows, s.columns),
                              y.view(set, s.rows, s.columns), epsilon);
  });
  std::vector<double> want, bound;
  const std::vector<double> w = c.values(weight, 0, s.columns);
  for (const std::int64_t r : some_rows(s.rows)) {
    std::vector<double> v = c.values(x, r * s.columns, s.columns);
    const std::vector<double> other = c.values(residual, r * s.columns, s.columns);
    std::vector<double> rounding;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += other[i], rounding.push_back(std::fabs(v[i]) * u32);
    c.expect("the sum", sum, r * s.columns, v, rounding);
    expect_rms(v, w, want, bound);
    c.expect("add_rms_norm", y, r * s.columns, want, bound);
  }
  finish(c, state, decode);
}

template <class T>
void layer_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(static_cast<double>(2 * s.size() + 2 * s.columns) * sizeof(T));
  const copies<T> x = c.input<T>(s.size()), weight = c.input<T>(s.columns), bias = c.input<T>(s.columns);
  const copies<T> y = c.output<T>(s.size());
  c.set_kiln([=](auto ex, int set) {
    return kiln::layer_norm(ex, x.input(set, s.rows, s.columns), weight.input(set, s.columns),
                            bias.input(set, s.columns), y.view(set, s.rows, s.columns), epsilon);
  });
  const std::vector<double> w = c.values(weight, 0, s.columns), b = c.values(bias, 0, s.columns);
  const auto n = static_cast<double>(s.columns);
  for (const std::int64_t r : some_rows(s.rows)) {
    const std::vector<double> v = c.values(x, r * s.columns, s.columns);
    double sum = 0, squares = 0;
    for (const double e : v) sum += e;
    for (const double e : v) squares += (e - sum / n) * (e - sum / n);
    const double factor = 1 / std::sqrt(squares / n + static_cast<double>(epsilon));
    std::vector<double> want, bound;
    for (std::size_t i = 0; i < v.size(); ++i) {
      want.push_back((v[i] - sum / n) * factor * w[i] + b[i]);
      // Values are below 1, those relative to the first below 2; mean and value carry the error of the sum.
      bound.push_back((depth_of_sum(s.columns) + 16) * u32 * (4 * factor * std::fabs(w[i]) + std::fabs(b[i])));
    }
    c.expect("layer_norm", y, r * s.columns, want, bound);
  }
  finish(c, state, decode);
}

}  // namespace

void register_norms() {
  using kiln::bf16;
  register_shapes("rms_norm", element::bf16, large_shapes(), false, rms_case<bf16>);
  register_shapes("add_rms_norm", element::bf16, large_shapes(), false, add_rms_case<bf16>);
  register_shapes("layer_norm", element::bf16, large_shapes(), false, layer_case<bf16>);
  register_shapes("rms_norm", element::f32, few_large_shapes(), false, rms_case<float>);
  register_shapes("rms_norm", element::bf16, decode_shapes(), true, rms_case<bf16>);
  register_shapes("add_rms_norm", element::bf16, decode_shapes(), true, add_rms_case<bf16>);
  register_shapes("layer_norm", element::bf16, decode_shapes(), true, layer_case<bf16>);
}

}  // namespace bench
