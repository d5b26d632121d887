// expect: quantised: the payload needs to be int8, uint8, e4m3 or e5m2; for int4x2 call quantised_int4, which takes the number of elements
#include <kiln/view/quantised.hpp>

int main() {
  kiln::int4x2 w[6] = {};
  float s[2] = {};
  const auto v = kiln::host_view(w, 2, 3);
  const auto scales = kiln::per_row_scales(kiln::host_view(s, 2));
#ifdef KILN_FAIL
  return static_cast<int>(kiln::quantised(v, scales).extent(1)) - 6;
#else
  return static_cast<int>(kiln::quantised_int4(v, 6, scales).extent(1)) - 6;
#endif
}
