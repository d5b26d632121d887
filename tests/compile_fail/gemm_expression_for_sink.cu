// expect: gemm: what follows the operands are sinks: store(view, expression)
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(f, 64, 64), host_view(f, 64, 64), acc).ok() ? 0 : 1;
#else
  return gemm(host, host_view(f, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc)).ok() ? 0 : 1;
#endif
}
