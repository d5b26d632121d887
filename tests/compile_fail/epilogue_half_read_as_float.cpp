// expect: elem<T>(view): the view's elements are not of type T
#include <kiln/epilogue/sinks.hpp>

int main() {
  kiln::f16 residual[4]{};
  float out[4]{};
#ifdef KILN_FAIL
  const auto sink =
      kiln::store(kiln::host_view(out, 2, 2), kiln::acc + kiln::elem<float>(kiln::host_view(residual, 2, 2)));
#else
  const auto sink =
      kiln::store(kiln::host_view(out, 2, 2), kiln::acc + kiln::elem<kiln::f16>(kiln::host_view(residual, 2, 2)));
#endif
  return sink.check(1, 2, 2).ok() ? 0 : 1;
}
