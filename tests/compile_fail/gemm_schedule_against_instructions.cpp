// expect: config: warp_specialized goes with the sm90 instructions, serial and multistage with simt or sm80
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<64, 64, 64>, warp_tile<32, 32>, multistage, instructions::sm90>>(
             host, host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<64, 64, 64>, warp_tile<32, 32>, multistage, instructions::sm80>>(
             host, host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
