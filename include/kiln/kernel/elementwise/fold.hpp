#pragma once
/// op(... op(map(x0), map(x1)) ...) in an order that depends on the shape alone: two runs give the same bits.
///
/// Block b takes the items of threads [256 b, 256 b + 256) and those a whole grid further; a thread folds its own items
/// in their order, a block its threads as a tree, and a second launch of one block the blocks' results in the same way.
#include <cstddef>
#include <kiln/kernel/elementwise/record_map.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/watched.hpp>
#include <type_traits>
#include <utility>

namespace kiln::elementwise {

/// Enough blocks to fill the largest GPUs, and few enough that one block folds what they leave.
inline constexpr index_t most_partials = 1024;
inline index_t partials_of(index_t items) { return min_of(tiles_of(items), most_partials); }

/// Elements of a tensor as items: chunks start at the first element of a run, whatever its alignment, so that the order
/// of a sum does not depend on the address.
template <int R, class T>
struct tensor_source {
  static constexpr int chunk = is_numeric_v<T> ? chunk_elements(sizeof(T), sizeof(T)) : 1;
  item_plan plan{};
  loop_nest<R, 1> nest{};
  const T* data = nullptr;
  bool aligned = false;

  KILN_HOST_CALLS template <class Take>
  KILN_FN void each(index_t number, Take&& take) const {
    plan.visit<chunk>(number, [&](auto count, index_t row, index_t at) {
      constexpr int C = decltype(count)::value;
      const index_t stride = nest.strides[0][R - 1];
      T v[C];
      const T* from = data + nest.offset(0, row) + at * stride;
      if (C > 1 && aligned) {
        load_chunk(from, v);
      } else {
        KILN_UNROLL
        for (int i = 0; i < C; ++i) v[i] = from[i * stride];
      }
      KILN_UNROLL
      for (int i = 0; i < C; ++i) take(static_cast<compute_t<T>>(v[i]));
    });
  }
};

template <class T, int R, class S, int U>
auto make_source(const tensor<T, R, S, U>& v) {
  using value = std::remove_const_t<T>;
  tensor_source<R, value> s{};
  if (v.empty()) return s;
  index_t strides[1][R];
  for (int a = 0; a < R; ++a) strides[0][a] = v.stride(a);
  s.nest = make_nest<R, 1>(v.extents, strides);
  s.data = v.data;
  s.plan = plan_items(s.nest, s.chunk > 1 ? 0 : -1, s.chunk);
  const void* const data[] = {v.data};
  const int sizes[] = {static_cast<int>(sizeof(T))};
  s.aligned = aligned_head(s.nest, data, sizes, s.chunk) == 0;
  return s;
}

template <class View>
struct record_source {
  static constexpr int chunk = record_chunk<View>();
  item_plan plan{};
  View view;
  bool aligned = false;

  KILN_HOST_CALLS template <class Take>
  KILN_FN void each(index_t number, Take&& take) const {
    plan.visit<chunk>(number, [&](auto count, index_t, index_t at) {
      constexpr int C = decltype(count)::value;
      if (C == 1 || aligned) {
        staged<View, C> held;
        load_staged<View, C>(view, at, held);
        KILN_UNROLL
        for (int i = 0; i < C; ++i) take(lane<View, C>{&held, i});
      } else {
        KILN_NO_UNROLL
        for (int i = 0; i < C; ++i) {
          staged<View, 1> held;
          load_staged<View, 1>(view, at + i, held);
          take(lane<View, 1>{&held, 0});
        }
      }
    });
  }
};

template <record_view View>
auto make_source(const View& v) {
  record_source<View> s{.view = v};
  s.plan = {1, v.count, s.chunk, 0, s.chunk > 1 ? v.count / s.chunk : 0};
  s.aligned = arrays_aligned(v, 0, s.chunk);
  return s;
}

struct take_as_is {
  template <class T>
  KILN_FN constexpr T operator()(T x) const {
    return x;
  }
};

/// One launch. With one block the result is op(init, all) and goes to `result`; otherwise each block leaves its part.
template <class Source, class A, class Out, class Map, class Op>
struct fold {
  struct shared {
    alignas(alignof(A) > 16 ? alignof(A) : 16) unsigned char bytes[sizeof(A) * elementwise_threads];
    KILN_FN A* values() { return reinterpret_cast<A*>(bytes); }
  };

  Source source;
  A init;
  Map map;
  Op op;
  index_t blocks = 0;
  A* partials = nullptr;
  Out* result = nullptr;

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void tile(Scope threads, shared& memory, index_t block) const {
    const index_t items = source.plan.items(), first = block * Scope::threads;
    A* const held = memory.values();
    const watch_of watch(threads);
    threads.each([&](int t) {
      bool any = false;
      A sum = init;
      for (index_t i = first + t; i < items; i += blocks * Scope::threads)
        source.each(i, [&](const auto& x) {
          const A y = static_cast<A>(map(x));
          sum = any ? static_cast<A>(op(sum, y)) : y;
          any = true;
        });
      held[t] = sum;
      watch.write(held + t, sizeof(A), t);
    });
    sync(threads);
    const int active = static_cast<int>(min_of<index_t>(Scope::threads, items - first));
    KILN_NO_UNROLL
    for (int step = Scope::threads / 2; step > 0; step /= 2) {
      threads.each([&](int t) {
        if (t >= step || t + step >= active) return;
        watch.read(held + t + step, sizeof(A), t);
        held[t] = static_cast<A>(op(held[t], held[t + step]));
        watch.write(held + t, sizeof(A), t);
      });
      sync(threads);
    }
    threads.each([&](int t) {
      if (t != 0) return;
      watch.read(held, sizeof(A), t);
      if (blocks > 1)
        partials[block] = held[0];
      else
        *result = detail::stored_as<Out>(active > 0 ? static_cast<A>(op(init, held[0])) : init);
    });
    sync(threads);
  }
};

}  // namespace kiln::elementwise
