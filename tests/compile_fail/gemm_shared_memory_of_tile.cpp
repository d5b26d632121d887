// expect: config: this tile and its stages need more than the 227 KB of shared memory of a block
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<256, 256, 128>, warp_tile<64, 64>, stages<3>>>(
             host, host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<64, 64, 64>, warp_tile<32, 32>, stages<3>>>(host, host_view(h, 64, 64), host_view(h, 64, 64),
                                                                      store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
