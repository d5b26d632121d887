// expect: quantise reads float, f16 and bf16, and dequantise writes them
#include <kiln/quantise.hpp>

int main() {
#ifdef KILN_FAIL
  std::int32_t x[6] = {};
#else
  float x[6] = {};
#endif
  std::int8_t q[6] = {};
  float s[2] = {};
  return kiln::quantise_rows(kiln::host, kiln::host_view(x, 2, 3), kiln::host_view(q, 2, 3), kiln::host_view(s, 2)).ok()
             ? 0
             : 1;
}
