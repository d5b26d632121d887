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
// expect: host_view and device_view take (pointer, extents...), whole numbers, or (pointer, {extents...}, {strides...}), lists or arrays of index_t of one length
// expect: host_view and device_view take (pointer, extents...), whole numbers, or (pointer, {extents...}, {strides...}), lists or arrays of index_t of one length
// expect: host_view and device_view take a pointer to the elements: void* does not say their type
// expect: pick leaves an axis out, and a view of rank 1 has no other: slice(v, 0, i, i + 1)
// expect: host_soa<fields...> and device_soa<fields...> take one pointer for each field, or {one for each of its components}, and then the number of elements
// expect: an array of a view of fields has the field's type, and is const only for a const field
// expect: slice of a view of fields takes (view, begin, end): it has one axis
// expect: slice of a view of fields takes (view, begin, end): it has one axis
// expect: a field of N components takes N pointers in braces: {x, y, z} for float[3]
#include <kiln/view/aos.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/soa.hpp>

struct mass {
  using type = float;
};
struct charge {
  using type = float;
};

struct position {
  using type = float[3];
};

int main() {
  using namespace kiln;
  float x[6] = {};
  const auto p = host_soa<mass>(x, 6);
  const auto q = host_soa<const mass>(x, 6);
  const int strides[] = {3, 1};
  const index_t pitches[] = {3, 1};
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
  (void)host_view(x, {2, 3}, {3});
  (void)host_view(x, pitches, strides);
  (void)host_view(static_cast<void*>(x), 2, 3);
  (void)pick<0>(host_view(x, 6), 1);
  (void)host_soa<mass, charge>(x, 6);
  (void)host_soa<charge>(strides, 2);
  (void)slice(p, 0, 1, 2);
  (void)slice(structs, 0, 1, 2);
  (void)host_soa<position>({x, x}, 2);
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
  (void)host_view(x, {2, 3}, {3, 1});
  (void)host_view(x, pitches, pitches);
  (void)pick<0>(host_view(x, 2, 3), 1);
  (void)host_soa<mass, charge>(x, x, 6);
  (void)host_soa<const charge>(std::as_const(x), 6);
  (void)strides;
  (void)slice(p, 1, 2);
  (void)slice(structs, 1, 2);
  (void)host_soa<position>({x, x + 2, x + 4}, 2);
#endif
}
