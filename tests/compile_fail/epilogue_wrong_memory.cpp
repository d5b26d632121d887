// expect: an epilogue reads a view in the wrong memory
#include <kiln/epilogue/sinks.hpp>

int main() {
  float out[4]{}, bias[2]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc + kiln::per_column(kiln::device_view(bias, 2)));
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc + kiln::per_column(kiln::host_view(bias, 2)));
#endif
  kiln::require_sinks<float, 1, kiln::host_space, decltype(sink)>();
  return 0;
}
