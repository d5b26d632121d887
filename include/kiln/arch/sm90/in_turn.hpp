#pragma once
/// Programmatic dependent launch: a kernel begins while the one before it in the stream ends, and waits for its turn.
/// A launch that may do so says so (`launch_shape::overlaps_previous`). On the host, and in code for GPUs before
/// Hopper, these do nothing.
/// Source: PTX ISA, "griddepcontrol"; CUDA Programming Guide, "Programmatic Dependent Launch".
#include <cstdint>
#include <kiln/core/macros.hpp>

namespace kiln::sm90 {

/// Waits until the kernels before this one have ended and what they wrote is seen. Before that nothing may be read or
/// written that another kernel may touch.
KILN_FN void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel of the stream begin, up to its own `wait_for_previous_kernel`.
KILN_FN void launch_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// First of all in a kernel. Of a grid with more threads than the GPU holds, the blocks that come last leave no room to
/// others, so that the next kernel's may follow as these end. To a smaller one they come when it has ended: earlier,
/// they gathered where its first blocks ended, and some multiprocessors had twice the work of others (sums of 1,024
/// columns took 1.3 times as long on an H200).
KILN_FN void begin_in_turn() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr unsigned threads_of_multiprocessor = 2048;
  unsigned multiprocessors;
  asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
  if (std::uint64_t{gridDim.x} * blockDim.x > multiprocessors * threads_of_multiprocessor) launch_dependents();
#endif
  wait_for_previous_kernel();
}

}  // namespace kiln::sm90
