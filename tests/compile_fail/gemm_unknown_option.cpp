// expect: config takes tile<M, N, K>, stages<S>, warp_tile<M, N>, cluster<M, N>, a schedule, an instruction set
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<64, 64, 64>, warp_tile<32, 32>, int>>(host, host_view(h, 64, 64), host_view(h, 64, 64),
                                                                store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<64, 64, 64>, warp_tile<32, 32>>>(host, host_view(h, 64, 64), host_view(h, 64, 64),
                                                           store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
