// expect: gemm: warp_specialized needs 8-bit operands with K along memory
#include <kiln/arch/host/driver.hpp>
#include <kiln/gemm.hpp>

using namespace kiln;
std::int8_t q[64 * 64];
std::int32_t i[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm<config<tile<128, 64, 128>, stages<2>, warp_specialized>>(host, host_view(q, 64, 64), host_view(q, 64, 64),
                                                                       store(host_view(i, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#else
  return gemm<config<tile<128, 64, 128>, stages<2>, warp_specialized>>(
             host, host_view(q, 64, 64), transposed(host_view(q, 64, 64)), store(host_view(i, 64, 64), acc))
                 .ok()
             ? 0
             : 1;
#endif
}
