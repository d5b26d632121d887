#pragma once
/// Checks of the row kernels' arguments. Each gives a sentence with the operand, the value seen and the value needed.
#include <kiln/core/status.hpp>
#include <kiln/kernel/rows/operand.hpp>
#include <kiln/view/alignment.hpp>
#include <kiln/view/overlap.hpp>
#include <kiln/view/reshape.hpp>

namespace kiln::rows {

/// The view itself: extents not negative and countable, data there if it has elements.
template <class T, int R, class S, int U>
status check_view(const char* name, const tensor<T, R, S, U>& v) {
  for (int a = 0; a < R; ++a)
    if (v.extents[a] < 0)
      return fail(errc::bad_shape, "operand `", name, "`: axis ", a, " has extent ", v.extents[a],
                  ", needs at least 0");
  if (v.data == nullptr && !v.empty())
    return fail(errc::null_pointer, "operand `", name, "`: data is null, needs ", v.size(), " elements");
  if (box_size(v.extents, R - 1) == INT64_MAX || v.size() == INT64_MAX)
    return fail(errc::bad_shape, "operand `", name, "`: more elements than a 64-bit index counts");
  return check_element_alignment(v, std::string("operand `") + name + "`");
}

/// An output: moreover each element is written once.
template <class T, int R, class S, int U>
status check_output(const char* name, const tensor<T, R, S, U>& v) {
  static_assert(!std::is_const_v<T>, "an output needs a view of elements that are not const");
  KILN_TRY(check_view(name, v));
  if (!overlaps_itself(v)) return {};
  std::string strides;
  for (int a = 0; a < R; ++a)
    strides += (a == 0 ? "" : ", ") + std::to_string(v.stride(a)) + " of " + std::to_string(v.extents[a]);
  return fail(errc::bad_stride, "operand `", name, "`: its strides (", strides,
              ") may give two elements one place, an output needs one for each");
}

/// Equal extents on all axes.
template <class A, class B>
status check_same_shape(const char* name, const A& a, const char* other, const B& b) {
  static_assert(A::rank == B::rank, "these two operands need the same number of axes");
  for (int i = 0; i < A::rank; ++i)
    if (a.extents[i] != b.extents[i])
      return fail(errc::bad_shape, "operand `", name, "`: axis ", i, " has extent ", a.extents[i], ", needs ",
                  b.extents[i], " as in `", other, "`");
  return {};
}

/// A vector of `needed` elements; `why` says of what.
template <class T, class S, int U>
status check_length(const char* name, const tensor<T, 1, S, U>& v, index_t needed, const char* why) {
  if (v.extents[0] != needed)
    return fail(errc::bad_shape, "operand `", name, "`: has ", v.extents[0], " elements, needs ", needed, " (", why,
                ")");
  return {};
}

/// The output shares nothing with the operand.
template <class A, class B>
status check_apart(const char* name, const A& out, const char* other, const B& in) {
  if (overlaps(out, in) == overlap::none) return {};
  return fail(errc::overlap, "operand `", name, "`: shares memory with `", other, "`, needs memory of its own");
}

/// The output is the operand itself, element for element, or shares nothing with it.
template <class A, class B>
status check_in_place(const char* name, const A& out, const char* other, const B& in) {
  const overlap found = overlaps(out, in);
  if (found == overlap::none) return {};
  if (found == overlap::same && std::is_same_v<typename A::value_type, typename B::value_type>) return {};
  return fail(errc::overlap, "operand `", name, "`: shares memory with `", other,
              "`, needs to be the same view or apart from it");
}

/// Bytes of a view's elements, for traces.
template <class... Views>
double bytes_of(const Views&... views) {
  return ((static_cast<double>(views.size()) * static_cast<double>(sizeof(typename Views::element))) + ... + 0.0);
}

}  // namespace kiln::rows
