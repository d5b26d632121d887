#pragma once
/// What a plan says of itself: its kernel, the reason for it, what is fused, and the time that the machine's peaks
/// allow.
#include <cstdio>
#include <string>

#include <kiln/core/abi.hpp>
#include <kiln/core/architectures.hpp>
#include <kiln/core/status.hpp>
#include <kiln/epilogue/describe.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/kernel/gemm/kernel_facts.hpp>
#include <kiln/kernel/launch.hpp>

namespace kiln {

struct gemm_explanation {
  const char* schedule = "";   ///< "warp_specialized 128x256x64, 4 stages, cluster 2, sm90"; a literal's lifetime
  const char* fused = "";      ///< the epilogue, "gelu(acc + per_column) + elem"; a literal's lifetime
  std::string reason;          ///< why this kernel; of a plan that cannot run, what is wrong
  index_t tiles = 0;             ///< of D
  bool cut = false;            ///< some tiles are cut along K if the workspace allows it
  int cluster_split_k = 1;     ///< blocks of a cluster that have a tile together, each a part of K
  bool shifts = false;         ///< blocks take a few tiles each, and others follow (schedule/work_order.hpp)
  double bytes = 0;            ///< read plus written, each operand once
  double operations = 0;       ///< multiplications plus additions
  /// The larger of bytes over the memory's rate and operations over the units' rate; 0 on the host.
  double roofline_seconds = 0;
  double modelled_cycles = 0;

  /// One paragraph for people.
  std::string text() const {
    if (*schedule == '\0') return reason;
    char times[96];
    std::snprintf(times, sizeof times, "; %.3g GFLOP, %.3g MB, at the GPU's peaks %.1f us", operations * 1e-9,
                  bytes * 1e-6, roofline_seconds * 1e6);
    const char* how = cut ? ", some cut along K" : shifts ? ", in shifts" : "";
    char parts[64] = "";
    if (cluster_split_k > 1)
      std::snprintf(parts, sizeof parts, ", each of %d blocks along K", cluster_split_k);
    return detail::say({schedule, ", ", tiles, tiles == 1 ? " tile" : " tiles", how, parts, ": ", reason,
                        roofline_seconds > 0 ? times : ""});
  }
};

namespace detail {

/// Seconds at the peaks of the current GPU; 0 where there is none. Multiply-adds per cycle and multiprocessor are those
/// of the data sheets of compute capability 9.0 (2,048 of 16 bits) and 8.0 (1,024).
template <class Arguments>
double roofline_seconds([[maybe_unused]] double bytes, [[maybe_unused]] double operations) {
#if defined(__CUDACC__)
  if constexpr (std::is_same_v<typename decltype(Arguments::a)::space, device_space>) {
    const double clock = 1e3 * device_attribute(cudaDevAttrClockRate, 0);
    const double memory = 2e3 * device_attribute(cudaDevAttrMemoryClockRate, 0) *
                          device_attribute(cudaDevAttrGlobalMemoryBusWidth, 0) / 8;
    const double units = device_attribute(cudaDevAttrMultiProcessorCount, 0);
    const bool hopper = device_attribute(cudaDevAttrComputeCapabilityMajor, 0) >= 9;
    constexpr int bytes_of_a = static_cast<int>(sizeof(typename Arguments::a_type));
    const double per_cycle = bytes_of_a == 4 ? 128 : (hopper ? 2048 : 1024) * (2 / bytes_of_a);
    if (clock <= 0 || memory <= 0) return 0;
    return max_of(bytes / memory, operations / (2 * per_cycle * units * clock));
  }
#endif
  return 0;
}

template <class... Sinks>
constexpr const char* text_of_epilogue(const bundle<Sinks...>&) {
  return description<Sinks...>.text();
}

// In the namespace of the architectures, of which the reason may speak.
inline namespace KILN_ABI {

/// What keeps Hopper's kernel from being compiled for these views, if the GPU and the elements would suit it.
template <class Arguments>
const char* why_no_tensor_maps() {
  using a = typename Arguments::a_type;
  using b = typename Arguments::b_type;
  if (!hopper_pair<a, b> || architectures(900, 901) == 0) return "";
#if defined(__CUDACC__)
  if (device_attribute(cudaDevAttrComputeCapabilityMajor, 0) != 9) return "";
#endif
  if (Arguments::a_major == major::none) return "; warp_specialized is out, as the type of `a` names no stride of 1";
  if (Arguments::b_major == major::none) return "; warp_specialized is out, as the type of `b` names no stride of 1";
  if (sizeof(a) == 1 && (Arguments::a_major != major::k || Arguments::b_major != major::k))
    return "; warp_specialized is out, as 8-bit operands need rows of `a` and columns of `b` that run along K";
  return "";
}

template <class Arguments>
gemm_explanation explain(const kernel_facts& kernel, const Arguments& p, const tile_order& tiles,
                         const configuration_choice& choice, bool pinned, bool cut, const status& refused) {
  gemm_explanation e;
  e.schedule = kernel.name;
  e.fused = text_of_epilogue(p.sinks);
  e.tiles = static_cast<index_t>(tiles.count());
  e.cut = cut;
  e.modelled_cycles = choice.cycles;
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               batch = static_cast<double>(p.batch);
  e.operations = 2 * m * n * k * batch * Arguments::products;
  const auto times = [&](const auto& v) { return v.strides[0] == 0 ? 1.0 : batch; };
  e.bytes = times(p.a) * m * k * sizeof(typename Arguments::a_type);
  for (const auto& b : p.b) e.bytes += times(b) * n * k * sizeof(typename Arguments::b_type);
  p.sinks.each([&](const auto& sink, auto) {
    e.bytes += static_cast<double>(sink.view.size()) * sizeof(typename std::remove_cvref_t<decltype(sink)>::element);
    sink.expr.each_tensor([&](const auto& view, const char*) {
      double read = sizeof(typename std::remove_cvref_t<decltype(view)>::value_type);
      for (int a = 0; a < std::remove_cvref_t<decltype(view)>::rank; ++a)
        if (view.stride(a) != 0) read *= static_cast<double>(view.extent(a));
      e.bytes += read;
    });
  });
  e.roofline_seconds = roofline_seconds<Arguments>(e.bytes, e.operations);
  if (pinned) e.reason = "asked for";
  else if (!refused.ok() && !kernel.is_hopper)
    e.reason = say({"the faster warp_specialized kernel is out (", refused.message(), ")"});
  else if (std::is_same_v<typename decltype(Arguments::a)::space, host_space>) e.reason = "the kernel of the host";
  else e.reason = say({"fewest modelled cycles of the compiled kernels", why_no_tensor_maps<Arguments>()});
  return e;
}

}  // inline namespace KILN_ABI
}  // namespace detail
}  // namespace kiln
