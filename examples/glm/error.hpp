#pragma once
/// The one exception of this example: what the user gave cannot be used, and the text says why.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace glm {

struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {
inline std::string text_of(const std::string& s) { return s; }
inline std::string text_of(const char* s) { return s; }
template <class Number>
std::string text_of(Number n) {
  if constexpr (std::is_floating_point_v<Number>) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(n));
    return text;
  } else {
    return std::to_string(n);
  }
}
}  // namespace detail

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw error((detail::text_of(parts) + ...));
}

}  // namespace glm
