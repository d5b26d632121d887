#include <algorithm>
#include <benchmarks/attention/cases.hpp>
#include <kiln/attention.hpp>

namespace bench {

namespace {

using kiln::bf16;

struct attention_shape {
  std::int64_t batch, queries, keys, heads, kv_heads, dim;
  bool causal;

  std::int64_t query_elements() const { return batch * queries * heads * dim; }
  std::int64_t key_elements() const { return batch * keys * kv_heads * dim; }
  /// Multiplications and additions; a causal mask of equal lengths leaves half.
  double operations() const {
    return 4.0 * static_cast<double>(batch * heads * queries) * static_cast<double>(keys * dim) * (causal ? 0.5 : 1);
  }
  double bytes() const { return 4.0 * static_cast<double>(query_elements() + key_elements()); }
};

/// One query of one head in float64, and how far off the kernel may be: its weights are rounded to bf16 before they
/// meet V; scores of 128 products below 1 are right to 1e-4; each tile of 64 keys scales and adds once in float32.
void check_query(const memory_case& c, const attention_shape& s, const copies<bf16>& q, const std::vector<double>& k,
                 const std::vector<double>& v, const copies<bf16>& out, std::int64_t b, std::int64_t i,
                 std::int64_t h) {
  const auto dim = static_cast<std::size_t>(s.dim), step = static_cast<std::size_t>(s.kv_heads * s.dim);
  const std::size_t begin = static_cast<std::size_t>(h / (s.heads / s.kv_heads)) * dim;
  const std::int64_t at = ((b * s.queries + i) * s.heads + h) * s.dim;
  const std::vector<double> query = c.values(q, at, s.dim);
  const auto visible = static_cast<std::size_t>(s.causal ? s.keys - s.queries + i + 1 : s.keys);
  std::vector<double> weight(visible), want(dim), bound(dim);
  for (std::size_t j = 0; j < visible; ++j)
    for (std::size_t e = 0; e < dim; ++e)
      weight[j] += query[e] * k[j * step + begin + e] / std::sqrt(static_cast<double>(dim));
  const double top = *std::max_element(weight.begin(), weight.end());
  double sum = 0;
  for (double& w : weight) w = std::exp(w - top), sum += w;
  for (std::size_t j = 0; j < visible; ++j) {
    for (std::size_t e = 0; e < dim; ++e) {
      const double term = weight[j] / sum * v[j * step + begin + e];
      want[e] += term, bound[e] += std::fabs(term);
    }
  }
  for (double& x : bound) x *= 0x1p-8 + 4e-4 + 4 * u32 * static_cast<double>(s.keys / 64 + 64);
  c.expect("attention", out, at, want, bound);
}

void attention_case(benchmark::State& state, const attention_shape& s) {
  const bool decode = s.queries == 1;
  memory_case c(s.bytes());
  const copies<bf16> q = c.input<bf16>(s.query_elements()), k = c.input<bf16>(s.key_elements());
  const copies<bf16> v = c.input<bf16>(s.key_elements()), out = c.output<bf16>(s.query_elements());
  c.set_kiln([=](auto ex, int set) {
    return kiln::attention(
        ex, q.input(set, s.batch, s.queries, s.heads, s.dim), k.input(set, s.batch, s.keys, s.kv_heads, s.dim),
        v.input(set, s.batch, s.keys, s.kv_heads, s.dim), out.view(set, s.batch, s.queries, s.heads, s.dim),
        {.mask = s.causal ? kiln::causal::bottom_right : kiln::causal::none});
  });
  const std::int64_t of_sequence = s.keys * s.kv_heads * s.dim;
  for (const std::int64_t b : {std::int64_t{0}, s.batch - 1}) {
    const std::vector<double> keys = c.values(k, b * of_sequence, of_sequence),
                              values = c.values(v, b * of_sequence, of_sequence);
    for (const std::int64_t i : some_rows(s.queries))
      for (const std::int64_t h : {std::int64_t{0}, s.heads - 1}) check_query(c, s, q, keys, values, out, b, i, h);
    if (s.batch == 1) break;
  }
  if (decode) {
    c.run_beside_copy(state);
    return;
  }
  static const yardstick product = square_product();
  c.add("gemm", product.launch);
  const timing t = c.run(state, global_settings().timing);
  const double floor = t.microseconds[1] * s.operations() / product.operations;
  state.counters.erase("vs_gemm");
  state.counters["floor_us"] = floor, state.counters["vs_floor"] = floor / t.microseconds[0];
  state.counters["Tops"] = s.operations() / t.microseconds[0] * 1e-6;
}

}  // namespace

void register_attention() {
  constexpr attention_shape prefill[] = {
      {1, 2048, 2048, 32, 2, 128, true},   {1, 8192, 8192, 32, 2, 128, true},  {1, 32768, 32768, 32, 2, 128, true},
      {16, 1024, 1024, 16, 16, 128, true}, {4, 4096, 4096, 16, 16, 128, true}, {1, 16384, 16384, 16, 16, 128, true},
      {4, 4096, 4096, 32, 32, 64, true},
  };
  for (const attention_shape& shape : prefill) {
    for (const bool causal : {true, false}) {
      attention_shape s = shape;
      s.causal = causal;
      const std::string name = std::to_string(s.batch) + "x" + std::to_string(s.queries) + "/heads" +
                               std::to_string(s.heads) + "on" + std::to_string(s.kv_heads) + "/dim" +
                               std::to_string(s.dim);
      register_case("attention/prefill/" + name + (causal ? "/causal" : "/full"),
                    [=](benchmark::State& state) { attention_case(state, s); });
    }
  }
  for (const auto& [batch, keys] :
       {std::pair<std::int64_t, std::int64_t>{1, 4096}, {1, 32768}, {1, 131072}, {16, 4096}, {64, 4096}})
    register_case("attention/decode/" + std::to_string(batch) + "x" + std::to_string(keys) + "/heads32on2/dim128",
                  [s = attention_shape{batch, 1, keys, 32, 2, 128, false}](benchmark::State& state) {
                    attention_case(state, s);
                  });
}

}  // namespace bench
