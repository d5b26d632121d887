// expect: map(f, x...): f cannot be called; it needs a public, const call operator that is marked KILN_FN
#include <kiln/epilogue/sinks.hpp>

// A call operator that is private to all but its own class.
class scaled {
#ifndef KILN_FAIL
 public:
#endif
  KILN_FN float operator()(float x) const { return 2 * x; }
};

int main() {
  float out[4]{};
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::map(scaled{}, kiln::acc));
  kiln::require_sinks<float, 1, kiln::host_space, decltype(sink)>();
  kiln::accumulators<float, 1, 2> a{};
  sink.put(a, kiln::place{0, 0, 0, 2});
  return 0;
}
