#pragma once
/// What the compiler is kept from knowing, since it would lie in registers: of a row that fills them, everything that
/// one phase may use again of the one before.
#include <kiln/core/bits.hpp>
#include <kiln/kernel/rows/access.hpp>

namespace kiln::rows {

/// Nothing that comes from t is worked out before this.
KILN_FN void hide([[maybe_unused]] int& t) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(t));
#endif
}

/// What a phase knows of a row would lie there as floats or differences as well, and spill. So the next one is told
/// that the chunks of thread t may have changed: by a number that is 0, which the hardware alone knows. For 16-bit
/// elements that is an instruction for two. So is t: columns, addresses and comparisons would wait in registers, too.
template <class T, int Width, int Items>
KILN_FN void forget([[maybe_unused]] chunk<T, Width> (&kept)[Items], [[maybe_unused]] int& t) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) * Items * Width >= 64) {
    constexpr int words = Width * static_cast<int>(sizeof(T)) / 4;
    unsigned nothing;
    asm volatile("{\n\t.reg .u32 s;\n\tmov.u32 s, %%smid;\n\tshr.u32 %0, s, 31;\n\t}" : "=r"(nothing));
    KILN_UNROLL
    for (int i = 0; i < Items; ++i) {
      auto w = bit_cast<chunk<std::uint32_t, words>>(kept[i]);
      KILN_UNROLL
      for (int v = 0; v < words; ++v) w[v] ^= nothing;
      kept[i] = bit_cast<chunk<T, Width>>(w);
    }
    t ^= static_cast<int>(nothing);
  }
#endif
}

}  // namespace kiln::rows
