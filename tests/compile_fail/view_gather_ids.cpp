// expect: gather: ids need to be int32 or int64
#include <kiln/gather.hpp>

int main() {
  float x[6] = {}, y[4] = {};
#ifdef KILN_FAIL
  float ids[2] = {};
#else
  std::int64_t ids[2] = {};
#endif
  const auto s = kiln::gather<0>(kiln::host, kiln::host_view(x, 3, 2), kiln::host_view(ids, 2), kiln::host_view(y, 2, 2));
  return s.ok() ? 0 : 1;
}
