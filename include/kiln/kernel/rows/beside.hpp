#pragma once
/// Operands that are read beside a row.
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>
#include <kiln/core/words.hpp>

namespace kiln::rows {

/// What is read beside a row, a weight for instance: `load(column, n, to)` fills a chunk's part. Where few chunks are
/// held it is loaded with them (`Early` chunks of each thread), so that it has arrived when the row is reduced; else in
/// each phase that uses it.
template <class Beside, class Load, class Scope, int Early>
struct companion {
  using type = Beside;
  static constexpr bool early = Early > 0, kept = false;
  Load load;
  fragments<Beside, (early ? Early : 1), Scope> loaded;
};

/// Copies a part of a chunk to shared memory, to places that this thread alone reads: nobody waits for others, and no
/// register for the bytes. What it has read there before may be overwritten: its reads are in order.
template <int Bytes>
KILN_FN void copy_later([[maybe_unused]] void* to, [[maybe_unused]] const void* from) {
#if defined(__CUDA_ARCH__)
  constexpr int piece = kiln::detail::access_bytes(Bytes);
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  KILN_UNROLL
  for (int b = 0; b < Bytes; b += piece)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at + b), "l"(static_cast<const char*>(from) + b),
                 "n"(piece)
                 : "memory");
#endif
}
KILN_FN void end_group_of_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// All groups but the last `Later` have arrived.
template <int Later>
KILN_FN void wait_for_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
#endif
}

/// What lies beside the rows that a block takes one after another, in its shared memory: the lines of `load` are there.
/// `Later` groups of copies began after its own.
template <class Beside, class Load, int Later>
struct kept_companion {
  using type = Beside;
  static constexpr bool early = false, kept = true;
  Load load;
  KILN_FN void wait() const { wait_for_copies<Later>(); }
};

/// Beside other rows lies nothing.
struct no_companion {
  struct type {};
  static constexpr bool early = false, kept = false;
  KILN_FN static void load(index_t, int, type&) {}
};

}  // namespace kiln::rows
