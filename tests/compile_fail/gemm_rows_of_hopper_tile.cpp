// expect: config: M of a warp_specialized tile is a multiple of 128
#include <kiln/arch/host/driver.hpp>
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<96, 64, 64>, warp_specialized>>(
             host, host_view(h, 64, 64), transposed(host_view(h, 64, 64)),
             store(host_view(f, 64, 64), gelu(acc * 0.5f + per_column(host_view(f, 64))) + elem(host_view(f, 64, 64))))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<128, 64, 64>, warp_specialized>>(
             host, host_view(h, 64, 64), transposed(host_view(h, 64, 64)),
             store(host_view(f, 64, 64), gelu(acc * 0.5f + per_column(host_view(f, 64))) + elem(host_view(f, 64, 64))))
                 .ok()
             ? 0
             : 1;
#endif
}
