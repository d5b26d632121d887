// expect: gemm_grouped takes (executor, list), or (executor, pointer, count), of what gemm_problem(...) makes
#include <array>

#include <kiln/gemm_grouped.hpp>

using namespace kiln;
f16 h[64 * 64];
float f[64 * 64];

int main() {
  const auto one = gemm_problem(host_view(h, 64, 64), host_view(h, 64, 64), store(host_view(f, 64, 64), acc));
#ifdef KILN_FAIL
  return gemm_grouped(host, one).ok() ? 0 : 1;
#else
  return gemm_grouped(host, std::array{one}).ok() ? 0 : 1;
#endif
}
