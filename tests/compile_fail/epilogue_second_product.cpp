// expect: the epilogue uses acc_<1>, but there is one product
#include <kiln/epilogue/sinks.hpp>

int main() {
  float out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), silu(kiln::acc_<0>) * kiln::acc_<1>);
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), silu(kiln::acc_<0>) * kiln::acc_<0>);
#endif
  kiln::require_sinks<float, 1, kiln::host_space, decltype(sink)>();
  kiln::accumulators<float, 1, 2> a{};
  sink.put(a, kiln::place{0, 0, 0, 2});
  return 0;
}
