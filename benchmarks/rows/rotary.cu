#include <benchmarks/rows/cases.hpp>
#include <kiln/rotary.hpp>

namespace bench {

namespace {

using kiln::bf16;

// A layer of GLM-4-9B: 2 heads of keys and 32 of queries, 128 channels, of which 64 turn in pairs of neighbours.
constexpr std::int64_t heads = 2, query_heads = 32, channels = 128, width = 64, capacity = 4096;
constexpr double theta = 10000;
constexpr kiln::rotary_options options{.theta = theta, .width = width};

std::vector<double> turned(const std::vector<double>& x, std::int64_t position) {
  std::vector<double> y = x;
  for (std::size_t h = 0; h < x.size() / static_cast<std::size_t>(channels); ++h) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(width / 2); ++j) {
      const double angle = static_cast<double>(position) * std::pow(theta, -2.0 * static_cast<double>(j) / width);
      const std::size_t at = h * static_cast<std::size_t>(channels) + 2 * j;
      y[at] = x[at] * std::cos(angle) - x[at + 1] * std::sin(angle);
      y[at + 1] = x[at + 1] * std::cos(angle) + x[at] * std::sin(angle);
    }
  }
  return y;
}

/// A step's keys turned and written with their values to the cache, one token a row; with as many columns as all
/// projections have, the queries turn in the same launch.
void append_case(benchmark::State& state, row_shape s, bool decode) {
  const std::int64_t tokens = s.rows, token = heads * channels, query = query_heads * channels;
  const bool queries = s.columns > token;
  memory_case c(static_cast<double>(tokens) * static_cast<double>(8 * token + (queries ? 4 * query : 0) + 8));
  const copies<bf16> q = c.input<bf16>(queries ? tokens * query : 1), q_out = c.input<bf16>(q.count);
  const copies<bf16> k = c.input<bf16>(tokens * token), v = c.input<bf16>(tokens * token);
  const copies<bf16> keys = c.input<bf16>(capacity * token), values = c.input<bf16>(capacity * token);
  std::vector<std::int32_t> at;
  for (std::int64_t t = 0; t < tokens; ++t) at.push_back(static_cast<std::int32_t>(1000 + 61 * t));
  const copies<std::int32_t> places = c.input_of(at);  // and positions
  c.set_kiln([=](auto ex, int set) {
    const auto from = k.input(set, tokens, heads, channels), values_from = v.input(set, tokens, heads, channels);
    const auto to = keys.view(set, capacity, heads, channels), values_to = values.view(set, capacity, heads, channels);
    const auto rows = places.input(set, tokens);
    if (queries)
      return kiln::rotary_append(ex, q.input(set, tokens, query_heads, channels),
                                 q_out.view(set, tokens, query_heads, channels), from, values_from, rows, rows, to,
                                 values_to, options);
    return kiln::rotary_append(ex, from, values_from, rows, rows, to, values_to, options);
  });
  for (const std::int64_t t : some_rows(tokens)) {
    const std::int64_t place = at[static_cast<std::size_t>(t)];
    if (queries) {
      const std::vector<double> all = turned(c.values(q, t * query, query), place);
      c.expect("the queries", q_out, t * query, all, std::vector<double>(all.size(), 8 * u32));
    }
    const std::vector<double> want = turned(c.values(k, t * token, token), place);
    // Two products and a sum of values below 1; sine and cosine right to 2 units.
    c.expect("the keys", keys, place * token, want, std::vector<double>(want.size(), 8 * u32));
    const std::vector<double> copied = c.values(v, t * token, token);
    c.expect("the values", values, place * token, copied, std::vector<double>(copied.size()));
  }
  finish(c, state, decode);
}

}  // namespace

void register_rotary() {
  constexpr std::int64_t keys = heads * channels, all = (query_heads + 2 * heads) * channels;
  register_shapes("rotary_append", element::bf16, {{1, keys}, {8, keys}, {32, keys}, {1, all}, {8, all}, {32, all}},
                  true, append_case);
}

}  // namespace bench
