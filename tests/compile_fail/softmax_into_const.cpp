// expect: an output needs a view of elements that are not const
#include <kiln/softmax.hpp>

int main() {
  const float x[6] = {};
  float y[6];
#ifdef KILN_FAIL
  return kiln::softmax(kiln::host, kiln::host_view(y, 2, 3), kiln::host_view(x, 2, 3)).ok() ? 0 : 1;
#else
  return kiln::softmax(kiln::host, kiln::host_view(x, 2, 3), kiln::host_view(y, 2, 3)).ok() ? 0 : 1;
#endif
}
