#pragma once
/// Whether two views share memory.
#include <cstdint>

#include <kiln/view/tensor.hpp>

namespace kiln {

/// `same`: element by element at the same addresses. `partial`: any other sharing, or sharing that could not be ruled out.
enum class overlap { none, same, partial };

namespace detail {

/// The axes of a view that have more than one element, in bytes, with all strides made positive.
template <int Rank>
struct footprint {
  std::uint64_t first = 0;  ///< lowest address
  std::int64_t bytes = 0;   ///< of one element
  int axes = 0;
  std::int64_t extent[Rank] = {}, stride[Rank] = {};

  /// Bytes from the first to behind the last element, counting only axes whose stride is no multiple of `period`.
  std::int64_t span(std::int64_t period) const {
    std::int64_t s = bytes;
    for (int a = 0; a < axes; ++a)
      if (period == 0 || stride[a] % period != 0) s += (extent[a] - 1) * stride[a];
    return s;
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

/// True if both repeat with `period` and lie in different parts of it: two column ranges of one matrix, real and imaginary
/// parts side by side.
template <int R, int Q>
bool apart_within(std::int64_t period, const footprint<R>& x, const footprint<Q>& y) {
  const std::int64_t a = x.span(period), b = y.span(period);
  if (a > period || b > period) return false;
  const auto p = static_cast<std::uint64_t>(period);
  // How far y's part begins behind x's, around the circle.
  const auto behind = static_cast<std::int64_t>((y.first % p + p - x.first % p) % p);
  return behind >= a && behind + b <= period;
}

}  // namespace detail

/// Slices of one buffer that interleave, such as column ranges of a pitched matrix, are told apart by the part of the pitch
/// that each covers. Views in different memories, and views without elements, share nothing.
template <class T, int R, class S, int U, class T2, int R2, class S2, int U2>
overlap overlaps(const tensor<T, R, S, U>& x, const tensor<T2, R2, S2, U2>& y) {
  if constexpr (!std::is_same_v<S, S2>) {
    return overlap::none;
  } else {
    if (x.empty() || y.empty() || x.data == nullptr || y.data == nullptr) return overlap::none;
    if constexpr (R == R2 && sizeof(T) == sizeof(T2)) {
      bool same = static_cast<const void*>(x.data) == static_cast<const void*>(y.data);
      for (int a = 0; a < R; ++a) same = same && x.extent(a) == y.extent(a) && (x.extent(a) == 1 || x.stride(a) == y.stride(a));
      if (same) return overlap::same;
    }
    const auto f = detail::footprint_of(x);
    const auto g = detail::footprint_of(y);
    if (f.first + static_cast<std::uint64_t>(f.span(0)) <= g.first || g.first + static_cast<std::uint64_t>(g.span(0)) <= f.first)
      return overlap::none;
    std::int64_t common = 0;
    for (int a = 0; a < f.axes; ++a) common = detail::common_divisor(common, f.stride[a]);
    for (int a = 0; a < g.axes; ++a) common = detail::common_divisor(common, g.stride[a]);
    if (common != 0 && detail::apart_within(common, f, g)) return overlap::none;
    for (int a = 0; a < f.axes; ++a)
      if (detail::apart_within(f.stride[a], f, g)) return overlap::none;
    for (int a = 0; a < g.axes; ++a)
      if (detail::apart_within(g.stride[a], f, g)) return overlap::none;
    return overlap::partial;
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
