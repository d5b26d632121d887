// expect: the fields of an AoS view need to be the members of the struct, all of them, in their order
#include <kiln/view/aos.hpp>

struct particle {
  double x;
  float m;
};

int main() {
  particle p[2] = {};
#ifdef KILN_FAIL
  return static_cast<int>(kiln::host_aos<float, float>(p, 2).size()) - 2;
#else
  return static_cast<int>(kiln::host_aos<double, float>(p, 2).size()) - 2;
#endif
}
