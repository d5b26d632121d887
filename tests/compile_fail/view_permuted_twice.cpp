// expect: permuted needs every axis exactly once
#include <kiln/view/reshape.hpp>

int main() {
  float x[6] = {};
#ifdef KILN_FAIL
  return static_cast<int>(kiln::permuted<0, 0>(kiln::host_view(x, 2, 3)).extent(0));
#else
  return static_cast<int>(kiln::permuted<1, 0>(kiln::host_view(x, 2, 3)).extent(0)) - 3;
#endif
}
