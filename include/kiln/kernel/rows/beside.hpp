#pragma once
/// Operands that are read beside a row.
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>

namespace kiln::rows {

/// What is read beside a row, a weight for instance. Where few chunks are held (`Items` > 0) it is loaded with them, so
/// that it has arrived when the row is reduced; else it is loaded when it is used.
template <class Beside, class Load, class Scope, int Width, int Items>
struct companion {
  using type = Beside;
  Load load;
  fragments<Beside, (Items > 0 ? Items : 1), Scope> loaded;

  /// What lies beside the chunk at column c; `now` has room for it.
  KILN_HOST_CALLS KILN_FN const Beside& at(index_t c, int n, Beside& now) {
    if constexpr (Items > 0) {
      const int number = static_cast<int>(c) / Width;
      return loaded.of(number % Scope::threads)[number / Scope::threads];
    } else {
      load(c, n, now);
      return now;
    }
  }
};

}  // namespace kiln::rows
