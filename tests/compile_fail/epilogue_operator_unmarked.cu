// needs: cuda
// expect: functor_must_be_marked_KILN_FN
// An operator of one's own that is not marked was left out of the kernel without a word.
#include <kiln/epilogue/sinks.hpp>

struct doubled : kiln::pointwise {
  template <class... V>
  using result = float;
#ifdef KILN_FAIL
  float operator()(float x) const { return 2 * x; }
#else
  KILN_FN float operator()(float x) const { return 2 * x; }
#endif
};

template <class Sink>
__global__ void put(Sink sink) {
  kiln::accumulators<float, 1, 1> a{};
  sink.put(a, kiln::place{0, 0, 0, 1});
}

void launch(float* out) {
  put<<<1, 1>>>(kiln::store(kiln::device_view(out, 1, 1), kiln::apply_op(doubled{}, kiln::acc)));
}
