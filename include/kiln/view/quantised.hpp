#pragma once
/// A matrix of narrow numbers and the scales that make them numbers again: payload and scales side by side, as in an
/// SoA.
///
/// value(i, j) = scale(i, j) * (payload(i, j) - zero point(i, j)). A scale serves the whole tensor, a row, a column, or
/// a group of `group` neighbours along one axis, which is K where the view is an operand of a GEMM.
///
///     auto w = quantised(payload, per_row_scales(scales));                  // [N, K] int8, one scale for each output
///     auto w4 = quantised_int4(packed, k, per_group_scales<1>(scales, 128));  // int4x2, groups of 128 along axis 1
///     gemm(ex, x, transposed(payload), store(d, acc * per_column(scales)));
///
/// kiln/quantise.hpp makes payloads, scales and zero points of numbers, kiln/calibrate.hpp scales of many batches;
/// epilogue/zero_points.hpp has the corrections that zero points ask of a product.
#include <cstdint>
#include <kiln/core/numeric.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/sound.hpp>
#include <kiln/view/tensor.hpp>
#include <type_traits>

namespace kiln {

/// What one scale serves. `group_0` and `group_1`: a run along axis 0 or axis 1.
enum class granularity { tensor, row, column, group_0, group_1 };

namespace detail {
constexpr bool is_grouped(granularity g) { return g == granularity::group_0 || g == granularity::group_1; }
constexpr granularity transposed(granularity g) {
  switch (g) {
    case granularity::row:
      return granularity::column;
    case granularity::column:
      return granularity::row;
    case granularity::group_0:
      return granularity::group_1;
    case granularity::group_1:
      return granularity::group_0;
    default:
      return g;
  }
}
/// Stands where a view has no zero points.
struct no_zero_points {};
/// Stands for scales of which the compiler has said what is wrong.
struct wrong_scales {
  template <class Zeros>
  constexpr wrong_scales with_zero_points(const Zeros&) const {
    return {};
  }
};
}  // namespace detail

/// Scales with what they serve, and the zero points of an affine quantisation beside them. For groups both are matrices
/// with the grouped axis `group` times shorter, rounded up; else vectors.
template <granularity G, class Scales, class Zeros = detail::no_zero_points>
struct scale_set {
  static constexpr granularity served = G;
  static constexpr bool affine = !std::is_same_v<Zeros, detail::no_zero_points>;
  Scales scales;
  index_t group = 0;
  [[no_unique_address]] Zeros zeros{};

  template <class View>
  KILN_FN static constexpr decltype(auto) read(const View& v, [[maybe_unused]] index_t i, [[maybe_unused]] index_t j,
                                               [[maybe_unused]] index_t group) {
    if constexpr (G == granularity::tensor)
      return v(0);
    else if constexpr (G == granularity::row)
      return v(i);
    else if constexpr (G == granularity::column)
      return v(j);
    else if constexpr (G == granularity::group_0)
      return v(i / group, j);
    else
      return v(i, j / group);
  }
  KILN_FN constexpr float scale(index_t i, index_t j) const { return static_cast<float>(read(scales, i, j, group)); }
  KILN_FN constexpr float zero([[maybe_unused]] index_t i, [[maybe_unused]] index_t j) const {
    if constexpr (affine)
      return static_cast<float>(read(zeros, i, j, group));
    else
      return 0;
  }
  /// The same scales, shifted by zero points of the same shape.
  template <class NewZeros>
  constexpr auto with_zero_points([[maybe_unused]] const NewZeros& z) const {
    constexpr bool good = detail::is_view_of<NewZeros, detail::any_element>(Scales::rank, Scales::rank);
    static_assert(good, "with_zero_points takes a view with as many axes as the scales");
    if constexpr (good)
      return scale_set<G, Scales, NewZeros>{scales, group, z};
    else
      return detail::wrong_scales{};
  }
};

namespace detail {
template <granularity G, class V, bool Good>
constexpr auto make_scale_set([[maybe_unused]] const V& scales, [[maybe_unused]] index_t group = 0) {
  if constexpr (Good)
    return scale_set<G, V>{scales, group};
  else
    return wrong_scales{};
}
}  // namespace detail

template <class V>
constexpr auto per_tensor_scale(const V& one) {
  constexpr bool good = detail::is_view_of<V, detail::any_element>(1, 1);
  static_assert(good, "the scale of a tensor needs to be a vector (a view of rank 1) of one float");
  return detail::make_scale_set<granularity::tensor, V, good>(one);
}
template <class V>
constexpr auto per_row_scales(const V& scales) {
  constexpr bool good = detail::is_view_of<V, detail::any_element>(1, 1);
  static_assert(good, "the scales of rows need to be a vector (a view of rank 1) of float");
  return detail::make_scale_set<granularity::row, V, good>(scales);
}
template <class V>
constexpr auto per_column_scales(const V& scales) {
  constexpr bool good = detail::is_view_of<V, detail::any_element>(1, 1);
  static_assert(good, "the scales of columns need to be a vector (a view of rank 1) of float");
  return detail::make_scale_set<granularity::column, V, good>(scales);
}
/// One scale for each run of `group` elements along axis `Axis`; the last run may be shorter.
template <int Axis, class V>
constexpr auto per_group_scales(const V& scales, index_t group) {
  constexpr bool axis = Axis == 0 || Axis == 1, good = detail::is_view_of<V, detail::any_element>(2, 2);
  static_assert(axis, "groups run along axis 0 or axis 1");
  static_assert(!axis || good, "the scales of groups need to be a matrix (a view of rank 2) of float");
  constexpr granularity along = Axis == 0 ? granularity::group_0 : granularity::group_1;
  return detail::make_scale_set<along, V, axis && good>(scales, group);
}

/// Payload T is int8, uint8, e4m3, e5m2 or int4x2 (two elements along the unit axis, the lower index in the low
/// nibble).
template <class T, class Space, int Unit, class Set>
struct quantised_view {
  using payload_type = T;
  using space = Space;
  static constexpr int rank = 2;
  static constexpr int unit_axis = Unit;
  static constexpr granularity served = Set::served;
  static constexpr bool affine = Set::affine;
  static constexpr bool packed = std::is_same_v<std::remove_const_t<T>, int4x2>;

