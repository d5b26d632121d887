// expect: gemm: an operand is a matrix or a batch of matrices
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(f, 64), host_view(f, 64, 1), store(host_view(f, 1, 1), acc)).ok() ? 0 : 1;
#else
  return gemm(host, host_view(f, 1, 64), host_view(f, 64, 1), store(host_view(f, 1, 1), acc)).ok() ? 0 : 1;
#endif
}
