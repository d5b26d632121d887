#include <kiln/gemm.hpp>

#include <cstdio>

int main() {
  using namespace kiln;
  float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, -1, 1, -1, 1, -1}, bias[2] = {10, 20}, d[2 * 2];
  const status s = gemm(host, host_view(a, 2, 3), host_view(b, 3, 2),
                        store(host_view(d, 2, 2), relu(acc + per_column(host_view(bias, 2)))));
  std::printf("%g %g\n%g %g\n%s\n", d[0], d[1], d[2], d[3], s.ok() ? "ok" : s.message().c_str());
  return s.ok() ? 0 : 1;
}
