// expect: the numbers and their codes need the same number of axes
#include <kiln/quantise.hpp>

int main() {
  const float x[6] = {};
  std::int8_t q[6];
  float s[2];
  const auto scales = kiln::per_row_scales(kiln::host_view(s, 2));
#ifdef KILN_FAIL
  return kiln::quantise(kiln::host, kiln::host_view(x, 2, 3), kiln::host_view(q, 6), scales).ok() ? 0 : 1;
#else
  return kiln::quantise(kiln::host, kiln::host_view(x, 2, 3), kiln::host_view(q, 2, 3), scales).ok() ? 0 : 1;
#endif
}
