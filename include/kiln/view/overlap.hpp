#pragma once
/// Whether two views share memory.
#include <cstdint>
#include <initializer_list>

#include <kiln/view/tensor.hpp>

namespace kiln {

/// `same`: element by element at the same addresses. `partial`: any other sharing, or sharing that could not be ruled
/// out.
enum class overlap { none, same, partial };

namespace detail {

/// The axes of a view that have more than one element, in bytes, with all strides made positive.
template <int Rank>
struct footprint {
  std::uint64_t first = 0;  ///< lowest address
  std::int64_t bytes = 0;   ///< of one element
  int axes = 0;
  std::int64_t extent[Rank] = {}, stride[Rank] = {};

  /// Bytes from the first element to behind the last.
  std::int64_t span() const {
    std::int64_t s = bytes;
    for (int a = 0; a < axes; ++a) s += (extent[a] - 1) * stride[a];
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

template <class T, int R, class S, int U>
footprint<R> footprint_of(const tensor<T, R, S, U>& v) {
  footprint<R> f;
  f.first = reinterpret_cast<std::uint64_t>(v.data);
  f.bytes = static_cast<std::int64_t>(sizeof(T));
  for (int a = 0; a < R; ++a) {
    std::int64_t stride = v.stride(a) * f.bytes;
    if (v.extent(a) <= 1 || stride == 0) continue;
    if (stride < 0) f.first -= static_cast<std::uint64_t>((v.extent(a) - 1) * -stride), stride = -stride;
    f.extent[f.axes] = v.extent(a), f.stride[f.axes++] = stride;
  }
  return f;
}

constexpr std::int64_t common_divisor(std::int64_t a, std::int64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

/// True if no byte belongs to both. Where all axes whose strides are multiples of a period only repeat what lies within
/// it, two views share memory only if one period of theirs does: that tells two column ranges of one matrix apart, or
/// real and imaginary parts side by side.
template <int R, int Q>
bool are_apart(const footprint<R>& x, const footprint<Q>& y) {
  const std::int64_t distance = static_cast<std::int64_t>(y.first - x.first);
  if (distance >= x.span() || -distance >= y.span()) return true;
  const auto within = [&](std::int64_t period) {
    const footprint<R> in_x = x.within(period);
    const footprint<Q> in_y = y.within(period);
    if (in_x.axes == x.axes && in_y.axes == y.axes) return false;
    const std::int64_t a = in_x.span(), b = in_y.span();
    const std::int64_t after = (distance % period + period) % period;
    for (const std::int64_t d : {after, after - period}) {
      const std::int64_t from = d < 0 ? d : 0, to = d + b > a ? d + b : a;
      footprint<Q> moved = in_y;
      moved.first = x.first + static_cast<std::uint64_t>(d);
      if (to - from <= period && are_apart(in_x, moved)) return true;
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

}  // namespace detail

/// Slices of one buffer that interleave, such as column ranges of a pitched matrix, are told apart by the part of the
/// pitch that each covers. Views in different memories, and views without elements, share nothing.
template <class T, int R, class S, int U, class T2, int R2, class S2, int U2>
overlap overlaps(const tensor<T, R, S, U>& x, const tensor<T2, R2, S2, U2>& y) {
  if constexpr (!std::is_same_v<S, S2>) {
    return overlap::none;
  } else {
    if (x.empty() || y.empty() || x.data == nullptr || y.data == nullptr) return overlap::none;
    if constexpr (R == R2 && sizeof(T) == sizeof(T2)) {
      bool same = static_cast<const void*>(x.data) == static_cast<const void*>(y.data);
      for (int a = 0; a < R; ++a)
        same = same && x.extent(a) == y.extent(a) && (x.extent(a) == 1 || x.stride(a) == y.stride(a));
      if (same) return overlap::same;
    }
    const auto f = detail::footprint_of(x);
    const auto g = detail::footprint_of(y);
    return detail::are_apart(f, g) ? overlap::none : overlap::partial;
  }
}

/// True if two different coordinates may have the same address: a stride of zero, or rows closer than they are long.
template <class T, int R, class S, int U>
bool overlaps_itself(const tensor<T, R, S, U>& v) {
  if (v.empty()) return false;
  for (int a = 0; a < R; ++a)
    if (v.extent(a) > 1 && v.stride(a) == 0) return true;
  auto f = detail::footprint_of(v);
  // From the smallest stride to the largest, each must step over all that the ones before it cover.
  std::int64_t covered = f.bytes;
  for (int done = 0; done < f.axes; ++done) {
    int next = done;
    for (int a = done + 1; a < f.axes; ++a)
      if (f.stride[a] < f.stride[next]) next = a;
    const std::int64_t stride = f.stride[next], extent = f.extent[next];
    if (stride < covered) return true;
    covered += (extent - 1) * stride;
    f.stride[next] = f.stride[done], f.extent[next] = f.extent[done];
  }
  return false;
}

}  // namespace kiln