  tensor<T, 2, Space, Unit> data;
  Set set;
  index_t extents[2] = {};  ///< in elements, also where two share a byte

  KILN_FN constexpr index_t extent(int axis) const { return extents[axis]; }
  KILN_FN constexpr const tensor<T, 2, Space, Unit>& payload() const { return data; }
  /// A vector, or a matrix for groups: what an epilogue's per_row or per_column takes.
  KILN_FN constexpr const auto& scales() const { return set.scales; }
  KILN_FN constexpr const auto& zero_points() const requires affine { return set.zeros; }
  KILN_FN constexpr index_t group() const { return set.group; }

  /// The stored number, an int for integers and a float for fp8.
  KILN_FN constexpr auto stored(index_t i, index_t j) const {
    if constexpr (packed) {
      const int4x2 both = Unit == 0 ? data(i / 2, j) : data(i, j / 2);
      return (Unit == 0 ? i : j) % 2 == 0 ? both.lo() : both.hi();
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<int>(data(i, j));
    } else {
      return static_cast<float>(data(i, j));
    }
  }
  /// The number it stands for.
  KILN_FN constexpr float operator()(index_t i, index_t j) const {
    return set.scale(i, j) * (static_cast<float>(stored(i, j)) - set.zero(i, j));
  }
};

template <class T>
inline constexpr bool is_quantised_v = false;
template <class T, class Space, int Unit, class Set>
inline constexpr bool is_quantised_v<quantised_view<T, Space, Unit, Set>> = true;

/// One byte an element.
template <class T, class Space, int Unit, granularity G, class Scales, class Zeros>
constexpr auto quantised(const tensor<T, 2, Space, Unit>& payload, const scale_set<G, Scales, Zeros>& set) {
  using plain = std::remove_const_t<T>;
  static_assert(
      std::is_same_v<plain, std::int8_t> || std::is_same_v<plain, std::uint8_t> || std::is_same_v<plain, e4m3> ||
          std::is_same_v<plain, e5m2>,
      "quantised: the payload needs to be int8, uint8, e4m3 or e5m2; for int4x2 call quantised_int4, which takes the "
      "number of elements");
  static_assert(std::is_same_v<typename Scales::space, Space>,
                "quantised: payload and scales need to lie in the same memory");
  return quantised_view<T, Space, Unit, scale_set<G, Scales, Zeros>>{
      payload, set, {payload.extents[0], payload.extents[1]}};
}

/// Two elements a byte along the payload's unit axis, which has `elements` of them (one more than twice the bytes less
/// one where that is odd).
template <class T, class Space, int Unit, granularity G, class Scales, class Zeros>
constexpr auto quantised_int4(const tensor<T, 2, Space, Unit>& payload, index_t elements,
                              const scale_set<G, Scales, Zeros>& set) {
  static_assert(std::is_same_v<std::remove_const_t<T>, int4x2>, "quantised_int4: the payload needs to be int4x2");
  static_assert(Unit != no_unit,
                "quantised_int4: the payload needs a unit axis, along which two elements share a byte");
  static_assert(std::is_same_v<typename Scales::space, Space>,
                "quantised_int4: payload and scales need to lie in the same memory");
  quantised_view<T, Space, Unit, scale_set<G, Scales, Zeros>> v{payload, set, {payload.extents[0], payload.extents[1]}};
  v.extents[Unit] = ceil_div<index_t>(elements, 2) == payload.extents[Unit] ? elements : -1;
  return v;
}

/// Axes swapped, of payload and scales together: what served a row now serves a column.
template <class T, class Space, int Unit, granularity G, class Scales, class Zeros>
constexpr auto transposed(const quantised_view<T, Space, Unit, scale_set<G, Scales, Zeros>>& v) {
  const auto flip = [](const auto& x) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, detail::no_zero_points>)
      return x;
    else if constexpr (detail::is_grouped(G))
      return transposed(x);
    else
      return x;
  };
  const auto payload = transposed(v.data);
  using set = scale_set<detail::transposed(G), decltype(flip(v.set.scales)), decltype(flip(v.set.zeros))>;
  return quantised_view<T, Space, std::remove_cvref_t<decltype(payload)>::unit_axis, set>{
      payload, set{flip(v.set.scales), v.set.group, flip(v.set.zeros)}, {v.extents[1], v.extents[0]}};
}

