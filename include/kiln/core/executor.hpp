#pragma once
/// Where work runs. Every public call takes an executor first; its type decides which code is compiled for the call.
#include <kiln/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

#include <kiln/core/abi.hpp>
#endif

namespace kiln {

/// Memory that the host reaches.
struct host_space {};
/// Memory that the device reaches: global memory, its own or mapped from the host. Not a block's shared memory.
struct device_space {};

/// Scratch memory of the caller, aligned to 256 bytes; never hidden. How many bytes a call needs say
/// `plan.workspace_size()`, `reduce_workspace_size` and `column_reduce_workspace_size`.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Which role the host driver runs next, and when asynchronous copies land.
enum class order { eager, late, random };

/// The CPU. Runs the same programs as the device, block after block, in the calling thread's time.
struct host_executor {
  using space = host_space;
  static constexpr bool on_host = true;

  order steps = order::eager;
  std::uint64_t seed = 0;       ///< for order::random
  bool checked = false;         ///< see with_checks
  workspace scratch{};

  constexpr host_executor with_order(order o, std::uint64_t s = 0) const {
    host_executor e = *this;
    e.steps = o, e.seed = s;
    return e;
  }
  /// Watches shared memory: races, missing fences, slots reused too early end the call with a report. Watched are
  /// `gemm`, `gemm_grouped`, `attention`, reductions and ranges of columns, `reduce`, transpositions, copies between
  /// structs and arrays, and what twin::run_roles runs. Other calls run as without: rows and elements have no shared
  /// memory on the host; draws from long rows and searches in histograms reach theirs unseen.
  constexpr host_executor with_checks(bool on = true) const {
    host_executor e = *this;
    e.checked = on;
    return e;
  }
};
inline constexpr host_executor host{};

#if defined(__CUDACC__)
// In the namespace of the architectures, and so in the name of every function that takes one: objects built for
// different architectures do not share the code that launches their kernels.
inline namespace KILN_ABI {

/// A CUDA stream of the current device, with scratch memory that the caller owns until the stream has passed the call.
struct device {
  using space = device_space;
  static constexpr bool on_host = false;

  constexpr device(cudaStream_t s = nullptr, workspace w = {})
      : stream(s), scratch(w) {}  // NOLINT: a stream is an executor

  cudaStream_t stream;
  workspace scratch;
};

}  // inline namespace KILN_ABI
#else
/// Tells a plain C++ compiler's user what the device asks for.
template <class Any = void>
struct device {
  static_assert(!std::same_as<Any, Any>, "kiln::device needs CUDA: compile this file with nvcc, as a .cu file");
  template <class... X>
  constexpr device(const X&...) {}
};
template <class... X>
device(const X&...) -> device<>;
#endif

template <class E>
concept executor = requires(const E& e) {
  typename E::space;
  { E::on_host } -> std::convertible_to<bool>;
  e.scratch;
};

}  // namespace kiln
