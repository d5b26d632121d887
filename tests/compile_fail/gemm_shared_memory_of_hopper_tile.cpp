// expect: config: this tile and its stages need more than the 227 KB of shared memory of a block
#include <kiln/arch/host/driver.hpp>
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<128, 256, 64>, stages<5>, warp_specialized>>(
             host, host_view(h, 64, 64), transposed(host_view(h, 64, 64)), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<128, 256, 64>, stages<4>, warp_specialized>>(
             host, host_view(h, 64, 64), transposed(host_view(h, 64, 64)), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
