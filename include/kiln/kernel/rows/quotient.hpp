#pragma once
/// Division by a scale that many values share.
#include <kiln/kernel/rows/math.hpp>

namespace kiln::rows {

/// x / scale as division rounds it, for quotients that are going to be codes: to 16-bit x (`Short`) and any positive
/// scale the same number in four instructions instead of a dozen and a branch. A product with the reciprocal is at
/// most 1.5 units in the last place off; one step of Markstein's (IBM Journal 34-1, 1990) makes it right for all 2^23
/// fractions of a scale and all those of f16 and bf16, which have been tried; a second one for those of float. Scales
/// far from one, and values with them, are moved by a power of two; quotients below 2^-20 may be off by more, but no
/// code can tell.
class quotient {
 public:
  KILN_FN explicit quotient(float scale) : scale_(scale) {
#if defined(__CUDA_ARCH__)
    move_ = scale < 0x1p-60f ? 0x1p100f : scale > 0x1p60f ? 0x1p-100f : 1.0f;
    divisor_ = scale * move_;
    inverse_ = 1.0f / divisor_;
    if (scale == infinity) divisor_ = 0;
#endif
  }
  /// `Bounded`: no quotient is above 2^20.
  template <bool Short, bool Bounded>
  KILN_FN float of(float x) const {
#if defined(__CUDA_ARCH__)
    x *= move_;
    const float near = x * inverse_;
    float q = fmaf(-fmaf(near, divisor_, -x), inverse_, near);
    if constexpr (!Short) q = fmaf(-fmaf(q, divisor_, -x), inverse_, q);
    return Bounded || magnitude(near) < 0x1p20f ? q : near;
#else
    return x / scale_;
#endif
  }

 private:
  float scale_;
  [[maybe_unused]] float move_ = 1, divisor_ = 1, inverse_ = 1;  // of the device
};

}  // namespace kiln::rows
