// expect: an operand of an epilogue expression is a node or a number
#include <kiln/epilogue/sinks.hpp>

int main() {
  float residual[4]{}, out[4]{};
  const auto r = kiln::host_view(residual, 2, 2);
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc + gelu(r));
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc + gelu(kiln::elem(r)));
#endif
  return sink.check(1, 2, 2).ok() ? 0 : 1;
}
