// expect: transform: every view needs to lie in the executor's memory: host_view for kiln::host, device_view for kiln::device
#include <kiln/transform.hpp>

struct twice {
  KILN_FN float operator()(float x) const { return 2 * x; }
};

#if defined(__CUDACC__)
using executor = kiln::device;
#else
using executor = kiln::host_executor;
#endif
struct elsewhere {};

int main() {
  float x[6] = {};
#ifdef KILN_FAIL
  using view = kiln::tensor<float, 1, elsewhere>;
#else
  using view = kiln::tensor<float, 1, executor::space>;
#endif
  view v{x, {0}, {1}};
  return kiln::transform(executor{}, v, v, twice{}).ok() ? 0 : 1;
}
