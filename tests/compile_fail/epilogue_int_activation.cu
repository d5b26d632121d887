// expect: an activation needs a float: this expression's value is int32
#include <kiln/epilogue/sinks.hpp>

int main() {
  float out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::gelu(kiln::acc * 2) + 1);
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::gelu(kiln::acc * 0.5f) + 1);
#endif
  kiln::require_sinks<std::int32_t, 1, kiln::host_space, decltype(sink)>();
  kiln::accumulators<std::int32_t, 1, 2> a{};
  sink.put(a, kiln::place{0, 0, 0, 2});
  return 0;
}
