// expect: a float expression goes into an int32 tensor: say how it is rounded
#include <kiln/gemm.hpp>

using namespace kiln;
std::int8_t q[64 * 64];
std::int32_t i[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(q, 64, 64), transposed(host_view(q, 64, 64)), store(host_view(i, 64, 64), acc * 0.5f))
                 .ok()
             ? 0
             : 1;
#else
  return gemm(host, host_view(q, 64, 64), transposed(host_view(q, 64, 64)),
              store(host_view(i, 64, 64), round_to<std::int32_t>(acc * 0.5f)))
                 .ok()
             ? 0
             : 1;
#endif
}
