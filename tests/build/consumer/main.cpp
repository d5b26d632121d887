// Every warning that a project may turn on, no exceptions and no run-time types: see CMakeLists.txt.
#include <kiln/attention.hpp>
#include <kiln/calibrate.hpp>
#include <kiln/gemm_grouped.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/norm_quantise.hpp>
#include <kiln/sampling.hpp>
#include <kiln/softmax.hpp>
#include <kiln/transform.hpp>
#include <kiln/version.hpp>
#include <kiln/view/soa.hpp>

#include <cstdio>

int main() {
  using namespace kiln;
  const float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, -1, 1, -1, 1, -1}, bias[2] = {10, 20};
  float d[2 * 2] = {};
  const status s = gemm(host, host_view(a, 2, 3), host_view(b, 3, 2),
                        store(host_view(d, 2, 2), relu(acc + per_column(host_view(bias, 2)))));
  std::printf("%d.%d.%d\n", KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH);
  return s.ok() && d[0] == 16 && d[3] == 5 ? 0 : 1;
}
