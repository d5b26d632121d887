// expect: mapped: all views need the same number of axes: add one with broadcast<axis>(view, extent)
#include <kiln/view/mapped.hpp>

struct times {
  KILN_FN float operator()(float x, float y) const { return x * y; }
};

int main() {
  float x[6] = {};
  const auto matrix = kiln::host_view(x, 2, 3);
  const auto vector = kiln::host_view(x, 3);
#ifdef KILN_FAIL
  (void)kiln::mapped(times{}, matrix, vector);
#else
  (void)kiln::mapped(times{}, matrix, kiln::broadcast<0>(vector, 2));
#endif
}
