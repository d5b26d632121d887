// needs: cuda
// Neither a pointer nor a lambda of the host is there for the device to call.
// expect: transform: on the device the functor is a struct whose operator() is marked KILN_FN
// expect: transform: on the device the functor is a struct whose operator() is marked KILN_FN
// expect: reduce: on the device map and op are structs whose operator() is marked KILN_FN
#include <kiln/map_reduce.hpp>
#include <kiln/transform.hpp>

using namespace kiln;

inline float doubled(float x) { return 2 * x; }
struct twice {
  KILN_FN float operator()(float x) const { return 2 * x; }
};
struct plus {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};

bool run(const float* x, float* y) {
  const device ex;
  const auto from = device_view(x, 64);
  const auto to = device_view(y, 64);
#ifdef KILN_FAIL
  const auto lambda = [](float v) { return 2 * v; };
  return transform(ex, from, to, &doubled).ok() && transform(ex, from, to, lambda).ok() &&
         reduce(ex, from, device_view(y, 1), 0.0f, lambda, plus{}).ok();
#else
  return transform(ex, from, to, twice{}).ok() && reduce(ex, from, device_view(y, 1), 0.0f, twice{}, plus{}).ok();
#endif
}
