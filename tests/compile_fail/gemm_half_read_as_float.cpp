// expect: elem<T>(view): the view's elements are not of type T
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];
kiln::f16 h[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(f, 64, 64), host_view(f, 64, 64),
              store(host_view(f, 64, 64), acc + elem<float>(host_view(h, 64, 64))))
                 .ok()
             ? 0
             : 1;
#else
  return gemm(host, host_view(f, 64, 64), host_view(f, 64, 64),
              store(host_view(f, 64, 64), acc + elem<f16>(host_view(h, 64, 64))))
                 .ok()
             ? 0
             : 1;
#endif
}
