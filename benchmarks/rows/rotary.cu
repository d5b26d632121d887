#include <benchmarks/rows/cases.hpp>
#include <kiln/rotary.hpp>

namespace bench {

namespace {

using kiln::bf16;

// Keys of a layer of GLM-4-9B: 2 heads of 128 channels, of which 64 turn in pairs of neighbours.
constexpr std::int64_t heads = 2, channels = 128, width = 64, capacity = 4096;
constexpr double theta = 10000;
constexpr kiln::rotary_options options{.theta = theta, .width = width};

std::vector<double> turned(const std::vector<double>& x, std::int64_t position) {
  std::vector<double> y = x;
  for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(width / 2); ++j) {
      const double angle = static_cast<double>(position) * std::pow(theta, -2.0 * static_cast<double>(j) / width);
      const std::size_t at = h * static_cast<std::size_t>(channels) + 2 * j;
      y[at] = x[at] * std::cos(angle) - x[at + 1] * std::sin(angle);
      y[at + 1] = x[at + 1] * std::cos(angle) + x[at] * std::sin(angle);
    }
  }
  return y;
}

/// A step's keys turned and written with their values to the cache, one token a row.
void append_case(benchmark::State& state, row_shape s, bool decode) {
  const std::int64_t tokens = s.rows, token = heads * channels;
  memory_case c(8.0 * static_cast<double>(tokens * token) + 8.0 * static_cast<double>(tokens));
  const copies<bf16> k = c.input<bf16>(tokens * token), v = c.input<bf16>(tokens * token);
  const copies<bf16> keys = c.input<bf16>(capacity * token), values = c.input<bf16>(capacity * token);
  std::vector<std::int32_t> at;
  for (std::int64_t t = 0; t < tokens; ++t) at.push_back(static_cast<std::int32_t>(1000 + 61 * t));
  const copies<std::int32_t> places = c.input_of(at);  // and positions
  c.set_kiln([=](auto ex, int set) {
    return kiln::rotary_append(ex, k.input(set, tokens, heads, channels), v.input(set, tokens, heads, channels),
                               places.input(set, tokens), places.input(set, tokens),
                               keys.view(set, capacity, heads, channels), values.view(set, capacity, heads, channels),
                               options);
  });
  for (const std::int64_t t : some_rows(tokens)) {
    const std::int64_t place = at[static_cast<std::size_t>(t)];
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
  register_shapes("rotary_append", element::bf16,
                  {{1, heads * channels}, {8, heads * channels}, {32, heads * channels}}, true, append_case);
}

}  // namespace bench
