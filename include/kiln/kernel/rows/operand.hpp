#pragma once
/// What a row kernel sees of a view: a list of rows, whatever its rank, and lines of elements.
#include <cstdint>
#include <kiln/core/numeric.hpp>
#include <kiln/core/types.hpp>
#include <kiln/view/tensor.hpp>
#include <type_traits>

namespace kiln::rows {

/// a / b for a, b >= 0. 64-bit division is slow on a GPU, and most counts have 32 bits.
KILN_FN constexpr index_t divided(index_t a, index_t b) {
  if (((a | b) >> 32) == 0) return static_cast<index_t>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
  return a / b;
}

/// One row: elements `step` apart.
template <class T>
struct line {
  T* data;
  index_t step;
  KILN_FN T& operator[](index_t c) const { return data[c * step]; }
};

/// A pointer of whose origin the compiler knows nothing, so that columns are added to it as small numbers. Else it adds
/// the way to the row to each column, in 64 bits and four instructions. Worth it only where that fills the registers:
/// without it quantise_rows has 3 to 5 parts in 100 fewer instructions.
template <class T>
KILN_FN T* of_row(T* data) {
#if defined(__CUDA_ARCH__)
  std::size_t at = __cvta_generic_to_global(data);
  asm volatile("" : "+l"(at));
  return static_cast<T*>(__cvta_global_to_generic(at));
#else
  return data;
#endif
}

/// A view of rank 1 to 4 as rows along its last axis. Row r of the leading axes, last fastest; leading axes that follow
/// each other without a gap are joined, so most views need one multiplication a row and no division.
template <class T>
struct operand {
  T* data = nullptr;
  index_t step = 1;   ///< between neighbours of a row
  index_t outer = 0;  ///< stride of the outermost leading axis left
  index_t middle = 0, middle_size = 1;
  index_t inner = 0, inner_size = 1;  ///< fastest leading axis

  /// Elements from `data` to the first of row r.
  KILN_FN constexpr index_t offset(index_t r) const {
    if (r < inner_size) return r * inner;
    const index_t q = divided(r, inner_size), i = r - q * inner_size;
    const index_t o = divided(q, middle_size), m = q - o * middle_size;
    return o * outer + m * middle + i * inner;
  }
  template <bool Hidden = true>
  KILN_FN line<T> at(index_t r) const {
    T* const first = data + offset(r);
    return {Hidden ? of_row(first) : first, step};
  }
  /// The first row, without a calculation: a line that all rows share.
  KILN_FN constexpr line<T> only() const { return {data, step}; }

  /// True if accesses of `bytes` from any multiple of `width` elements of any row are aligned.
  constexpr bool vectors(int width) const {
    const index_t bytes = min_of<index_t>(16, width * static_cast<index_t>(sizeof(T)));
    const index_t unit = bytes / static_cast<index_t>(sizeof(T));
    return step == 1 &&
           (unit <= 1 || (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
                          outer % unit == 0 && middle % unit == 0 && inner % unit == 0));
  }
};

/// Number of rows: the product of all extents but the last.
template <class T, int R, class S, int U>
constexpr index_t count(const tensor<T, R, S, U>& v) {
  return box_size(v.extents, R - 1);
}
/// Elements of a row.
template <class T, int R, class S, int U>
constexpr index_t length(const tensor<T, R, S, U>& v) {
  return v.extents[R - 1];
}

template <class T, int R, class S, int U>
constexpr operand<T> operand_of(const tensor<T, R, S, U>& v) {
  static_assert(R <= 4, "row kernels take views of rank 1 to 4");
  index_t sizes[3] = {1, 1, 1}, strides[3] = {0, 0, 0};  // innermost first
  int used = 0;
  for (int a = R - 2; a >= 0; --a) {
    if (v.extents[a] == 1) continue;
    if (used > 0 && v.stride(a) == saturated_product(strides[used - 1], sizes[used - 1])) {
      sizes[used - 1] *= v.extents[a];
    } else {
      sizes[used] = v.extents[a], strides[used] = v.stride(a), ++used;
    }
  }
  operand<T> o;
  o.data = v.data;
  o.step = length(v) == 1 ? 1 : v.stride(R - 1);
  o.inner_size = sizes[0], o.inner = strides[0];
  o.middle_size = sizes[1], o.middle = strides[1];
  o.outer = strides[2];
  if (v.data == nullptr) o.inner = o.middle = o.outer = 0;  // rows without elements: nothing may be added to null
  return o;
}

/// The rows of an operand that is only read.
template <class T, int R, class S, int U>
constexpr operand<const T> input_of(const tensor<T, R, S, U>& v) {
  return operand_of<const T>(static_cast<tensor<const T, R, S, U>>(v));
}

/// The same line for every row: a weight, a bias.
template <class T, class S, int U>
constexpr operand<const T> shared_line(const tensor<T, 1, S, U>& v) {
  operand<const T> o;
  o.data = v.data;
  o.step = v.extents[0] == 1 ? 1 : v.stride(0);
  o.inner_size = (limits<index_t>::max)();
  return o;
}

/// A vector with one element for each row.
template <class T, class S, int U>
constexpr operand<T> each_row(const tensor<T, 1, S, U>& v) {
  operand<T> o;
  o.data = v.data;
  o.inner_size = v.extents[0], o.inner = v.stride(0);
  return o;
}

}  // namespace kiln::rows
