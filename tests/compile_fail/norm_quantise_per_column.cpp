// expect: a norm computes per_row_scales, or takes given per_row_scales or a given per_tensor_scale, without zero
// points
#include <kiln/norm_quantise.hpp>

int main() {
  const float x[9] = {}, w[3] = {1, 1, 1};
  float s[3] = {};
  std::int8_t q[9] = {};
  const auto xv = kiln::host_view(x, 3, 3);
  const auto qv = kiln::host_view(q, 3, 3);
  const auto wv = kiln::host_view(w, 3);
#ifdef KILN_FAIL
  return kiln::rms_norm(kiln::host, xv, wv, qv, kiln::per_column_scales(kiln::host_view(s, 3)), 1e-5f).ok() ? 0 : 1;
#else
  return kiln::rms_norm(kiln::host, xv, wv, qv, kiln::per_row_scales(kiln::host_view(s, 3)), 1e-5f).ok() ? 0 : 1;
#endif
}
