// needs: cuda
// expect: mapped: on the device the functor is a struct whose operator() is marked KILN_FN
#include <kiln/view/mapped.hpp>

struct twice {
  KILN_FN float operator()(float x) const { return 2 * x; }
};

void make(const float* x) {
#ifdef KILN_FAIL
  (void)kiln::mapped([](float v) { return 2 * v; }, kiln::device_view(x, 64));
#else
  (void)kiln::mapped(twice{}, kiln::device_view(x, 64));
#endif
}
