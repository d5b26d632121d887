// expect: make_scales: the scales serve what the ranges were seen of: per_row_scales of per_row_ranges, and so on
#include <kiln/calibrate.hpp>

int main() {
  float low[2] = {}, high[2] = {}, s[2] = {};
  std::int64_t ignored[2] = {};
  const auto seen =
      kiln::per_row_ranges(kiln::host_view(low, 2), kiln::host_view(high, 2), kiln::host_view(ignored, 2));
#ifdef KILN_FAIL
  const auto scales = kiln::per_column_scales(kiln::host_view(s, 2));
#else
  const auto scales = kiln::per_row_scales(kiln::host_view(s, 2));
#endif
  return kiln::make_scales<std::int8_t>(kiln::host, seen, scales).ok() ? 0 : 1;
}
