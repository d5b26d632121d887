// expect: an activation needs a float: this expression's value is int32
#include <kiln/gemm.hpp>

using namespace kiln;
std::int8_t q[64 * 64];

int main() {
#ifdef KILN_FAIL
  return gemm(host, host_view(q, 64, 64), transposed(host_view(q, 64, 64)), store(host_view(q, 64, 64), gelu(acc))).ok()
             ? 0
             : 1;
#else
  return gemm(host, host_view(q, 64, 64), transposed(host_view(q, 64, 64)),
              store(host_view(q, 64, 64), gelu(acc * 0.5f)))
                 .ok()
             ? 0
             : 1;
#endif
}
