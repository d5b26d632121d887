// expect: attention: out has elements of f16, bf16 or float
#include <kiln/attention.hpp>

using namespace kiln;
f16 h[64];
float f[64];
std::int8_t q[64];

int main() {
  const auto x = host_view(h, 1, 4, 2, 8);
#ifdef KILN_FAIL
  return attention(host, x, x, x, host_view(q, 1, 4, 2, 8), {.mask = causal::none}).ok() ? 0 : 1;
#else
  return attention(host, x, x, x, host_view(f, 1, 4, 2, 8), {.mask = causal::none}).ok() ? 0 : 1;
#endif
}
