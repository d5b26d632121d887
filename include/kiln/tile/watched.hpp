#pragma once
/// Checked host runs of programs with plain shared memory: its blocks, and what the watch hears of their threads.
#include <kiln/arch/host/checked_block.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>

namespace kiln {

/// The watch of a checked host run, if there is one, asked once for all accesses of a scope. Nothing on the device.
template <class Where, int Threads>
class watch_of {
 public:
  KILN_HOST_CALLS KILN_FN explicit watch_of([[maybe_unused]] scope<Where, Threads> s) {
    if constexpr (host) to_ = twin::listener(), first_ = s.first;
  }
  /// Thread `t` of the scope reads `bytes` bytes from `p` on.
  KILN_HOST_CALLS KILN_FN void read([[maybe_unused]] const void* p, [[maybe_unused]] int bytes,
                                    [[maybe_unused]] int t) const {
    if constexpr (host)
      if (to_ != nullptr) to_->read(p, bytes, first_ + t, twin::proxy::generic);
  }
  KILN_HOST_CALLS KILN_FN void write([[maybe_unused]] const void* p, [[maybe_unused]] int bytes,
                                     [[maybe_unused]] int t) const {
    if constexpr (host)
      if (to_ != nullptr) to_->write(p, bytes, first_ + t, twin::proxy::generic);
  }

 private:
  static constexpr bool host = scope<Where, Threads>::host;
  twin::watcher* to_ = nullptr;
  int first_ = 0;
};

/// `run(shared, i)` for i in [0, blocks), one after another. A checked run gives each shared memory of its own, watches
/// it and ends at the first fault.
template <class Shared, int Threads, class Run>
status each_block_on_host(const host_executor& ex, index_t blocks, Run&& run) {
  if (ex.checked) {
    for (index_t i = 0; i < blocks; ++i) {
      twin::checked_block watched(sizeof(Shared), Threads);
      run(*reinterpret_cast<Shared*>(watched.shared()), i);
      KILN_TRY(watched.result());
    }
    return {};
  }
  Shared shared;
  for (index_t i = 0; i < blocks; ++i) run(shared, i);
  return {};
}

}  // namespace kiln
