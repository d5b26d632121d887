#pragma once
/// Where an element lies in its view, for functors that ask.
#include <kiln/core/types.hpp>
#include <kiln/kernel/elementwise/divisor.hpp>
#include <type_traits>

namespace kiln {

/// One number for each axis of the views; of a view of records, its element's number.
template <int Rank>
struct coordinates {
  index_t at[Rank];
  KILN_FN constexpr index_t operator[](int axis) const { return at[axis]; }
};

namespace elementwise {

/// Whether the functor takes an element's coordinates behind its values: only where it cannot be called without.
template <class F, int Rank, class... X>
inline constexpr bool sees_coordinates =
    !std::is_invocable_v<const F&, X...> && std::is_invocable_v<const F&, X..., coordinates<Rank>>;

/// From an element's number in row-major order to its coordinates.
template <int Rank, bool Used>
struct numbering {
  divisor by[Rank];
  explicit numbering(const index_t (&extents)[Rank]) {
    for (int a = 0; a < Rank; ++a) by[a] = divisor(extents[a]);
  }
  KILN_FN coordinates<Rank> of(index_t number) const {
    coordinates<Rank> c;
    KILN_UNROLL
    for (int a = Rank - 1; a > 0; --a) {
      const index_t q = by[a].of(number);
      c.at[a] = number - q * by[a].value();
      number = q;
    }
    c.at[0] = number;
    return c;
  }
};
template <int Rank>
struct numbering<Rank, false> {
  explicit numbering(const index_t (&)[Rank]) {}
};

}  // namespace elementwise
}  // namespace kiln
