// expect: concatenate: needs one input or more, and the result behind them
#include <kiln/concatenate.hpp>

int main() {
  float x[6] = {};
  const auto v = kiln::host_view(x, 2, 3);
#ifdef KILN_FAIL
  (void)kiln::concatenate<0>(kiln::host, v);
#else
  float y[6] = {};
  (void)kiln::concatenate<0>(kiln::host, v, kiln::host_view(y, 2, 3));
#endif
}
