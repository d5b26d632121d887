#pragma once
/// Sentences from words and numbers. One function for all: the reports of the host's model are many, and compile in
/// every translation unit that runs roles.
#include <kiln/version.hpp>

#include <concepts>
#include <initializer_list>
#include <string>

namespace kiln::twin {

struct piece {
  piece(const char* t) : text(t) {}                 // NOLINT: pieces stand in braces
  piece(const std::string& t) : text(t.c_str()) {}  // NOLINT
  template <std::integral I>
  piece(I n) : number(static_cast<long long>(n)) {}  // NOLINT
  const char* text = nullptr;
  long long number = 0;
};

using sentence = std::initializer_list<piece>;

inline std::string say(sentence pieces) {
  std::string s;
  for (const piece& p : pieces) s += p.text != nullptr ? std::string(p.text) : std::to_string(p.number);
  return s;
}

}  // namespace kiln::twin
