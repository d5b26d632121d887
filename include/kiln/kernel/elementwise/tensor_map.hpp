#pragma once
/// out(i)... = f(in(i)...) over tensor views, as items.
#include <cstddef>
#include <kiln/core/bundle.hpp>
#include <kiln/kernel/elementwise/coordinates.hpp>
#include <kiln/kernel/elementwise/nest.hpp>
#include <kiln/view/reference.hpp>
#include <kiln/view/tensor.hpp>
#include <type_traits>
#include <utility>

namespace kiln::elementwise {

template <class... T>
constexpr std::size_t smallest_of() {
  std::size_t s = 16;
  ((s = sizeof(T) < s ? sizeof(T) : s), ...);
  return s;
}
template <class... T>
constexpr std::size_t largest_of() {
  std::size_t s = 1;
  ((s = sizeof(T) > s ? sizeof(T) : s), ...);
  return s;
}

/// C elements of one operand, `stride` apart, as they are stored.
template <int C, class T>
KILN_FN void load_elements(const T* from, index_t stride, T (&to)[C]) {
  if (C > 1 && stride == 1) {
    load_chunk(from, to);
  } else {
    KILN_UNROLL
    for (int i = 0; i < C; ++i) to[i] = from[i * stride];
  }
}

template <int C, class T>
KILN_FN void store_elements(T* to, index_t stride, const T (&from)[C]) {
  if (C > 1 && stride == 1) {
    store_chunk(to, from);
  } else {
    KILN_UNROLL
    for (int i = 0; i < C; ++i) to[i * stride] = from[i];
  }
}

/// Whether a value of type From may be stored as To.
template <class From, class To>
inline constexpr bool stores_as = std::is_convertible_v<From, To> ||
                                  (is_convertible_number_v<From> && is_convertible_number_v<To>);

/// C values of one operand in a thread's registers.
template <int C, class T>
struct held {
  T v[C];
};

template <int R, class F, class Outs, class... In>
struct tensor_map;
/// Operands of the nest: the results, the inputs and, for a functor that sees coordinates, the elements' numbers in
/// row-major order, as if they lay in memory.
template <int R, class F, class... Out, class... In>
struct tensor_map<R, F, bundle<Out...>, In...> {
  static constexpr int results = sizeof...(Out), inputs = sizeof...(In);
  static constexpr bool located = sees_coordinates<F, R, compute_t<In>...>;
  static constexpr int operands = results + inputs + (located ? 1 : 0);
  static constexpr int chunk = chunk_elements(smallest_of<Out..., In...>(), largest_of<Out..., In...>());

  item_plan plan;
  loop_nest<R, operands> nest;
  numbering<R, located> where;
  bundle<Out*...> to;
  const void* in[inputs + 1];  // an array needs an element
  F f;

  KILN_HOST_CALLS KILN_FN void item(index_t number) const {
    plan.visit<chunk>(number, [&](auto count, index_t row, index_t at) {
      run<decltype(count)::value>(row, at, std::index_sequence_for<In...>{});
    });
  }

 private:
  template <int C, class T>
  KILN_FN held<C, T> load(int k, index_t row, index_t at) const {
    held<C, T> h;
    const index_t stride = nest.strides[results + k][R - 1];
    load_elements(static_cast<const T*>(in[k]) + nest.offset(results + k, row) + at * stride, stride, h.v);
    return h;
  }

  KILN_HOST_CALLS template <int C, std::size_t... Index>
  KILN_FN void run(index_t row, index_t at, std::index_sequence<Index...>) const {
    apply<C>(row, at, load<C, In>(static_cast<int>(Index), row, at)...);
  }

  KILN_HOST_CALLS template <int C>
  KILN_FN void apply(index_t row, index_t at, const held<C, In>&... values) const {
    bundle<held<C, Out>...> out;
    KILN_UNROLL
    for (int i = 0; i < C; ++i) {
      if constexpr (located) {
        constexpr int last = operands - 1;
        const index_t number = nest.offset(last, row) + (at + i) * nest.strides[last][R - 1];
        keep(out, i, f(static_cast<compute_t<In>>(values.v[i])..., where.of(number)));
      } else {
        keep(out, i, f(static_cast<compute_t<In>>(values.v[i])...));
      }
    }
    put<0>(out, to, row, at);
  }

  template <int C, class First, class... Rest, class X>
  KILN_FN static void keep(bundle<held<C, First>, Rest...>& out, int i, const X& x) {
    if constexpr (results == 1) {
      out.first.v[i] = detail::stored_as<First>(x);
    } else {
      out.first.v[i] = detail::stored_as<First>(x.first);
      if constexpr (sizeof...(Rest) > 0) keep(out.rest, i, x.rest);
    }
  }

  template <int K, int C, class First, class... Rest, class... Pointers>
  KILN_FN void put(const bundle<held<C, First>, Rest...>& out, const bundle<First*, Pointers...>& at_first, index_t row,
                   index_t at) const {
    const index_t stride = nest.strides[K][R - 1];
    store_elements(at_first.first + nest.offset(K, row) + at * stride, stride, out.first.v);
    if constexpr (sizeof...(Rest) > 0) put<K + 1>(out.rest, at_first.rest, row, at);
  }
};

/// The pointers of a bundle of views.
template <class First, class... Rest>
auto pointers_of(const bundle<First, Rest...>& views) {
  bundle<typename First::value_type*, typename Rest::value_type*...> p;
  p.first = views.first.data;
  if constexpr (sizeof...(Rest) > 0) p.rest = pointers_of(views.rest);
  return p;
}

/// `outs` is a bundle of views, all of the shape of the first.
template <class F, class First, class... Rest, class... In>
auto make_tensor_map(const F& f, const bundle<First, Rest...>& outs, const In&... in) {
  constexpr int R = First::rank;
  using map =
      tensor_map<R, F, bundle<typename First::value_type, typename Rest::value_type...>, typename In::value_type...>;
  const void* data[map::operands] = {};
  int sizes[map::operands] = {};  // an element's number is no memory: its size stays 0
  index_t strides[map::operands][R];
  const auto add = [&](int k, const auto& v) {
    data[k] = v.data, sizes[k] = static_cast<int>(sizeof(*v.data));
    for (int a = 0; a < R; ++a) strides[k][a] = v.stride(a);
  };
  outs.each([&](const auto& v, auto k) { add(k, v); });
  [[maybe_unused]] int k = map::results;
  (add(k++, in), ...);
  if constexpr (map::located) {
    index_t step = 1;
    for (int a = R - 1; a >= 0; --a) strides[map::operands - 1][a] = step, step *= outs.first.extents[a];
  }
  const auto nest = make_nest<R, map::operands>(outs.first.extents, strides);
  const item_plan plan =
      plan_items(nest, map::chunk == 1 ? -1 : aligned_head(nest, data, sizes, map::chunk), map::chunk);
  return map{plan, nest, numbering<R, map::located>(outs.first.extents), pointers_of(outs), {in.data..., nullptr}, f};
}

}  // namespace kiln::elementwise
