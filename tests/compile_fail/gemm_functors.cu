// needs: cuda
// expect: map(f, x...): f cannot be called; it needs a public, const call operator that is marked KILN_FN
// expect: an epilogue reads a view in the wrong memory, or calls what does not run there
#include <cmath>
#include <kiln/gemm.hpp>

using namespace kiln;
float f[3][64 * 64];

/// Neither made of nothing nor assigned.
struct scaled {
  const float by;
  explicit scaled(float s) : by(s) {}
  KILN_FN float operator()(float x) const { return by * x; }
};

int main() {
  const auto a = device_view(f[0], 64, 64), b = device_view(f[1], 64, 64), d = device_view(f[2], 64, 64);
  const float s = 2;
#ifdef KILN_FAIL
  const auto made = kiln::map([s](float x) { return s * x; }, acc);
  const auto called = kiln::map(::expf, acc);
  return gemm(device{}, a, b, store(d, made)).ok() && gemm(device{}, a, b, store(d, called)).ok() ? 0 : 1;
#else
  return gemm(device{}, a, b, store(d, kiln::map(scaled(s), acc))).ok() ? 0 : 1;
#endif
}
