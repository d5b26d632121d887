// expect: per_tensor reads one value: a view of rank 1 and length 1
#include <kiln/epilogue/sinks.hpp>

int main() {
  float scale[2]{}, out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc * kiln::per_tensor(kiln::host_view(scale, 1, 1)));
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc * kiln::per_tensor(kiln::host_view(scale, 1)));
#endif
  return sink.check(1, 2, 2).ok() ? 0 : 1;
}
