// expect: reduce: both views need to lie in the executor's memory: host_view for kiln::host, device_view for kiln::device
#include <kiln/map_reduce.hpp>

struct same {
  KILN_FN float operator()(float x) const { return x; }
};
struct add {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};

int main() {
  float x[6] = {}, sum = 0;
#ifdef KILN_FAIL
  const auto v = kiln::device_view(x, 6);
#else
  const auto v = kiln::host_view(x, 6);
#endif
  // Every call brings slices along.
  return kiln::reduce(kiln::host, slice(v, 0, 1, 4), kiln::host_view(&sum, 1), 0.0f, same{}, add{}).ok() ? 0 : 1;
}
