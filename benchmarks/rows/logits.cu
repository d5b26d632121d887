#include <algorithm>
#include <benchmarks/rows/cases.hpp>
#include <kiln/cross_entropy.hpp>
#include <kiln/sampling.hpp>

namespace bench {

namespace {

using kiln::bf16;

/// Losses of rows of logits, one target each.
void cross_entropy_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(2.0 * static_cast<double>(s.size()) + 8.0 * static_cast<double>(s.rows));
  const copies<bf16> logits = c.input<bf16>(s.size(), -4, 4);
  std::vector<std::int32_t> classes;
  for (std::int64_t r = 0; r < s.rows; ++r) classes.push_back(static_cast<std::int32_t>(r * 7919 % s.columns));
  const copies<std::int32_t> targets = c.input_of(classes);
  const copies<float> loss = c.output<float>(s.rows);
  c.set_kiln([=](auto ex, int set) {
    return kiln::cross_entropy(ex, logits.input(set, s.rows, s.columns), targets.input(set, s.rows),
                               loss.view(set, s.rows));
  });
  for (const std::int64_t r : some_rows(s.rows)) {
    const std::vector<double> v = c.values(logits, r * s.columns, s.columns);
    double sum = 0;
    for (const double x : v) sum += std::exp(x);
    const double want = std::log(sum) - v[static_cast<std::size_t>(classes[static_cast<std::size_t>(r)])];
    // The sum's terms may be rescaled at each step; its logarithm takes the relative error as an absolute one.
    const double terms = (2 * static_cast<double>(s.columns / 16 + 41) + 24) * u32;
    c.expect("cross_entropy", loss, r, {want}, {terms + 4 * u32 * (std::log(sum) + 4)});
  }
  finish(c, state, decode);
}

/// A column of each row, of the 50 largest logits and then of those that hold 0.9 of the probability.
void sample_case(benchmark::State& state, row_shape s, bool decode) {
  memory_case c(2.0 * static_cast<double>(s.size()) + 4.0 * static_cast<double>(s.rows));
  const copies<bf16> logits = c.input<bf16>(s.size(), -8, 8);
  const copies<std::int32_t> drawn = c.output<std::int32_t>(s.rows);
  constexpr int most = 50;
  c.set_kiln([=](auto ex, int set) {
    return kiln::sample_rows(ex, logits.input(set, s.rows, s.columns), drawn.view(set, s.rows),
                             {.temperature = 0.8f, .top_k = most, .top_p = 0.9f, .seed = 7});
  });
  for (const std::int64_t r : some_rows(s.rows)) {
    const double column = c.values(drawn, r, 1)[0];
    const std::vector<double> v = c.values(logits, r * s.columns, s.columns);
    if (!(column >= 0 && column < static_cast<double>(s.columns))) throw failure("wrong result: no column was drawn");
    const double x = v[static_cast<std::size_t>(column)];
    if (std::count_if(v.begin(), v.end(), [x](double other) { return other > x; }) >= most)
      throw failure("wrong result: the column drawn is not among the largest");
  }
  finish(c, state, decode);
}

}  // namespace

void register_logits() {
  register_shapes("cross_entropy", element::bf16, {{8192, 4096}, {1024, 131072}, {512, 151552}}, false,
                  cross_entropy_case);
  register_shapes("sample_rows", element::bf16, {{1, 151552}, {8, 151552}, {32, 151552}}, true, sample_case);
}

}  // namespace bench
