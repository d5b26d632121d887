// expect: zero points need codes of int8 or uint8: 8-bit floats are symmetric
#include <kiln/quantise.hpp>

int main() {
  const float x[6] = {};
  float s[2] = {};
  std::int32_t z[2] = {};
#ifdef KILN_FAIL
  kiln::e4m3 q[6] = {};
#else
  std::uint8_t q[6] = {};
#endif
  const auto scales = kiln::per_row_scales(kiln::host_view(s, 2)).with_zero_points(kiln::host_view(z, 2));
  return kiln::quantise(kiln::host, kiln::host_view(x, 2, 3), kiln::host_view(q, 2, 3), scales).ok() ? 0 : 1;
}
