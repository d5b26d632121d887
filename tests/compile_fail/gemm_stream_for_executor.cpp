// expect: gemm takes (executor, a, b, sinks...), the executor being host or device(stream)
// expect: kiln::device needs CUDA: compile this file with nvcc, as a .cu file
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64], d[64 * 64];
void* stream = nullptr;

int main() {
  const auto a = host_view(f, 64, 64);
#ifdef KILN_FAIL
  (void)device(stream);
  return gemm(stream, a, a, store(host_view(d, 64, 64), acc)).ok() ? 0 : 1;
#else
  return gemm(host, a, a, store(host_view(d, 64, 64), acc)).ok() ? 0 : 1;
#endif
}
