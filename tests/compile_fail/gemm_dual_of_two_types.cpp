// expect: dual(first, second): two tensor views of one element type, rank, memory and unit axis
#include <kiln/gemm.hpp>

using namespace kiln;
f16 h[64 * 64], d[64 * 64];
bf16 b[64 * 64];

int main() {
  const auto a = host_view(h, 64, 64);
  const f16* up = h;  // one view may be of const elements
#ifdef KILN_FAIL
  const auto both = dual(a, host_view(b, 64, 64));
#else
  const auto both = dual(a, host_view(up, 64, 64));
#endif
  return gemm(host, a, both, store(host_view(d, 64, 64), silu(acc_<0>) * acc_<1>)).ok() ? 0 : 1;
}
