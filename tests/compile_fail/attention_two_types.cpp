// expect: attention: q, k and v have one element type: f16, bf16 or float
#include <kiln/attention.hpp>

using namespace kiln;
f16 h[64], out[64];
bf16 b[64];

int main() {
  const auto x = host_view(h, 1, 4, 2, 8);
#ifdef KILN_FAIL
  return attention(host, x, host_view(b, 1, 4, 2, 8), x, host_view(out, 1, 4, 2, 8), {.mask = causal::none}).ok() ? 0
                                                                                                                  : 1;
#else
  return attention(host, x, x, x, host_view(out, 1, 4, 2, 8), {.mask = causal::none}).ok() ? 0 : 1;
#endif
}
