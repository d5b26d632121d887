// expect: softmax: out needs to be a view of x's rank of float, f16 or bf16, not const
// expect: softmax: the mask needs as many axes as x; one of extent 1 repeats
// expect: softmax: behind out come a mask, which is keep_where(view) or add_mask(view), and the options
// expect: softmax takes (executor, x, out, mask, options), the last two may be left out
// expect: rms_norm: weight needs to be a vector (a view of rank 1) of float, f16 or bf16
// expect: rms_norm takes (executor, x, weight, out, epsilon), or (executor, x, weight, codes, scales, epsilon)
// expect: rms_norm: a view lies in another memory than the executor's: host takes host_view, device device_view
// expect: add_rms_norm: sum needs to be a view of x's rank of float, f16 or bf16, not const
// expect: layer_norm: bias needs to be a vector (a view of rank 1) of float, f16 or bf16
// expect: argmax: x needs to be a view of rank 1 to 4 of float, f16 or bf16
// expect: sample_rows: out needs to be a vector (a view of rank 1) of int32, not const
// expect: cross_entropy: targets needs to be a vector (a view of rank 1) of int32 or int64
// expect: cross_entropy: log_sum needs to be a vector (a view of rank 1) of float, not const
// expect: row_reduce: out needs to be a vector (a view of rank 1) of float, f16, bf16, e4m3 or e5m2, not const
// expect: column_reduce<op> takes (executor, x, out), as column_reduce<reduction::sum>(host, x, out)
// expect: rotary: positions needs to be a vector (a view of rank 1) of int32, or positions_from{start}
// expect: rotary_append: v needs to be a view [tokens, heads, channels] of k's type
#include <kiln/argmax.hpp>
#include <kiln/cross_entropy.hpp>
#include <kiln/norm.hpp>
#include <kiln/reduce.hpp>
#include <kiln/rotary.hpp>
#include <kiln/sampling.hpp>
#include <kiln/softmax.hpp>

using namespace kiln;

int main() {
  float f[64] = {};
  const float fixed[64] = {};
  bf16 b[64];
  std::int32_t i[4] = {};
  std::uint8_t u[16] = {};
  const auto x = host_view(f, 4, 4);
  const auto row = host_view(f, 4), out = host_view(f + 16, 4);
  const auto ids = host_view(i, 4);
  const auto heads = host_view(f, 4, 2, 4);
  bool all = true;
  const auto run = [&](const status& s) { all = all && s.ok(); };
#ifdef KILN_FAIL
  run(softmax(host, x, host_view(fixed, 4, 4)));
  run(softmax(host, x, x, keep_where(host_view(u, 4))));
  run(softmax(host, x, x, host_view(u, 4, 4)));
  run(softmax(x, x, {.scale = 2}));
  run(rms_norm(host, x, x, x, 1e-5f));
  run(rms_norm(x, row, x, 1e-5f));
  run(rms_norm(host, device_view(f, 4, 4), row, x, 1e-5f));
  run(add_rms_norm(host, x, x, row, host_view(fixed, 4, 4), x, 1e-5f));
  run(layer_norm(host, x, row, f, x, 1e-5f));
  run(argmax(host, ids, x));
  run(sample_rows(host, x, host_view(i, 4, 1)));
  run(cross_entropy(host, x, row, out));
  run(cross_entropy(host, x, ids, out, host_view(b, 4)));
  run(row_reduce<reduction::sum>(host, x, host_view(f, 4, 1)));
  run(column_reduce(host, x, out));
  run(rotary(host, heads, 7, heads));
  run(rotary_append(host, heads, host_view(b, 4, 2, 4), ids, ids, heads, heads));
#else
  run(softmax(host, x, x));
  run(softmax(host, x, x, keep_where(host_view(u, 1, 4))));
  run(softmax(host, x, x, add_mask(host_view(f + 16, 4, 4)), {.scale = 2}));
  run(rms_norm(host, x, host_view(fixed, 4), x, 1e-5f));
  run(add_rms_norm(host, host_view(fixed, 4, 4), x, host_view(fixed, 4), x, host_view(f + 16, 4, 4), 1e-5f));
  run(layer_norm(host, x, host_view(fixed, 4), host_view(fixed, 4), x, 1e-5f));
  run(argmax(host, x, ids));
  run(sample_rows(host, x, ids, {.top_k = 3}));
  run(cross_entropy(host, x, ids, out));
  run(cross_entropy(host, x, host_view(static_cast<const std::int32_t*>(i), 4), out, host_view(f + 32, 4),
                    {.label_smoothing = 0.1f}));
  run(row_reduce<reduction::sum>(host, x, out));
  run(column_reduce<reduction::sum>(host, x, host_view(b, 4)));
  run(rotary(host, heads, positions_from{7}, heads));
  run(rotary(host, heads, ids, heads, {.pairs = pairing::half_split}));
  run(rotary_append(host, heads, heads, ids, ids, host_view(b, 4, 2, 4), host_view(b + 32, 4, 2, 4)));
#endif
  return all ? 0 : 1;
}
