// expect: get<Tag>(element): Tag needs to be one of the view's fields; a type that occurs twice is reached by number
// expect: select names a field that the view does not have once
// expect: select: a field that is const in the view stays const: select<const mass>(view)
// expect: column names a field that the view does not have once
// expect: select takes a view of arrays: host_soa<...>(...) or device_soa<...>(...)
// expect: column takes a view of arrays: host_soa<...>(...) or device_soa<...>(...)
// expect: zipped takes views of arrays in one memory
// expect: transposed swaps two axes: a view of rank 1 becomes a matrix with broadcast<axis>(v, 1)
// expect: slice takes (view, axis, begin, end)
// expect: host_view(pointer, extents...): extents are whole numbers
#include <kiln/view/aos.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/soa.hpp>

struct mass {
  using type = float;
};
struct charge {
  using type = float;
};

int main() {
  using namespace kiln;
  float x[6] = {};
  const auto p = host_soa<mass>(x, 6);
  const auto q = host_soa<const mass>(x, 6);
  const auto structs = host_aos<mass>(x, 6);
#ifdef KILN_FAIL
  get<charge>(p[0]);
  (void)select<charge>(p);
  (void)select<mass>(q);
  (void)column<charge>(p);
  (void)select<mass>(structs);
  (void)column<mass>(structs);
  (void)zipped(p, device_soa<charge>(x, 6));
  (void)transposed(host_view(x, 6));
  (void)slice(host_view(x, 2, 3), 0, 1);
  (void)host_view(x, 2.0, 3);
#else
  get<mass>(p[0]) = 1;
  (void)select<mass>(p);
  (void)select<const mass>(q);
  (void)column<mass>(p);
  (void)structs;
  (void)zipped(p, host_soa<charge>(x, 6));
  (void)transposed(broadcast<0>(host_view(x, 6), 1));
  (void)slice(host_view(x, 2, 3), 0, 0, 1);
  (void)host_view(x, 2, 3);
#endif
}
