#pragma once
/// Whether two views share memory.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <kiln/view/tensor.hpp>

namespace kiln {

/// `same`: element by element at the same addresses. `partial`: any other sharing, or sharing that could not be ruled
/// out.
enum class overlap { none, same, partial };

namespace detail {

/// A view without its types, so that what looks at memory is compiled once. It refers to the view.
struct plain_view {
  const void* data;
  const index_t *extents, *strides;
  int rank, unit;
  std::int64_t bytes, alignment;  ///< of one element

  index_t stride(int axis) const { return axis == unit ? 1 : strides[axis]; }
  index_t size() const { return box_size(extents, rank); }
  bool empty() const { return any_is_zero(extents, rank); }
};

inline constexpr int most_axes = 16;

template <class T, int R, class S, int U>
plain_view plain(const tensor<T, R, S, U>& v) {
  static_assert(R <= most_axes, "calls that look for overlap take views of at most 16 axes");
  return {
      v.data, v.extents, v.strides, R, U, static_cast<std::int64_t>(sizeof(T)), static_cast<std::int64_t>(alignof(T))};
}

/// The axes of a view that have more than one element, in bytes, with all strides made positive.
struct footprint {
  std::uint64_t first = 0;  ///< lowest address
  std::int64_t bytes = 0;   ///< of one element
  int axes = 0;
  std::int64_t extent[most_axes], stride[most_axes];

  /// Bytes from the first element to behind the last.
  std::int64_t span() const {
    std::int64_t s = bytes;
    for (int a = 0; a < axes; ++a) s = saturated_sum(s, saturated_product(stride[a], extent[a] - 1));
    return s;
  }
  /// Without the axes whose stride is a multiple of `period`.
  footprint within(std::int64_t period) const {
    footprint f;
    f.first = first, f.bytes = bytes;
    for (int a = 0; a < axes; ++a)
      if (stride[a] % period != 0) f.extent[f.axes] = extent[a], f.stride[f.axes++] = stride[a];
    return f;
  }
};

inline footprint footprint_of(const plain_view& v) {
  footprint f;
  f.first = reinterpret_cast<std::uint64_t>(v.data);
  f.bytes = v.bytes;
  for (int a = 0; a < v.rank; ++a) {
    std::int64_t stride = saturated_product(v.stride(a), f.bytes);
    if (v.extents[a] <= 1 || stride == 0) continue;
    if (stride < 0) {
      stride = -stride;
      f.first -= static_cast<std::uint64_t>(saturated_product(stride, v.extents[a] - 1));
    }
    f.extent[f.axes] = v.extents[a], f.stride[f.axes++] = stride;
  }
  return f;
}
template <class T, int R, class S, int U>
footprint footprint_of(const tensor<T, R, S, U>& v) {
  return footprint_of(plain(v));
}

constexpr std::int64_t common_divisor(std::int64_t a, std::int64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

/// True if no byte belongs to both. Where all axes whose strides are multiples of a period only repeat what lies within
/// it, two views share memory only if one period of theirs does: that tells two column ranges of one matrix apart, or
/// real and imaginary parts side by side.
inline bool are_apart(const footprint& x, const footprint& y) {
  if (x.span() == INT64_MAX || y.span() == INT64_MAX) return false;  // larger than any memory: nothing is known of it
  const std::int64_t distance = static_cast<std::int64_t>(y.first - x.first);
  if (distance >= x.span() || distance <= -y.span()) return true;
  const auto within = [&](std::int64_t period) {
    const footprint in_x = x.within(period), in_y = y.within(period);
    if (in_x.axes == x.axes && in_y.axes == y.axes) return false;
    const std::int64_t a = in_x.span(), b = in_y.span();
    const std::int64_t past = distance % period, after = past < 0 ? past + period : past;
    for (const std::int64_t d : {after, after - period}) {
      const std::int64_t from = d < 0 ? d : 0, to = max_of(a, d < 0 ? d + b : saturated_sum(d, b));
      footprint moved = in_y;
      moved.first = x.first + static_cast<std::uint64_t>(d);
      if (to <= period + from && are_apart(in_x, moved)) return true;
    }
    return false;
  };
  std::int64_t common = 0;
  for (int i = 0; i < x.axes; ++i) common = common_divisor(common, x.stride[i]);
  for (int i = 0; i < y.axes; ++i) common = common_divisor(common, y.stride[i]);
  if (common != 0 && within(common)) return true;
  for (int i = 0; i < x.axes; ++i)
    if (within(x.stride[i])) return true;
  for (int i = 0; i < y.axes; ++i)
    if (within(y.stride[i])) return true;
  return false;
}

/// Of two views in one memory. Compiled once in a unit: inlined, it would be a quarter of a call's code.
[[gnu::noinline]] inline overlap overlaps(const plain_view& x, const plain_view& y) {
  if (x.size() <= 0 || y.size() <= 0 || x.data == nullptr || y.data == nullptr) return overlap::none;
  if (x.rank == y.rank && x.bytes == y.bytes) {
    bool same = x.data == y.data;
    for (int a = 0; a < x.rank; ++a)
      same = same && x.extents[a] == y.extents[a] && (x.extents[a] == 1 || x.stride(a) == y.stride(a));
    if (same) return overlap::same;
  }
  return are_apart(footprint_of(x), footprint_of(y)) ? overlap::none : overlap::partial;
}

[[gnu::noinline]] inline bool overlaps_itself(const plain_view& v) {
  if (v.size() <= 0) return false;
  for (int a = 0; a < v.rank; ++a)
    if (v.extents[a] > 1 && v.stride(a) == 0) return true;
  footprint f = footprint_of(v);
  // From the smallest stride to the largest, each must step over all that the ones before it cover.
  std::int64_t covered = f.bytes;
  for (int done = 0; done < f.axes; ++done) {
    int next = done;
    for (int a = done + 1; a < f.axes; ++a)
      if (f.stride[a] < f.stride[next]) next = a;
    const std::int64_t stride = f.stride[next], extent = f.extent[next];
    if (stride < covered) return true;
    covered = saturated_sum(covered, saturated_product(stride, extent - 1));
    f.stride[next] = f.stride[done], f.extent[next] = f.extent[done];
  }
  return false;
}

}  // namespace detail

/// Slices of one buffer that interleave, such as column ranges of a pitched matrix, are told apart by the part of the
/// pitch that each covers. Views in different memories, and views without elements, share nothing.
template <class T, int R, class S, int U, class T2, int R2, class S2, int U2>
overlap overlaps(const tensor<T, R, S, U>& x, const tensor<T2, R2, S2, U2>& y) {
  if constexpr (!std::is_same_v<S, S2>)
    return overlap::none;
  else
    return detail::overlaps(detail::plain(x), detail::plain(y));
}

/// Memory without elements of a type, a workspace, as a view that others may be held to.
template <class Space>
tensor<const std::byte, 1, Space, 0> view_of_bytes(const void* data, std::size_t bytes) {
  return {static_cast<const std::byte*>(data), {static_cast<index_t>(bytes)}, {1}};
}

/// True if two different coordinates may have the same address: a stride of zero, or rows closer than they are long.
template <class T, int R, class S, int U>
bool overlaps_itself(const tensor<T, R, S, U>& v) {
  return detail::overlaps_itself(detail::plain(v));
}

}  // namespace kiln
