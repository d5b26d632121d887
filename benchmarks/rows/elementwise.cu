#include <benchmarks/rows/cases.hpp>
#include <kiln/copy.hpp>
#include <kiln/transform.hpp>
#include <kiln/view/reshape.hpp>

namespace bench {

namespace {

struct axpy {
  float a;
  KILN_FN float operator()(float x, float y) const { return a * x + y; }
};

/// z = a x + y.
template <class T>
void axpy_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(3.0 * static_cast<double>(s.size()) * sizeof(T));
  const copies<T> x = c.input<T>(s.size()), y = c.input<T>(s.size()), z = c.output<T>(s.size());
  c.set_kiln([=](auto ex, int set) {
    return kiln::transform(ex, x.input(set, s.rows, s.columns), y.input(set, s.rows, s.columns),
                           z.view(set, s.rows, s.columns), axpy{1.75f});
  });
  for (const std::int64_t r : some_rows(s.rows)) {
    std::vector<double> want = c.values(x, r * s.columns, s.columns), bound;
    const std::vector<double> other = c.values(y, r * s.columns, s.columns);
    for (std::size_t i = 0; i < want.size(); ++i)
      want[i] = 1.75 * want[i] + other[i], bound.push_back(2 * u32 * (std::fabs(want[i]) + std::fabs(other[i])));
    c.expect("transform", z, r * s.columns, want, bound);
  }
  finish(c, state, decode);
}

/// y[columns, rows] = x[rows, columns] transposed.
template <class T>
void transposition_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(2.0 * static_cast<double>(s.size()) * sizeof(T));
  const copies<T> x = c.input<T>(s.size()), y = c.output<T>(s.size());
  c.set_kiln([=](auto ex, int set) {
    return kiln::copy(ex, kiln::transposed(x.input(set, s.rows, s.columns)), y.view(set, s.columns, s.rows));
  });
  const auto all = static_cast<std::size_t>(s.size());
  std::vector<T> stored(all);
  need(cudaMemcpy(stored.data(), x.at(0), all * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (const std::int64_t column : some_rows(s.columns)) {
    std::vector<double> want;
    for (std::int64_t r = 0; r < s.rows; ++r)
      want.push_back(
          static_cast<double>(kiln::convert<float>(stored[static_cast<std::size_t>(r * s.columns + column)])));
    c.expect("the transposition", y, column * s.rows, want, std::vector<double>(want.size()));
  }
  finish(c, state, decode);
}

}  // namespace

void register_elementwise() {
  register_shapes("transform_axpy", element::bf16, few_large_shapes(), false, axpy_case<kiln::bf16>);
  register_shapes("transform_axpy", element::f32, few_large_shapes(), false, axpy_case<float>);
  register_shapes("transposition", element::bf16, large_shapes(), false, transposition_case<kiln::bf16>);
  register_shapes("transposition", element::f32, {{8192, 8192}, {16384, 1024}, {8192, 4096}, {1024, 131072}}, false,
                  transposition_case<float>);
}

}  // namespace bench
