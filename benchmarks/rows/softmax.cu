#include <algorithm>
#include <benchmarks/rows/cases.hpp>
#include <kiln/softmax.hpp>

namespace bench {

namespace {

/// Exponents of at most 8 in size, each right to 2 units; the sum; a product.
template <class T>
void check(const memory_case& c, const copies<T>& x, const copies<T>& y, row_shape s, bool logarithmic) {
  for (const std::int64_t r : some_rows(s.rows)) {
    const std::vector<double> v = c.values(x, r * s.columns, s.columns);
    const double top = *std::max_element(v.begin(), v.end());
    double sum = 0;
    for (const double e : v) sum += std::exp(e - top);
    std::vector<double> want, bound;
    for (const double e : v) {
      const double relative = (depth_of_sum(s.columns) + 24) * u32;
      want.push_back(logarithmic ? e - top - std::log(sum) : std::exp(e - top) / sum);
      bound.push_back(logarithmic ? relative + 2 * u32 * (top - e + std::log(sum)) : relative * want.back());
    }
    c.expect("softmax", y, r * s.columns, want, bound);
  }
}

template <class T>
void softmax_case(benchmark::State& state, row_shape s, bool decode, bool logarithmic) {
  memory_case c(2.0 * static_cast<double>(s.size()) * sizeof(T));
  const copies<T> x = c.input<T>(s.size(), -4, 4), y = c.output<T>(s.size());
  c.set_kiln([=](auto ex, int set) {
    const auto from = x.input(set, s.rows, s.columns);
    const auto to = y.view(set, s.rows, s.columns);
    return logarithmic ? kiln::log_softmax(ex, from, to) : kiln::softmax(ex, from, to);
  });
  check(c, x, y, s, logarithmic);
  finish(c, state, decode);
}

template <class T>
void add(const std::vector<row_shape>& shapes, bool decode) {
  for (const bool logarithmic : {false, true})
    register_shapes(logarithmic ? "log_softmax" : "softmax", element_of<T>(), shapes, decode,
                    [=](benchmark::State& state, row_shape s, bool d) { softmax_case<T>(state, s, d, logarithmic); });
}

}  // namespace

void register_softmax() {
  add<kiln::bf16>(large_shapes(), false);
  add<float>(few_large_shapes(), false);
  add<kiln::bf16>(decode_shapes(), true);
}

}  // namespace bench
