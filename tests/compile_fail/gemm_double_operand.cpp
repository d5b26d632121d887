// expect: gemm: the elements of operands are f16, bf16, e4m3, e5m2, float, int8 or uint8
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];
double u[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(u, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc)).ok() ? 0 : 1;
#else
  return gemm(host, host_view(f, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc)).ok() ? 0 : 1;
#endif
}
