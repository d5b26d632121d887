// expect: gemm: to run warp_specialized on the host, #include <kiln/arch/host/driver.hpp> before the call
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<128, 64, 64>, stages<2>, warp_specialized>>(
             host, host_view(h, 64, 64), transposed(host_view(h, 64, 64)), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<64, 64, 64>, warp_tile<32, 32>, stages<2>, multistage>>(
             host, host_view(h, 64, 64), transposed(host_view(h, 64, 64)), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
