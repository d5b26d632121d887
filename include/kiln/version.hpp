#pragma once
/// The one place that states Kiln's version; CMake reads it from here.

#if __cplusplus < 202002L
#error "Kiln needs C++20: compile with -std=c++20"
#include "stop-here"  // there is none: a compiler that goes on behind an error ends here, and not 1,000 lines later
#endif

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

namespace kiln {
/// Major * 10000 + minor * 100 + patch, for comparisons.
inline constexpr int version = KILN_VERSION_MAJOR * 10000 + KILN_VERSION_MINOR * 100 + KILN_VERSION_PATCH;
}  // namespace kiln
