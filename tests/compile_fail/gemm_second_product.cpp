// expect: the epilogue uses acc_<1>, but there is one product: pass dual(b0, b1) as B
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(f, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), silu(acc_<0>) * acc_<1>))
                 .ok()
             ? 0
             : 1;
#else
  return gemm(host, host_view(f, 64, 64), dual(host_view(f, 64, 64), host_view(f, 64, 64)),
              store(host_view(f, 64, 64), silu(acc_<0>) * acc_<1>))
                 .ok()
             ? 0
             : 1;
#endif
}
