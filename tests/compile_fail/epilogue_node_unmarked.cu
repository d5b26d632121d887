// needs: cuda
// expect: eval_must_be_marked_KILN_FN
#include <kiln/epilogue/sinks.hpp>

struct row_number : kiln::node {
  template <class A>
  using value = float;
#ifdef KILN_FAIL
  template <int N, class A, int C>
  kiln::vec<float, N> eval(const kiln::accumulators<A, C, N>&, const kiln::place& at) const {
#else
  template <int N, class A, int C>
  KILN_FN kiln::vec<float, N> eval(const kiln::accumulators<A, C, N>&, const kiln::place& at) const {
#endif
    kiln::vec<float, N> r;
    for (int i = 0; i < N; ++i) r[i] = static_cast<float>(at.row);
    return r;
  }
};

template <class Sink>
__global__ void put(Sink sink) {
  kiln::accumulators<float, 1, 1> a{};
  sink.put(a, kiln::place{0, 0, 0, 1});
}

void launch(float* out) {
  put<<<1, 1>>>(kiln::store(kiln::device_view(out, 1, 1), kiln::acc + row_number{}));
}
