#pragma once
/// Wrong use that no status can tell: an exception, or, in a program that is compiled without them, its end.
#include <kiln/version.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace kiln::detail {

// Programs may have units of both kinds: each has a function of its own.
#if defined(__cpp_exceptions)
inline namespace throwing {
#else
inline namespace aborting {
#endif

[[noreturn]] inline void misuse(const char* text) {
#if defined(__cpp_exceptions)
  throw std::logic_error(text);
#else
  std::fprintf(stderr, "%s\n", text);
  std::abort();
#endif
}

}  // inline namespace throwing, or aborting
}  // namespace kiln::detail
