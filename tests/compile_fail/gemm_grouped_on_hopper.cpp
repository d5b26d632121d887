// expect: gemm_grouped: warp_specialized takes one problem a launch; lists take serial or multistage
#include <kiln/gemm_grouped.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
  const decltype(gemm_problem(host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc))) list[] = {
      gemm_problem(host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc))};
#ifdef KILN_FAIL
  return gemm_grouped<config<tile<128, 64, 64>, stages<2>, warp_specialized>>(host, list, 1).ok() ? 0 : 1;
#else
  return gemm_grouped<config<tile<64, 64, 64>, warp_tile<32, 32>, stages<2>, multistage>>(host, list, 1).ok() ? 0 : 1;
#endif
}
