#pragma once
/// Ordinary stores into the shared memory of another block of the cluster; `cluster_sync` orders them, or
/// `hand_over_at` and `wait_for_blocks` (barrier.hpp).
/// Source: PTX ISA, "mapa", "st".
#include <kiln/arch/sm90/barrier.hpp>

namespace kiln::sm90 {

/// Thread `t` of the group stores at the place in block `cta` that `p` is in this one; 16 bytes, aligned to 16.
KILN_HOST_CALLS template <class Group, class Vec>
KILN_FN void store_at([[maybe_unused]] Group group, [[maybe_unused]] int t, Vec* p, int cta, const Vec& x) {
  static_assert(sizeof(Vec) == 16);
  if constexpr (Group::host) {
    auto* there = static_cast<Vec*>(twin::sm().in_cta(p, cta));
    twin::note_write(there, 16, group.first + t);
    *there = x;
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto w = bit_cast<vec<std::uint32_t, 4>>(x);
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "st.shared::cluster.v4.b32 [there], {%2, %3, %4, %5};\n"
        "}" ::"r"(shared_address(p)),
        "r"(cta), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
        : "memory");
#endif
  }
}

/// The place in block `cta` of the cluster that `p` is in this one, for loads and stores of any kind.
KILN_HOST_CALLS template <class Where, int Threads, class T>
KILN_FN T* in_block(scope<Where, Threads>, T* p, [[maybe_unused]] int cta) {
  if constexpr (scope<Where, Threads>::host) {
    return static_cast<T*>(twin::sm().in_cta(p, cta));
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mapa.u64 %0, %1, %2;" : "=l"(p) : "l"(p), "r"(cta));
#endif
    return p;
  }
}

}  // namespace kiln::sm90
