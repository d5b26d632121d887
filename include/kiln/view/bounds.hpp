#pragma once
/// The end of a view access outside its extents, in builds with KILN_DEBUG.
#include <cstdio>
#include <cstdlib>
#include <kiln/core/macros.hpp>
#include <kiln/core/types.hpp>

namespace kiln::detail {

/// Prints the view's name and the coordinates, then ends the program (host) or the kernel (device, with an error that
/// the next runtime call returns).
KILN_FN void out_of_bounds(const char* name, int rank, const index_t* at, int axis, index_t extent) {
  const auto coordinate = [&](int a) { return static_cast<long long>(a < rank ? at[a] : 0); };
#if defined(__CUDA_ARCH__)
  // One call, so that the lines of many threads do not mix.
  printf("kiln: `%s`: coordinates (%lld, %lld, %lld, %lld) of %d axes: axis %d has extent %lld\n", name, coordinate(0),
         coordinate(1), coordinate(2), coordinate(3), rank, axis, static_cast<long long>(extent));
  __trap();
#else
  std::fprintf(stderr, "kiln: `%s`: coordinates (", name);
  for (int a = 0; a < rank; ++a) std::fprintf(stderr, "%s%lld", a == 0 ? "" : ", ", coordinate(a));
  std::fprintf(stderr, "): axis %d has extent %lld\n", axis, static_cast<long long>(extent));
  std::abort();
#endif
}

}  // namespace kiln::detail
