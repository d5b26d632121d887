// expect: gemm: the views lie in another memory than the executor's: host_view goes with host, device_view with device
// needs: cuda
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(device{}, host_view(f, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc)).ok() ? 0 : 1;
#else
  return gemm(device{}, device_view(f, 64, 64), device_view(f, 64, 64), store(device_view(f, 64, 64), acc)).ok() ? 0
                                                                                                                 : 1;
#endif
}
