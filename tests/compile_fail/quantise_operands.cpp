// expect: quantise: x needs to be a view of rank 1 to 4 of float, f16 or bf16
// expect: quantise: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const
// expect: quantise takes (executor, x, q, scales, options), the last may be left out
// expect: quantise writes the scales and zero points; pass given(scales) to use scales that are there
// expect: zero points need codes of int8 or uint8: 8-bit floats are symmetric
// expect: the scales of rows need to be a vector (a view of rank 1) of float
// expect: with_zero_points takes a view with as many axes as the scales
// expect: quantise_rows: scales needs to be a vector (a view of rank 1) of float, or given(vector)
// expect: dequantise: y needs to be a view of q's rank of float, f16 or bf16, not const
// expect: rms_norm: q needs to be a view of x's rank of int8, uint8, e4m3 or e5m2, not const
// expect: a norm computes per_row_scales, or takes given per_row_scales or a given per_tensor_scale
// expect: ranges are low and high, vectors (views of rank 1) of float, and ignored, one of int64, none of them const
// expect: histogram: counts needs to be a vector (a view of rank 1) of int64, not const
// expect: observe: x needs to be a view of rank 1 to 4 of float, f16 or bf16
// expect: make_scales: the scales serve what the ranges were seen of: per_row_scales of per_row_ranges, and so on
// expect: make_scales<code> takes (executor, seen, scales, method, options)
#include <kiln/calibrate.hpp>
#include <kiln/norm_quantise.hpp>
#include <kiln/quantise.hpp>
#include <vector>

using namespace kiln;

int main() {
  float f[16] = {}, low[4] = {}, high[4] = {}, s[4] = {};
  const float fixed[16] = {};
  std::int8_t q[16] = {};
  e4m3 e[16];
  std::int32_t z[4] = {};
  std::int64_t ignored[4] = {};
  std::vector<std::int64_t> counts(histogram_size);
  const auto x = host_view(f, 4, 4);
  const auto w = host_view(fixed, 4);
  const auto codes = host_view(q, 4, 4);
  const auto scales = per_row_scales(host_view(s, 4));
  const auto seen = per_row_ranges(host_view(low, 4), host_view(high, 4), host_view(ignored, 4));
  const auto range = per_tensor_range(host_view(low, 1), host_view(high, 1), host_view(ignored, 1));
  bool all = true;
  const auto run = [&](const status& done) { all = all && done.ok(); };
#ifdef KILN_FAIL
  run(quantise(host, codes, x, scales));
  run(quantise(host, x, host_view(q, 16), scales));
  run(quantise(host, x, codes));
  run(quantise(host, x, codes, per_row_scales(w)));
  run(quantise(host, x, host_view(e, 4, 4), scales.with_zero_points(host_view(z, 4))));
  run(quantise(host, x, codes, per_row_scales(host_view(s, 4, 1))));
  run(quantise(host, x, codes, scales.with_zero_points(z)));
  run(quantise_rows(host, x, codes, host_view(s, 4, 1)));
  run(dequantise(host, codes, host_view(fixed, 4, 4), scales));
  run(rms_norm(host, x, w, x, scales, 1e-5f));
  run(rms_norm(host, x, w, codes, per_column_scales(host_view(s, 4)), 1e-5f));
  run(forget(host, per_row_ranges(host_view(low, 4), host_view(high, 4), host_view(z, 4))));
  run(forget(host, histogram(host_view(z, 4), range)));
  run(observe(host, f, seen));
  run(make_scales<std::int8_t>(host, seen, per_column_scales(host_view(s, 4))));
  run(make_scales(host, seen, scales));
#else
  run(quantise(host, x, codes, scales));
  run(quantise(host, host_view(fixed, 4, 4), codes, given(per_row_scales(w)), {.range = int8_range::symmetric}));
  run(quantise(host, x, codes, host_view(s, 1)));
  run(quantise(host, x, codes, given(host_view(fixed, 1))));
  run(quantise(host, x, host_view(e, 4, 4), scales));
  run(quantise(host, x, codes, scales.with_zero_points(host_view(z, 4))));
  run(quantise_rows(host, x, codes, host_view(s, 4)));
  run(quantise_rows(host, x, codes, given(w)));
  run(dequantise(host, codes, x, scales));
  run(rms_norm(host, x, w, codes, scales, 1e-5f));
  run(rms_norm(host, x, w, codes, given(per_row_scales(w)), 1e-5f));
  run(forget(host, seen));
  run(forget(host, histogram(host_view(counts.data(), counts.size()), range)));
  run(observe(host, x, seen));
  run(make_scales<std::int8_t>(host, seen, scales));
#endif
  return all ? 0 : 1;
}
