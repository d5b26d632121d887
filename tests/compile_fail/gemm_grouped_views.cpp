// expect: gemm_grouped: the list holds what gemm_problem(a, b, sinks...) makes
#include <kiln/gemm_grouped.hpp>

using namespace kiln;
kiln::f16 h[64 * 64];
float f[64 * 64];

int main() {
#ifdef KILN_FAIL
  const matrix<kiln::f16> list[] = {host_view(h, 64, 64), host_view(h, 64, 64)};
#else
  const auto one = gemm_problem(host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc));
  const decltype(one) list[] = {one};
#endif
  return gemm_grouped(host, list, 1).ok() ? 0 : 1;
}
