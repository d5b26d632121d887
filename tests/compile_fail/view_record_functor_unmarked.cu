// needs: cuda
// expect: functor_must_be_marked_KILN_FN
#include <kiln/transform.hpp>
#include <kiln/view/soa.hpp>

struct mass {
  using type = float;
};
struct heavier {
  template <class Particle>
#ifdef KILN_FAIL
  void operator()(Particle p) const {
#else
  KILN_FN void operator()(Particle p) const {
#endif
    kiln::get<mass>(p) += 1.0f;
  }
};

bool run(float* m) { return kiln::transform(kiln::device{}, kiln::device_soa<mass>(m, 64), heavier{}).ok(); }
