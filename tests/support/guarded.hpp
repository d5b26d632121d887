#pragma once
/// Buffers with guards on both sides. A read outside an input sees NaN (or a huge integer), so it shows in the result;
/// a write outside an output changes a sentinel. Under address sanitizer both end the test at the access itself.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tests/support/memory.hpp"

namespace kiln::test {

/// What an output holds before the call: NaN, or the byte 0x55 (a finite number in every type).
enum class prefill { nan, x55 };

/// All bits set are NaN in every floating-point type; 0x7f7f... is a large integer, and no valid index.
template <class T>
inline constexpr unsigned char poison_byte = std::is_integral_v<T> || std::is_enum_v<T> ? 0x7f : 0xff;

/// `count` elements between two guards, and a copy of all bytes to compare with.
template <class T, class Space>
class guarded_buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  guarded_buffer(const guarded_buffer&) = delete;
  guarded_buffer& operator=(const guarded_buffer&) = delete;
  ~guarded_buffer() {
    memory<Space>::allow(base_, before_.size());
    memory<Space>::release(base_);
  }

  std::size_t size() const { return count_; }

  /// True if all bytes outside the elements are as they were.
  ::testing::AssertionResult guards_intact() const { return compare(false); }

  /// The elements now, after all work of the executor.
  std::vector<T> values() const {
    std::vector<T> r(count_);
    if (count_ != 0) memory<Space>::download(r.data(), base_ + offset_, count_ * sizeof(T));
    return r;
  }

 protected:
  /// `misalign` shifts the first element by so many elements from a 256-byte boundary.
  guarded_buffer(std::size_t count, std::size_t misalign, unsigned char guard, unsigned char inside)
      : count_(count),
        offset_(guard_bytes + misalign * sizeof(T)),
        before_(offset_ + count * sizeof(T) + guard_bytes, guard) {
    if (count != 0) std::memset(before_.data() + offset_, inside, count * sizeof(T));
    base_ = static_cast<unsigned char*>(memory<Space>::allocate(before_.size()));
  }

  void start(const T* values) {
    if (values != nullptr && count_ != 0) std::memcpy(before_.data() + offset_, values, count_ * sizeof(T));
    memory<Space>::upload(base_, before_.data(), before_.size());
    forbid_guards();
  }

  T* first() const { return reinterpret_cast<T*>(base_ + offset_); }

  ::testing::AssertionResult compare(bool elements_too) const {
    const std::vector<unsigned char> now = bytes();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const bool inside = i >= offset_ && i < offset_ + count_ * sizeof(T);
      if (now[i] == before_[i] || (inside && !elements_too)) continue;
      const auto element = (static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(offset_));
      return ::testing::AssertionFailure()
             << "byte " << element << " from the first element (" << count_ << " elements of " << sizeof(T)
             << " bytes) was " << int{before_[i]} << " and is now " << int{now[i]};
    }
    return ::testing::AssertionSuccess();
  }

  bool element_changed(const std::vector<unsigned char>& now, std::size_t i) const {
    const std::size_t at = offset_ + i * sizeof(T);
    return std::memcmp(now.data() + at, before_.data() + at, sizeof(T)) != 0;
  }

  std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> now(before_.size());
    memory<Space>::allow(base_, before_.size());
    memory<Space>::download(now.data(), base_, now.size());
    forbid_guards();
    return now;
  }

 private:
  static constexpr std::size_t guard_bytes = 4096;

  void forbid_guards() const {
    memory<Space>::forbid(base_, offset_);
    memory<Space>::forbid(base_ + offset_ + count_ * sizeof(T), guard_bytes);
  }

  std::size_t count_, offset_;
  std::vector<unsigned char> before_;
  unsigned char* base_;
};

/// An operand: what lies around it is NaN, and neither it nor that may change.
template <class T, class Space>
class guarded_input : public guarded_buffer<T, Space> {
 public:
  explicit guarded_input(const std::vector<T>& values, std::size_t misalign = 0)
      : guarded_buffer<T, Space>(values.size(), misalign, poison_byte<T>, poison_byte<T>) {
    this->start(values.data());
  }
  const T* data() const { return this->first(); }
  ::testing::AssertionResult intact() const { return this->compare(true); }
};

/// A result: prefilled, between sentinels that must stay.
template <class T, class Space>
class guarded_output : public guarded_buffer<T, Space> {
 public:
  explicit guarded_output(std::size_t count, prefill with = prefill::nan, std::size_t misalign = 0)
      : guarded_buffer<T, Space>(count, misalign, 0xa5, with == prefill::nan ? poison_byte<T> : 0x55) {
    this->start(nullptr);
  }
  /// In-place operands: starts with values.
  explicit guarded_output(const std::vector<T>& values, std::size_t misalign = 0)
      : guarded_buffer<T, Space>(values.size(), misalign, 0xa5, 0x55) {
    this->start(values.data());
  }

  T* data() const { return this->first(); }
  ::testing::AssertionResult intact() const { return this->guards_intact(); }

  /// True if nothing at all was written.
  ::testing::AssertionResult untouched() const { return this->compare(true); }

  /// True if only elements for which `mine(i)` holds were written: for pitched and sliced results.
  template <class Mine>
  ::testing::AssertionResult wrote_only(Mine mine) const {
    const auto now = this->bytes();
    for (std::size_t i = 0; i < this->size(); ++i) {
      if (!mine(i) && this->element_changed(now, i)) {
        return ::testing::AssertionFailure() << "element " << i << " is none of the result's and was written";
      }
    }
    return ::testing::AssertionSuccess();
  }
};

}  // namespace kiln::test
