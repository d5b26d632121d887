// expect: a float expression goes into an int32 tensor: say how it is rounded
#include <kiln/epilogue/sinks.hpp>

int main() {
  std::int32_t out[4]{};
#ifdef KILN_FAIL
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::acc * 0.5f);
#else
  const auto sink = kiln::store(kiln::host_view(out, 2, 2), kiln::round_to<std::int32_t>(kiln::acc * 0.5f));
#endif
  kiln::require_sinks<std::int32_t, 1, kiln::host_space, decltype(sink)>();
  kiln::accumulators<std::int32_t, 1, 2> a{};
  sink.put(a, kiln::place{0, 0, 0, 2});
  return 0;
}
