#include <algorithm>
#include <benchmarks/rows/cases.hpp>
#include <kiln/argmax.hpp>
#include <kiln/reduce.hpp>

namespace bench {

namespace {

using kiln::bf16;

void argmax_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(2.0 * static_cast<double>(s.size()) + 4.0 * static_cast<double>(s.rows));
  const copies<bf16> x = c.input<bf16>(s.size());
  const copies<std::int32_t> at = c.output<std::int32_t>(s.rows);
  c.set_kiln([=](auto ex, int set) { return kiln::argmax(ex, x.input(set, s.rows, s.columns), at.view(set, s.rows)); });
  for (const std::int64_t r : some_rows(s.rows)) {
    const std::vector<double> v = c.values(x, r * s.columns, s.columns);
    c.expect("argmax", at, r, {static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin())}, {0});
  }
  finish(c, state, decode);
}

void row_sum_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(2.0 * static_cast<double>(s.size()) + 4.0 * static_cast<double>(s.rows));
  const copies<bf16> x = c.input<bf16>(s.size());
  const copies<float> sum = c.output<float>(s.rows);
  c.set_kiln([=](auto ex, int set) {
    return kiln::row_reduce<kiln::reduction::sum>(ex, x.input(set, s.rows, s.columns), sum.view(set, s.rows));
  });
  for (const std::int64_t r : some_rows(s.rows)) {
    double want = 0, magnitude = 0;
    for (const double e : c.values(x, r * s.columns, s.columns)) want += e, magnitude += std::fabs(e);
    c.expect("row_reduce", sum, r, {want}, {depth_of_sum(s.columns) * u32 * magnitude});
  }
  finish(c, state, decode);
}

void column_sum_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(2.0 * static_cast<double>(s.size()) + 4.0 * static_cast<double>(s.columns));
  const copies<bf16> x = c.input<bf16>(s.size());
  const copies<float> sum = c.output<float>(s.columns);
  std::size_t scratch_bytes = 0;
#if defined(__CUDACC__)
  scratch_bytes = kiln::column_reduce_workspace_size(x.input(0, s.rows, s.columns));
#endif
  const memory scratch(scratch_bytes);
  c.set_kiln([=, at = scratch.at()](auto ex, int set) {
    ex.scratch = {at, scratch_bytes};
    return kiln::column_reduce<kiln::reduction::sum>(ex, x.input(set, s.rows, s.columns), sum.view(set, s.columns));
  });
  const auto columns = static_cast<std::size_t>(s.columns);
  std::vector<double> want(columns), magnitude(columns);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const std::vector<double> v = c.values(x, r * s.columns, s.columns);
    for (std::size_t i = 0; i < columns; ++i) want[i] += v[i], magnitude[i] += std::fabs(v[i]);
  }
  for (double& m : magnitude) m *= depth_of_sum(s.rows) * u32;
  c.expect("column_reduce", sum, 0, want, magnitude);
  finish(c, state, decode);
}

}  // namespace

void register_reductions() {
  register_shapes("argmax", element::bf16, large_shapes(), false, argmax_case);
  register_shapes("row_sum", element::bf16, few_large_shapes(), false, row_sum_case);
  register_shapes("column_sum", element::bf16, {{8192, 4096}, {32768, 1024}, {262144, 128}}, false, column_sum_case);
  register_shapes("argmax", element::bf16, {{1, 151552}, {8, 151552}, {32, 151552}}, true, argmax_case);
}

}  // namespace bench
