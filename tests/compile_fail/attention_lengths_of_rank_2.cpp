// expect: key_lengths takes a view of int32 of rank 1: [batch]
#include <kiln/attention.hpp>

using namespace kiln;
f16 h[64], out[64];
std::int32_t lengths[1] = {4};

int main() {
  const auto x = host_view(h, 1, 4, 2, 8);
#ifdef KILN_FAIL
  const auto keys = key_lengths(host_view(lengths, 1, 1));
#else
  const auto keys = key_lengths(host_view(lengths, 1));
#endif
  return attention(host, x, x, x, host_view(out, 1, 4, 2, 8), {.mask = causal::none}, keys).ok() ? 0 : 1;
}
