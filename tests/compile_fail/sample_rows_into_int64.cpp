// expect: argmax and sample_rows write int32
#include <kiln/argmax.hpp>
#include <kiln/sampling.hpp>

int main() {
  const float x[6] = {};
  std::int32_t narrow[2];
  [[maybe_unused]] std::int64_t wide[2];
  const auto xv = kiln::host_view(x, 2, 3);
  if (!kiln::argmax(kiln::host, xv, kiln::host_view(narrow, 2)).ok()) return 1;
#ifdef KILN_FAIL
  return kiln::sample_rows(kiln::host, xv, kiln::host_view(wide, 2)).ok() ? 0 : 1;
#else
  return kiln::sample_rows(kiln::host, xv, kiln::host_view(narrow, 2)).ok() ? 0 : 1;
#endif
}
