#pragma once
/// Sentences from words and numbers. One function for all: they are many, and compile in every unit.
#include <kiln/version.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln::detail {

/// Text, which it refers to, or a number, as it is written in a program: 0.1 and 1e-9.
class sentence_part {
 public:
  sentence_part(const char* t) : sentence_part(std::string_view(t)) {}
  sentence_part(const std::string& t) : sentence_part(std::string_view(t)) {}
  sentence_part(std::string_view t) : kind_(kind::text), text_(t.data()), size_(t.size()) {}
  template <class N>
    requires std::is_arithmetic_v<N>
  sentence_part(N n) {
    if constexpr (std::is_same_v<N, float>) kind_ = kind::single, real_ = static_cast<double>(n);
    else if constexpr (std::is_floating_point_v<N>) kind_ = kind::real, real_ = static_cast<double>(n);
    else if constexpr (std::is_signed_v<N>) kind_ = kind::whole, whole_ = n;
    else kind_ = kind::natural, natural_ = n;
  }

  void append_to(std::string& s) const {
    char digits[32] = "";
    switch (kind_) {
      case kind::text: s.append(text_, size_); break;
      case kind::whole: std::snprintf(digits, sizeof digits, "%lld", whole_); break;
      case kind::natural: std::snprintf(digits, sizeof digits, "%llu", natural_); break;
      case kind::single:
      case kind::real:
        // Six digits where they are enough to tell the number.
        std::snprintf(digits, sizeof digits, "%.6g", real_);
        if (kind_ == kind::single ? std::strtof(digits, nullptr) != static_cast<float>(real_)
                                  : std::strtod(digits, nullptr) != real_)
          std::snprintf(digits, sizeof digits, "%.*g", kind_ == kind::single ? 9 : 17, real_);
        break;
    }
    s.append(digits);
  }

 private:
  enum class kind { text, whole, natural, single, real } kind_;
  union {
    const char* text_;
    long long whole_;
    unsigned long long natural_;
    double real_;
  };
  std::size_t size_ = 0;  ///< of a text
};

using sentence = std::initializer_list<sentence_part>;

inline std::string say(sentence parts) {
  std::string s;
  for (const sentence_part& p : parts) p.append_to(s);
  return s;
}

}  // namespace kiln::detail
