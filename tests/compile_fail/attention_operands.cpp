// expect: attention: q needs to be a view [batch, queries, heads, dim] of f16, bf16 or float
// expect: attention: k needs to be a view [batch, keys, kv_heads, dim] of q's type
// expect: attention: v needs to be a view [batch, keys, kv_heads, dim] of q's type
// expect: attention: out needs to be a view [batch, queries, heads, dim] of f16, bf16 or float, not const
// expect: attention: the views lie in another memory than the executor's
// expect: attention: behind out comes the mask, which has no default
// expect: attention: what follows the options are key_lengths(view), query_lengths(view) or log_sum_exp(view)
// expect: this option is one of an enumeration's names: causal::none, pairing::half_split, int8_range::symmetric, overflow::to_nan or another of the same
// expect: key_lengths takes a view of int32 of rank 1: [batch]
#include <kiln/attention.hpp>

using namespace kiln;

int main() {
  f16 h[64];
  bf16 b[64];
  float f[64] = {};
  const f16 fixed[64] = {};
  std::int32_t lengths[2] = {};
  const auto q = host_view(h, 1, 2, 2, 8), out = host_view(h + 32, 1, 2, 2, 8);
  bool all = true;
  const auto run = [&](const status& s) { all = all && s.ok(); };
#ifdef KILN_FAIL
  run(attention(host, host_view(h, 2, 2, 8), q, q, out, {.mask = causal::none}));
  run(attention(host, q, host_view(b, 1, 2, 2, 8), q, out, {.mask = causal::none}));
  run(attention(host, q, q, h, out, {.mask = causal::none}));
  run(attention(host, q, q, q, host_view(fixed, 1, 2, 2, 8), {.mask = causal::none}));
  run(attention(host, device_view(h, 1, 2, 2, 8), q, q, out, {.mask = causal::none}));
  run(attention(host, q, q, q, out));
  run(attention(host, q, q, q, out, {.mask = true}));
  run(attention(host, q, q, q, out, {.mask = causal::none}, host_view(lengths, 1)));
  run(attention(host, q, q, q, out, {.mask = causal::none}, key_lengths(host_view(lengths, 1, 1))));
#else
  run(attention(host, q, host_view(fixed, 1, 2, 2, 8), q, out, {.mask = causal::none},
                key_lengths(host_view(lengths, 1)), log_sum_exp(host_view(f, 1, 2, 2))));
  run(attention(host, q, q, q, host_view(f, 1, 2, 2, 8), {.scale = 1.0f, .mask = causal::top_left}));
#endif
  return all ? 0 : 1;
}
