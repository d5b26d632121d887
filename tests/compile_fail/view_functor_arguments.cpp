// expect: transform: the functor needs a const operator() that takes one value for each input view and returns the result's value
#include <kiln/transform.hpp>

struct add {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};

int main() {
  float x[6] = {};
  const auto v = kiln::host_view(x, 6);
#ifdef KILN_FAIL
  return kiln::transform(kiln::host, v, v, add{}).ok() ? 0 : 1;
#else
  return kiln::transform(kiln::host, v, v, v, add{}).ok() ? 0 : 1;
#endif
}
