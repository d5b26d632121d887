// expect: a number of at most 32 bits
#include <kiln/epilogue/sinks.hpp>

int main() {
  float out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc * sizeof(out));
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc * static_cast<float>(sizeof(out)));
#endif
  return sink.check(1, 2, 2).ok() ? 0 : 1;
}
