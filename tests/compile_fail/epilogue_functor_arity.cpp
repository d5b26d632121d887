// expect: takes as many floats as there are operands
#include <kiln/epilogue/sinks.hpp>

struct product {
  KILN_FN float operator()(float x, float y) const { return x * y; }
};

int main() {
  float out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::map(product{}, kiln::acc));
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::map(product{}, kiln::acc, 2));
#endif
  kiln::require_sinks<float, 1, kiln::host_space, decltype(sink)>();
  kiln::accumulators<float, 1, 2> a{};
  sink.put(a, kiln::place{0, 0, 0, 2});
  return 0;
}