/// What is wrong with a quantised view, if anything: a negative extent, null data, or scales of another shape than the
/// payload asks for, or at an address that no scale can have. `name` is how the call names the operand.
template <class T, class Space, int Unit, class Set>
status check_quantised(const char* name, const quantised_view<T, Space, Unit, Set>& v) {
  for (int a = 0; a < 2; ++a)
    if (v.extents[a] < 0)
      return fail(errc::bad_shape, "operand `", name, "`: axis ", a, " has extent ", v.extents[a],
                  ", needs at least 0 (of int4 elements: twice the payload's bytes, or one less)");
  if (v.extents[0] == 0 || v.extents[1] == 0) return {};
  if (v.data.data == nullptr) return fail(errc::null_pointer, "operand `", name, "`: the payload is null");
  const auto look = [&](const char* what, const auto& s) -> status {
    using view = std::remove_cvref_t<decltype(s)>;
    index_t needed[2] = {1, 1};
    if constexpr (Set::served == granularity::row) needed[0] = v.extents[0];
    if constexpr (Set::served == granularity::column) needed[0] = v.extents[1];
    if constexpr (detail::is_grouped(Set::served)) {
      constexpr int axis = Set::served == granularity::group_0 ? 0 : 1;
      if (v.set.group < 1)
        return fail(errc::bad_option, "operand `", name, "`: groups of ", v.set.group, " elements, needs at least 1");
      needed[0] = v.extents[0], needed[1] = v.extents[1];
      needed[axis] = (needed[axis] - 1) / v.set.group + 1;  // no overflow where one group is larger than the axis
    }
    for (int a = 0; a < view::rank; ++a)
      if (s.extents[a] != needed[a])
        return fail(errc::bad_shape, "operand `", name, "`: axis ", a, " of its ", what, " has extent ", s.extents[a],
                    ", needs ", needed[a]);
    if (s.data == nullptr) return fail(errc::null_pointer, "operand `", name, "`: its ", what, " are null");
    constexpr std::uintptr_t unit = alignof(typename view::element);
    const std::uintptr_t off = reinterpret_cast<std::uintptr_t>(s.data) % unit;
    if (off != 0)
      return fail(errc::bad_alignment, "operand `", name, "`: its ", what, " are at an address that is ", off,
                  " bytes past a multiple of their element's ", unit, ", need such a multiple");
    return {};
  };
  KILN_TRY(look("scales", v.set.scales));
  if constexpr (Set::affine) KILN_TRY(look("zero points", v.set.zeros));
  return {};
}

}  // namespace kiln
