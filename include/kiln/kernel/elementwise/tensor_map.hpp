#pragma once
/// out(i) = f(in(i)...) over tensor views, as items.
#include <cstddef>
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
inline constexpr bool stores_as = std::is_convertible_v<From, To> || (is_numeric_v<From> && is_numeric_v<To>);

template <int R, class F, class Out, class... In>
struct tensor_map {
  static constexpr int operands = 1 + static_cast<int>(sizeof...(In));
  static constexpr int chunk = chunk_elements(smallest_of<Out, In...>(), largest_of<Out, In...>());

  item_plan plan{};
  loop_nest<R, operands> nest{};
  Out* out = nullptr;
  const void* in[operands] = {};  // one more than there are inputs: an array needs an element
  F f;

  KILN_HOST_CALLS KILN_FN void item(index_t number) const {
    plan.visit<chunk>(number, [&](auto count, index_t row, index_t at) {
      run<decltype(count)::value>(row, at, std::index_sequence_for<In...>{});
    });
  }

 private:
  template <int C, class T>
  struct held {
    T v[C];
  };

  template <int C, class T>
  KILN_FN held<C, T> load(int k, index_t row, index_t at) const {
    held<C, T> h;
    const index_t stride = nest.strides[k][R - 1];
    load_elements(static_cast<const T*>(in[k - 1]) + nest.offset(k, row) + at * stride, stride, h.v);
    return h;
  }

  KILN_HOST_CALLS template <int C, std::size_t... I>
  KILN_FN void run(index_t row, index_t at, std::index_sequence<I...>) const {
    apply<C>(row, at, load<C, In>(static_cast<int>(I) + 1, row, at)...);
  }

  KILN_HOST_CALLS template <int C>
  KILN_FN void apply(index_t row, index_t at, const held<C, In>&... values) const {
    Out results[C];
    KILN_UNROLL
    for (int i = 0; i < C; ++i) results[i] = detail::stored_as<Out>(f(static_cast<compute_t<In>>(values.v[i])...));
    const index_t stride = nest.strides[0][R - 1];
    store_elements(out + nest.offset(0, row) + at * stride, stride, results);
  }
};

template <class F, class Out, int R, class S, int U, class... In>
auto make_tensor_map(const F& f, const tensor<Out, R, S, U>& out, const In&... in) {
  using map = tensor_map<R, F, Out, typename In::value_type...>;
  map m{.f = f};
  m.out = out.data;
  const void* data[map::operands] = {out.data, in.data...};
  for (int k = 1; k < map::operands; ++k) m.in[k - 1] = data[k];
  index_t strides[map::operands][R];
  for (int a = 0; a < R; ++a) {
    const index_t all[] = {out.stride(a), in.stride(a)...};
    for (int k = 0; k < map::operands; ++k) strides[k][a] = all[k];
  }
  m.nest = make_nest<R, map::operands>(out.extents, strides);
  const int sizes[] = {static_cast<int>(sizeof(Out)), static_cast<int>(sizeof(typename In::value_type))...};
  m.plan = plan_items(m.nest, map::chunk == 1 ? -1 : aligned_head(m.nest, data, sizes, map::chunk), map::chunk);
  return m;
}

}  // namespace kiln::elementwise
