#pragma once
/// A small value that threads share. std::atomic would do; its header brings in <system_error> and mutexes, which every
/// translation unit that launches would parse three times over.
#include <kiln/version.hpp>

namespace kiln::detail {

/// A pointer or an integer of at most a word.
template <class T>
class shared_value {
  static_assert(sizeof(T) <= sizeof(void*), "of more than a word the builtins would call a library");

 public:
  constexpr shared_value() = default;
  shared_value(const shared_value&) = delete;
  shared_value& operator=(const shared_value&) = delete;

  /// Sees all that was written before the `store` or `exchange` whose value it returns.
  T load() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  void store(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }
  /// Returns the value before.
  T exchange(T value) { return __atomic_exchange_n(&value_, value, __ATOMIC_ACQ_REL); }

 private:
  T value_{};
};

}  // namespace kiln::detail
