// expect: store(view, expression): the view's elements are const
#include <kiln/epilogue/sinks.hpp>

int main() {
  float out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(static_cast<const float*>(out), 2, 2), kiln::acc);
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc);
#endif
  return sink.check(1, 2, 2).ok() ? 0 : 1;
}
