// expect: gather: the input needs to be a view
// expect: gather: ids, behind the input, needs to be a view of int32 or int64
// expect: gather<axis> takes (executor, from, ids, to, flag), the last may be left out
// expect: scatter: the result needs to be a view of the input's rank, not const
// expect: embedding: ids needs to be a vector (a view of rank 1) of int32 or int64
// expect: check_ids: ids needs to be a host_view of int32 or int64
// expect: copy takes (executor, from, to), which are two views (host_view(...), device_view(...))
// expect: fill takes (executor, view, value)
// expect: concatenate<axis> takes (executor, in..., out), all of them views
// expect: concatenate: needs one input or more, and the result behind them
// expect: transform takes (executor, in..., out, functor), or (executor, records..., functor)
// expect: outputs takes tensor views
// expect: reduce: the result, behind the view, needs to be a vector (a view of rank 1) of one element, not const
// expect: reduce: both views need to lie in the executor's memory: host_view for kiln::host
// expect: reduce takes (executor, view, result, init, map, op)
// expect: store(view, expression): elements are f16, bf16, e4m3, e5m2, float, double, int32, int8 or uint8
// expect: keep_where takes a view of bool or uint8; a mask of numbers is passed as add_mask
#include <kiln/concatenate.hpp>
#include <kiln/copy.hpp>
#include <kiln/embedding.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/gather.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/softmax.hpp>
#include <kiln/transform.hpp>

using namespace kiln;

struct same {
  KILN_FN float operator()(float x) const { return x; }
};
struct add {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};
struct twice {
  KILN_FN auto operator()(float x) const { return bundle_of(x, x); }
};

int main() {
  float f[64] = {};
  const float fixed[16] = {};
  std::int32_t i[4] = {};
  std::int64_t wide[16] = {};
  const auto x = host_view(f, 4, 4), y = host_view(f + 16, 4, 4);
  const auto row = host_view(f, 4);
  const auto ids = host_view(i, 4);
  bool all = true;
  const auto run = [&](const status& s) { all = all && s.ok(); };
#ifdef KILN_FAIL
  run(gather<0>(host, f, ids, y));
  run(gather<0>(host, x, row, y));
  run(gather(host, x, ids, y));
  run(scatter<0>(host, y, ids, host_view(fixed, 4, 4)));
  run(embedding(host, x, ids, y));
  run(check_ids(i, 4));
  run(copy(x, y));
  run(fill(host, 0.0f, x));
  run(concatenate<0>(host, f, x));
  run(concatenate<1>(host, x));
  run(transform(x, y, same{}));
  run(transform(host, x, outputs(f, y), twice{}));
  run(reduce(host, x, host_view(fixed, 1), 0.0f, same{}, add{}));
  run(reduce(host, device_view(f, 6), host_view(f + 32, 1), 0.0f, same{}, add{}));
  run(reduce(host, x, host_view(f + 32, 1), 0.0f, same{}));
  store(host_view(wide, 4, 4), acc);
  keep_where(x);
#else
  run(gather<0>(host, x, ids, y));
  run(scatter<0>(host, host_view(fixed, 4, 4), host_view(wide, 4), y));
  run(embedding(host, ids, x, y));
  run(check_ids(ids, 4));
  run(copy(host, x, y));
  run(fill(host, x, 0.0f));
  run(concatenate<0>(host, host_view(fixed, 4, 4), y));
  run(transform(host, x, y, same{}));
  run(transform(host, x, outputs(host_view(f + 32, 4, 4), y), twice{}));
  // Every call brings slices along.
  run(reduce(host, slice(row, 0, 1, 4), host_view(f + 32, 1), 0.0f, same{}, add{}));
  static_cast<void>(store(host_view(f, 4, 4), acc));
#endif
  return all ? 0 : 1;
}
