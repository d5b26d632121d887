// expect: get<Tag>(element): Tag needs to be one of the view's fields; a type that occurs twice is reached by number
#include <kiln/view/soa.hpp>

struct mass {
  using type = float;
};
struct charge {
  using type = float;
};

int main() {
  float x[6] = {};
  const auto p = kiln::host_soa<mass>(x, 6);
#ifdef KILN_FAIL
  kiln::get<charge>(p[0]);
#else
  kiln::get<mass>(p[0]) = 1;
#endif
}
