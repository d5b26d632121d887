#pragma once
/// Text that is put together at compile time, for names that follow from types.
#include <kiln/version.hpp>

namespace kiln::detail {

/// Up to `most` characters; what goes beyond them is cut off.
class fixed_text {
 public:
  static constexpr int most = 500;

  constexpr fixed_text& add(const char* t) {
    for (; *t != '\0' && length_ < most; ++t) text_[length_++] = *t;
    return *this;
  }
  constexpr fixed_text& add(int number) {
    if (number >= 10) add(number / 10);
    const char digit[] = {static_cast<char>('0' + number % 10), '\0'};
    return add(digit);
  }
  /// Parentheses around all from character `from` on.
  constexpr void enclose(int from) {
    if (length_ + 2 > most) return;
    add("()");
    for (int i = length_ - 2; i > from; --i) text_[i] = text_[i - 1];
    text_[from] = '(';
  }

  constexpr int length() const { return length_; }
  constexpr char operator[](int i) const { return text_[i]; }
  constexpr const char* text() const { return text_; }

 private:
  char text_[most + 1] = {};
  int length_ = 0;
};

}  // namespace kiln::detail
