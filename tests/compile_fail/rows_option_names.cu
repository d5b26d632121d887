// expect: this option is one of an enumeration's names: causal::none, pairing::half_split, int8_range::symmetric, overflow::to_nan or another of the same
#include <kiln/rotary.hpp>

using namespace kiln;

int main() {
  float f[32] = {};
  std::int32_t at[4] = {};
  const auto heads = host_view(f, 4, 2, 4);
#ifdef KILN_FAIL
  return rotary(host, heads, host_view(at, 4), heads, {.pairs = 1}).ok() ? 0 : 1;
#else
  return rotary(host, heads, host_view(at, 4), heads, {.pairs = pairing::half_split}).ok() ? 0 : 1;
#endif
}
