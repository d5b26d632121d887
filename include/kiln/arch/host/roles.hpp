#pragma once
/// Runs the roles of one cluster on the host, one at a time, in an order that may be chosen to be unkind.
///
///     return twin::run_roles(ex, {.ctas = 2, .threads = 384, .shared_bytes = sizeof(storage)},
///                            [&](twin::block b) { init barriers of b.as<storage>() },
///                            twin::role("loader", 0, 128, [&](twin::block b) { ... }),
///                            twin::role("consumer 0", 128, 128, [&](twin::block b) { ... }));
///
/// A role is an ordinary function with waits in it. Each role of each block has a host thread of its own, of which
/// exactly one holds the turn; it passes the turn on at a wait whose guard (a barrier and its phase) is closed, and may
/// do so at any instruction of arch/sm90. So a run is deterministic, can be stepped in a debugger, and sanitizers find
/// nothing to say.
///
/// | order  | who runs                                                     | copies land                      |
/// |--------|--------------------------------------------------------------|----------------------------------|
/// | eager  | whoever runs goes on until it has to wait                     | at once                          |
/// | late   | first and last roles are preferred by turns                  | when no role can go on without   |
/// | random | any that can, by the executor's seed                         | at any time, also in two parts   |
///
/// Light: the driver itself is driver.hpp, which a translation unit that runs roles on the host includes too.
#include <cstddef>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>

namespace kiln::twin {

struct cluster_shape {
  int ctas = 1;
  int threads = 128;  ///< of one block
  std::size_t shared_bytes = 0;
};

/// A block of the cluster, as its roles see it. Shared memory is aligned to 1024 bytes and starts as NaN.
struct block {
  int cta, ctas;
  std::byte* shared;
  template <class T>
  T& as() const {
    return *reinterpret_cast<T*>(shared);
  }
};

/// Threads [first, first + threads) of each block run `body(block)`.
template <class F>
struct role {
  role(const char* role_name, int first_thread, int thread_count, F f)
      : name(role_name), first(first_thread), threads(thread_count), body(f) {}
  const char* name;
  int first, threads;
  F body;
};

/// A role, or the setup, with its type erased.
struct role_entry {
  const char* name;
  int first, threads;
  const void* f;
  void (*call)(const void* f, block b);
};
/// Defined in driver.hpp; a template, so that its absence shows where roles are run, in a sentence.
template <class Caller>
struct cluster_runner;
template <class Caller>
concept host_driver_included = requires { sizeof(cluster_runner<Caller>); };

/// Runs `setup(block)` for each block of one cluster, joins all their threads, then runs every role of every block to
/// its end. With `ex.checked` the first fault of shared memory is the status; deadlocks and broken barriers always are.
template <class Setup, class... Roles>
status run_roles(const host_executor& ex, cluster_shape shape, const Setup& setup, const Roles&... roles) {
  static_assert(host_driver_included<Setup>,
                "running warp_specialized on the host: #include <kiln/arch/host/driver.hpp> before the call");
  if constexpr (host_driver_included<Setup>) {
    const role_entry first{"setup", 0, shape.threads, &setup,
                           [](const void* f, block b) { (*static_cast<const Setup*>(f))(b); }};
    const role_entry all[] = {{roles.name, roles.first, roles.threads, &roles,
                               [](const void* f, block b) { static_cast<const Roles*>(f)->body(b); }}...};
    return cluster_runner<Setup>::run(ex, shape, first, all, static_cast<int>(sizeof...(Roles)));
  } else {
    return {};
  }
}

}  // namespace kiln::twin
