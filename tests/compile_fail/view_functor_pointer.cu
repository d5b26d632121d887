// needs: cuda
// A pointer to a function of the host's, called by the device.
// expect: transform: the functor needs a const operator() that takes one value for each input view
#include <kiln/transform.hpp>

inline float doubled(float x) { return 2 * x; }
struct doubled_functor {
  KILN_FN float operator()(float x) const { return 2 * x; }
};

bool run(const float* x, float* y) {
  const auto from = kiln::device_view(x, 64);
  const auto to = kiln::device_view(y, 64);
#ifdef KILN_FAIL
  return kiln::transform(kiln::device{}, from, to, &doubled).ok();
#else
  return kiln::transform(kiln::device{}, from, to, doubled_functor{}).ok();
#endif
}
