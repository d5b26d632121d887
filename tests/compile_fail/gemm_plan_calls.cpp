// expect: plan.run takes an executor of the views' memory: host for host_view, device(stream) for device_view
// expect: config: tile takes M, N and K, as tile<128, 128, 64>
#include <kiln/gemm.hpp>

using namespace kiln;
f16 h[2][64 * 64];
float f[64 * 64];

int main() {
  const auto a = host_view(h[0], 64, 64), b = host_view(h[1], 64, 64);
  const auto plan = plan_gemm(a, b, store(host_view(f, 64, 64), acc));
#ifdef KILN_FAIL
  const bool first = plan.run(0).ok();
  const bool second = gemm<config<tile<64, 64>, warp_tile<32, 32>>>(host, a, b, store(host_view(f, 64, 64), acc)).ok();
#else
  const bool first = plan.run(host).ok();
  const bool second =
      gemm<config<tile<64, 64, 32>, warp_tile<32, 32>>>(host, a, b, store(host_view(f, 64, 64), acc)).ok();
#endif
  return first && second ? 0 : 1;
}
