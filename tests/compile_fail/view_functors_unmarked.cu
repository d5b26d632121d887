// needs: cuda
// A functor that is not marked would be left out of the kernel, and with it all that the kernel reads and writes.
// expect: calling a __host__ function("doubled::operator ()(float) const") from a __device__ function("kiln::detail::functor_must_be_marked_KILN_FN
// expect: identifier "doubled::operator () const" is undefined in device code
// expect: calling a __host__ function("moved::operator ()(float,  ::kiln::coordinates<(int)1> ) const") from a __device__ function("kiln::detail::functor_must_be_marked_KILN_FN
// expect: identifier "moved::operator () const" is undefined in device code
// expect: calling a __host__ function("halved::operator ()(float) const") from a __device__ function("kiln::detail::functor_must_be_marked_KILN_FN
// expect: identifier "halved::operator () const" is undefined in device code
// expect: calling a __host__ function("squared::operator ()(float) const") from a __device__ function("kiln::detail::functor_must_be_marked_KILN_FN
// expect: identifier "squared::operator () const" is undefined in device code
#include <kiln/copy.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/transform.hpp>
#include <kiln/view/mapped.hpp>

#ifdef KILN_FAIL
#define MARK
#else
#define MARK KILN_FN
#endif
struct doubled {
  MARK float operator()(float x) const { return 2 * x; }
};
struct moved {
  MARK float operator()(float x, kiln::coordinates<1> at) const { return x + static_cast<float>(at[0]); }
};
struct halved {
  MARK float operator()(float x) const { return x / 2; }
};
struct squared {
  MARK float operator()(float x) const { return x * x; }
};
struct plus {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};

bool run(const float* x, float* y) {
  using namespace kiln;
  const device ex;
  const auto from = device_view(x, 64);
  const auto to = device_view(y, 64);
  return transform(ex, from, to, doubled{}).ok() && transform(ex, from, to, moved{}).ok() &&
         copy(ex, mapped(halved{}, from), to).ok() &&
         reduce(ex, from, device_view(y, 1), 0.0f, squared{}, plus{}).ok();
}
