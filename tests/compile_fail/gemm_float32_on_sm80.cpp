// expect: gemm: the sm80 instructions take f16, bf16, int8, uint8, e4m3 or e5m2; float32 takes config<instructions::simt>
#include <kiln/gemm.hpp>

using namespace kiln;
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<32, 32, 32>, warp_tile<16, 16>, instructions::sm80>>(
             host, host_view(f, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<32, 32, 32>, warp_tile<16, 16>, instructions::simt>>(
             host, host_view(f, 64, 64), host_view(f, 64, 64), store(host_view(f, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
