#pragma once
/// What the types of a quantising call have against them, told in one sentence before anything else is instantiated.
#include <kiln/kernel/rows/quantise.hpp>
#include <kiln/kernel/rows/sound.hpp>
#include <kiln/view/quantised.hpp>

namespace kiln::rows {

template <class T>
inline constexpr bool is_scale_set = false;
template <granularity G, class Scales, class Zeros>
inline constexpr bool is_scale_set<scale_set<G, Scales, Zeros>> = true;

enum class quantise_mistake {
  none,
  reported,  ///< by whoever made the scales
  set,
  codes,
  memory,
  scales,
  const_scales,
  zeros,
  zeros_of_floats,
  computed_zeros,
  zero_of_tensor,
  served,
  of_norm
};

/// One assertion for each mistake, on a plain value, so that the message is short.
template <quantise_mistake M>
struct sound_quantise {
  static constexpr bool value = M == quantise_mistake::none;  // first, for clang leaves the class at a failed assertion
  static_assert(M != quantise_mistake::set, "the scales need to be a set, such as per_row_scales(scales)");
  static_assert(M != quantise_mistake::codes, "codes are int8, uint8, e4m3 or e5m2");
  static_assert(M != quantise_mistake::memory,
                "the scales lie in another memory than the executor's: host takes host_view, device device_view");
  static_assert(M != quantise_mistake::scales, "the scales need to be a view of float: per_row_scales(view), ...");
  static_assert(M != quantise_mistake::const_scales,
                "quantise writes the scales and zero points; pass given(scales) to use scales that are there");
  static_assert(M != quantise_mistake::zeros, "zero points are int32, int8 or uint8");
  static_assert(M != quantise_mistake::zeros_of_floats,
                "zero points need codes of int8 or uint8: 8-bit floats are symmetric");
  static_assert(M != quantise_mistake::computed_zeros, "zero points that are computed are int32 or of the codes' type");
  static_assert(M != quantise_mistake::zero_of_tensor,
                "the zero point of a whole tensor is int32 where quantise computes it");
  static_assert(
      M != quantise_mistake::served,
      "make_scales: the scales serve what the ranges were seen of: per_row_scales of per_row_ranges, and so on");
  static_assert(M != quantise_mistake::of_norm,
                "a norm computes per_row_scales, or takes given per_row_scales or a given per_tensor_scale, without "
                "zero points");
};

/// `Written`: the set is an output. Nothing of a later line is looked at before the ones above it are sound.
template <class Space, class Q, class Set, bool Written>
constexpr quantise_mistake mistake_of_set() {
  using enum quantise_mistake;
  if constexpr (std::is_same_v<Set, kiln::detail::wrong_scales>) {
    return reported;
  } else if constexpr (!is_scale_set<Set>) {
    return set;
  } else {
    using view = decltype(Set::scales);
    if constexpr (!is_code<Q>)
      return codes;
    else if constexpr (!std::is_same_v<typename view::value_type, float>)
      return scales;
    else if constexpr (!std::is_same_v<typename view::space, Space>)
      return memory;
    else if constexpr (Written && std::is_const_v<typename view::element>)
      return const_scales;
    else if constexpr (Set::affine) {
      using zero_view = decltype(Set::zeros);
      using zero = typename zero_view::value_type;
      if constexpr (!std::is_integral_v<Q>)
        return zeros_of_floats;
      else if constexpr (!std::is_same_v<typename zero_view::space, Space>)
        return memory;
      else if constexpr (!std::is_same_v<zero, std::int32_t> && !std::is_same_v<zero, std::int8_t> &&
                         !std::is_same_v<zero, std::uint8_t>)
        return zeros;
      else if constexpr (Written && std::is_const_v<typename zero_view::element>)
        return const_scales;
      else if constexpr (Written && !std::is_same_v<zero, std::int32_t> && !std::is_same_v<zero, Q>)
        return computed_zeros;
      else
        return none;
    } else
      return none;
  }
}

using code_elements = elements_of<std::int8_t, std::uint8_t, e4m3, e5m2>;

/// Of a set of scales and the view of the codes that it goes with.
template <class Space, class Codes, class Set, bool Written>
constexpr quantise_mistake mistake_of_set_of() {
  using enum quantise_mistake;
  if constexpr (constexpr auto found = mistake_of_set<Space, typename Codes::value_type, Set, Written>(); found != none)
    return found;
  else if constexpr (Written && Set::affine && Set::served == granularity::tensor)
    return std::is_same_v<typename decltype(Set::zeros)::value_type, std::int32_t> ? none : zero_of_tensor;
  else
    return none;
}

}  // namespace kiln::rows
