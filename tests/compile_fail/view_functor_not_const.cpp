// expect: transform: the functor needs a const operator() that takes one element of each view: (auto particle)
#include <kiln/transform.hpp>

struct zero {
#ifdef KILN_FAIL
  KILN_FN void operator()(auto element) { kiln::get<0>(element) = 0; }
#else
  KILN_FN void operator()(auto element) const { kiln::get<0>(element) = 0; }
#endif
};

int main() {
  float x[6] = {};
  return kiln::transform(kiln::host, kiln::host_soa<float>(x, 6), zero{}).ok() ? 0 : 1;
}
