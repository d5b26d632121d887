// expect: transform: the functor needs a const operator() that takes one value for each input view and returns the result's value, or bundle_of(...) for several results
#include <kiln/transform.hpp>

struct both {
#ifdef KILN_FAIL
  KILN_FN auto operator()(float x) const { return kiln::bundle_of(x); }
#else
  KILN_FN auto operator()(float x) const { return kiln::bundle_of(x, 2 * x); }
#endif
};

int main() {
  float x[6] = {}, y[6] = {}, z[6] = {};
  const auto s = kiln::transform(kiln::host, kiln::host_view(x, 6),
                                 kiln::outputs(kiln::host_view(y, 6), kiln::host_view(z, 6)), both{});
  return s.ok() ? 0 : 1;
}
