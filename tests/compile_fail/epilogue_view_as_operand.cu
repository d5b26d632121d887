// expect: an operand of an epilogue expression is a node or a number
#include <kiln/epilogue/sinks.hpp>

int main() {
  float bias[2]{}, out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), relu(kiln::acc + kiln::host_view(bias, 2)));
#else
  const auto sink =
      kiln::store(kiln::host_view(out, 2, 2), relu(kiln::acc + kiln::per_column(kiln::host_view(bias, 2))));
#endif
  return sink.check(1, 2, 2).ok() ? 0 : 1;
}
