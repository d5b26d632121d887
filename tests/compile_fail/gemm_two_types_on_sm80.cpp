// expect: gemm: the sm80 instructions multiply operands of one type
#include <kiln/gemm.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<32, 32, 32>, warp_tile<16, 16>, instructions::sm80>>(
             host, host_view(h, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<32, 32, 32>, warp_tile<16, 16>, instructions::sm80>>(
             host, host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
