// expect: the operands need the same number of axes
#include <kiln/rotary.hpp>

int main() {
  const float x[8] = {};
  float y[8];
  const auto xv = kiln::host_view(x, 2, 1, 4);
#ifdef KILN_FAIL
  return kiln::rotary(kiln::host, xv, kiln::positions_from{}, kiln::host_view(y, 1, 2, 1, 4)).ok() ? 0 : 1;
#else
  return kiln::rotary(kiln::host, xv, kiln::positions_from{}, kiln::host_view(y, 2, 1, 4)).ok() ? 0 : 1;
#endif
}
