#pragma once
/// Operands that are read beside a row.
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>

namespace kiln::rows {

/// What is read beside a row, a weight for instance: `load(column, n, to)` fills a chunk's part. Where few chunks are
/// held it is loaded with them (`Early` chunks of each thread), so that it has arrived when the row is reduced; else in
/// each phase that uses it.
template <class Beside, class Load, class Scope, int Early>
struct companion {
  using type = Beside;
  static constexpr bool early = Early > 0;
  Load load;
  fragments<Beside, (early ? Early : 1), Scope> loaded;
};

/// Beside other rows lies nothing.
struct no_companion {
  struct type {};
  static constexpr bool early = false;
  KILN_FN static void load(index_t, int, type&) {}
};

}  // namespace kiln::rows
