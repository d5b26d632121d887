#pragma once
/// Values with scales that are there already: numbers to codes and codes to numbers.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/cut.hpp>
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// One scale, and zero point, for a whole chunk.
template <bool Affine>
struct one_factor {
  static constexpr bool affine = Affine, one = true;
  float s = 1;
  std::int32_t z = 0;
  KILN_FN float scale(int) const { return s; }
  KILN_FN std::int32_t zero(int) const { return z; }
};
/// One for each element of a chunk.
template <class Z, int Width>
struct chunk_of_factors {
  static constexpr bool affine = !std::is_empty_v<Z>, one = false;
  chunk<float, Width> s;
  chunk<std::conditional_t<affine, Z, std::uint8_t>, Width> z;
  KILN_FN float scale(int i) const { return s[i]; }
  KILN_FN std::int32_t zero(int i) const { return static_cast<std::int32_t>(z[i]); }
};

/// Factors of whole runs.
template <class Z>
struct run_factors {
  static constexpr bool affine = !std::is_empty_v<Z>;
  place_of_run<const float> scales;
  place_of_run<const Z> zeros;

  struct lines {
    const float* scale;
    const Z* zero;
    KILN_FN auto first() const {
      one_factor<affine> f{*scale, 0};
      if constexpr (affine) f.z = static_cast<std::int32_t>(*zero);
      return f;
    }
  };
  KILN_FN lines at(const run_place& p) const { return {scales.at(p.row, p.group), zeros.at(p.row, p.group)}; }
  template <int Width, class First>
  KILN_FN static const First& chunk_at(const lines&, index_t, int, const First& first) {
    return first;
  }
  template <class F>
  void each_operand(F) const {}
};

/// Factors of columns; `group` rows share a line of them.
template <class Z>
struct column_factors {
  static constexpr bool affine = !std::is_empty_v<Z>;
  operand<const float> scales;
  operand<const Z> zeros;
  index_t group;

  struct nothing {};
  struct lines {
    line<const float> scale;
    line<const Z> zero;
    KILN_FN nothing first() const { return {}; }
  };
  KILN_FN lines at(const run_place& p) const {
    const index_t g = divided(p.row, group);
    if constexpr (affine)
      return {part_of(scales.at(g), p.start), part_of(zeros.at(g), p.start)};
    else
      return {part_of(scales.at(g), p.start), {}};
  }
  template <int Width>
  KILN_FN static chunk_of_factors<Z, Width> chunk_at(const lines& l, index_t c, int n, nothing) {
    chunk_of_factors<Z, Width> f;
    rows::load(l.scale, c, n, f.s);
    if constexpr (affine) rows::load(l.zero, c, n, f.z);
    return f;
  }
  template <class F>
  void each_operand(F f) const {
    f(scales);
    if constexpr (affine) f(zeros);
  }
};

/// y = step(x, factors).
template <class X, class Y, class Factors, class Step>
struct scaled_program {
  using held = X;
  using lead = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  static constexpr int phases = 1;
  struct lines {
    line<const X> x;
    line<Y> y;
    typename Factors::lines factors;
  };
  operand<const X> x;
  operand<Y> y;
  Factors factors;
  Step step;
  cut cuts;

  template <class F>
  void each_operand(F f) const {
    f(in_runs<const X>{x, cuts}), f(in_runs<Y>{y, cuts});
    factors.each_operand(f);
  }
  bool whole(index_t width) const { return cuts.whole(width); }
  KILN_FN index_t length_of(index_t r) const { return cuts.at(r).length; }
  KILN_FN lines at(index_t r) const {
    const run_place p = cuts.at(r);
    return {part_of(x.at(p.row), p.start), part_of(y.at(p.row), p.start), factors.at(p)};
  }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  template <class Row>
  KILN_FN void run(Row& one) const {
    const auto first = one.lines.factors.first();
    one.map([&](index_t c, int n, const chunk<X, Row::width>& kept) {
      store(one.lines.y, c, n, step(kept, Factors::template chunk_at<Row::width>(one.lines.factors, c, n, first)));
    });
  }
};

}  // namespace kiln::rows
