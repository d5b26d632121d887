#pragma once
/// Whether a view's elements lie where their type may: CUDA faults on others, and the fault is reported far from its
/// cause.
#include <cstdint>

#include <kiln/core/status.hpp>
#include <kiln/view/tensor.hpp>

namespace kiln {

/// bad_alignment if the view's address is not a multiple of its element's alignment; the sentence begins with `name`,
/// one or more parts.
template <class T, int R, class S, int U, class... Name>
status check_element_alignment(const tensor<T, R, S, U>& v, Name... name) {
  constexpr std::uintptr_t unit = alignof(T);
  const std::uintptr_t off = reinterpret_cast<std::uintptr_t>(v.data) % unit;
  if (off == 0 || v.empty()) return {};
  return fail(errc::bad_alignment, name..., " is at an address that is ", off,
              " bytes past a multiple of its element's ", unit, ", needs such a multiple");
}

}  // namespace kiln
