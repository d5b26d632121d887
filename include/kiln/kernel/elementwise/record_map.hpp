#pragma once
/// f(element...) over views of records: a thread holds V elements in registers, runs the functor on each, and writes
/// back the components that it wrote. Fields that the functor does not read are not loaded: the compiler drops those
/// loads.
#include <cstddef>
#include <kiln/kernel/elementwise/chunk.hpp>
#include <kiln/kernel/elementwise/coordinates.hpp>
#include <kiln/kernel/elementwise/items.hpp>
#include <kiln/view/aos.hpp>
#include <type_traits>
#include <utility>

namespace kiln::elementwise {

template <std::size_t Index, class Field, int V>
struct staged_leaf {
  typename field<Field>::type r[field<Field>::components][V];
  bool written[field<Field>::components] = {};
};
template <class Indices, int V, class... Fields>
struct staged_leaves;
template <std::size_t... Index, int V, class... Fields>
struct staged_leaves<std::index_sequence<Index...>, V, Fields...> : staged_leaf<Index, Fields, V>... {};

template <class View, int V>
struct staged_type;
template <template <class, class...> class View, class Space, class... Fields, int V>
struct staged_type<View<Space, Fields...>, V> {
  using type = staged_leaves<std::index_sequence_for<Fields...>, V, Fields...>;
};
/// A thread's copy of V elements of a view.
template <class View, int V>
using staged = typename staged_type<View, V>::type;

template <std::size_t Index, class Field, int V>
KILN_FN constexpr staged_leaf<Index, Field, V>& staged_field(staged_leaf<Index, Field, V>& s) {
  return s;
}

template <class View, int V, std::size_t Index>
KILN_FN void load_field(const View& view, index_t at, staged<View, V>& s) {
  using f = typename View::fields::template at<Index>;
  auto& leaf = staged_field<Index>(s);
  KILN_UNROLL
  for (int c = 0; c < f::components; ++c) {
    if constexpr (is_soa_v<View>) {
      load_chunk<V, typename f::type>(view.template at<Index>(at, c), leaf.r[c]);
    } else {
      KILN_UNROLL
      for (int i = 0; i < V; ++i) carry(leaf.r[c][i], *view.template at<Index>(at + i, c));
    }
  }
}

template <class View, int V, std::size_t Index>
KILN_FN void store_field(const View& view, index_t at, staged<View, V>& s) {
  using f = typename View::fields::template at<Index>;
  if constexpr (!f::is_const) {
    auto& leaf = staged_field<Index>(s);
    KILN_UNROLL
    for (int c = 0; c < f::components; ++c) {
      if (!leaf.written[c]) continue;
      if constexpr (is_soa_v<View>) {
        store_chunk<V, typename f::type>(view.template at<Index>(at, c), leaf.r[c]);
      } else {
        KILN_UNROLL
        for (int i = 0; i < V; ++i) carry(*view.template at<Index>(at + i, c), leaf.r[c][i]);
      }
    }
  }
}

template <class View, int V>
KILN_FN void load_staged(const View& view, index_t at, staged<View, V>& s) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) { (load_field<View, V, Index>(view, at, s), ...); }
  (typename View::fields::indices{});
}
template <class View, int V>
KILN_FN void store_staged(const View& view, index_t at, staged<View, V>& s) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) { (store_field<View, V, Index>(view, at, s), ...); }
  (typename View::fields::indices{});
}

/// An element in a thread's registers: what a functor of `transform` gets. `get` and structured bindings open it.
template <class View, int V>
struct lane {
  using fields = typename View::fields;
  staged<View, V>* held;
  int number;

  KILN_FN constexpr lane(staged<View, V>* in, int at) : held(in), number(at) {}
  lane(const lane&) = default;
  KILN_FN constexpr const lane& operator=(const lane& from) const {
    detail::assign_fields(*this, from);
    return *this;
  }
  KILN_FN constexpr lane& operator=(const lane& from) {
    detail::assign_fields(*this, from);
    return *this;
  }
  template <field_element E>
  KILN_FN constexpr const lane& operator=(const E& from) const {
    detail::assign_fields(*this, from);
    return *this;
  }
  friend KILN_FN constexpr void swap(lane a, lane b) { detail::swap_fields(a, b); }

  template <std::size_t Index>
  KILN_FN constexpr decltype(auto) field_number() const {
    auto& leaf = staged_field<Index>(*held);
    return detail::reference_to<fields, Index>(leaf.written, [&](int c) { return &leaf.r[c][number]; });
  }
};

/// Views by position, without std::tuple, whose functions device code cannot call.
template <std::size_t Index, class View>
struct view_leaf {
  View view;
};
template <class Indices, class... Views>
struct view_pack;
template <std::size_t... Index, class... Views>
struct view_pack<std::index_sequence<Index...>, Views...> : view_leaf<Index, Views>... {};
template <std::size_t Index, class View>
KILN_FN constexpr const View& view_number(const view_leaf<Index, View>& l) {
  return l.view;
}
template <std::size_t Index, class View, int V>
struct held_leaf {
  staged<View, V> held;
};
template <int V, class Indices, class... Views>
struct held_pack;
template <int V, std::size_t... Index, class... Views>
struct held_pack<V, std::index_sequence<Index...>, Views...> : held_leaf<Index, Views, V>... {};
template <std::size_t Index, class View, int V>
KILN_FN constexpr staged<View, V>& held_number(held_leaf<Index, View, V>& l) {
  return l.held;
}

/// Elements of a thread at once: 16 bytes of the smallest component, and no more than 256 bytes in all.
template <class... Views>
constexpr int record_chunk() {
  std::size_t smallest = 16, bytes = 0;
  ((smallest = is_soa_v<Views> && Views::fields::smallest < smallest ? Views::fields::smallest : smallest,
    bytes += Views::fields::useful_bytes),
   ...);
  const bool any_soa = (is_soa_v<Views> || ...);
  std::size_t v = any_soa ? 16 / smallest : 1;
  while ((v & (v - 1)) != 0) v &= v - 1;
  while (v > 1 && v * bytes > 256) v /= 2;
  return static_cast<int>(v);
}

template <class F, class... Views>
struct record_map {
  using indices = std::index_sequence_for<Views...>;
  static constexpr int chunk = record_chunk<Views...>();

  item_plan plan{};
  view_pack<indices, Views...> views;
  F f;

  KILN_HOST_CALLS KILN_FN void item(index_t number) const {
    plan.visit<chunk>(number, [&](auto count, index_t, index_t at) { run<decltype(count)::value>(at, indices{}); });
  }

 private:
  KILN_HOST_CALLS template <int C, std::size_t... Index>
  KILN_FN void run(index_t at, std::index_sequence<Index...>) const {
    held_pack<C, indices, Views...> held;
    (load_staged<Views, C>(view_number<Index>(views), at, held_number<Index>(held)), ...);
    KILN_UNROLL
    for (int i = 0; i < C; ++i) {
      if constexpr (sees_coordinates<F, 1, lane<Views, C>...>)
        f(lane<Views, C>{&held_number<Index>(held), i}..., coordinates<1>{{at + i}});
      else
        f(lane<Views, C>{&held_number<Index>(held), i}...);
    }
    (store_staged<Views, C>(view_number<Index>(views), at, held_number<Index>(held)), ...);
  }
};

/// Whether every array of the SoA view is aligned for chunks of V when `head` elements have been left out.
template <class View>
bool arrays_aligned(const View& view, index_t head, int v) {
  bool good = true;
  if constexpr (is_soa_v<View>) {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      const auto look = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
        using f = typename View::fields::template at<N>;
        for (int c = 0; c < f::components; ++c)
          good = good && is_aligned(view.template at<N>(head, c),
                                    access_bytes(sizeof(typename f::type) * static_cast<std::size_t>(v)));
      };
      (look(std::integral_constant<std::size_t, Index>{}), ...);
    }
    (typename View::fields::indices{});
  }
  return good;
}

template <class... Views>
item_plan plan_records(index_t n, int v, const Views&... views) {
  for (index_t head = 0; v > 1 && head < v && head + v <= n; ++head)
    if ((arrays_aligned(views, head, v) && ...)) return {1, n, v, head, (n - head) / v};
  return {1, n, v, 0, 0};
}

template <class F, class... Views>
auto make_record_map(const F& f, index_t n, const Views&... views) {
  record_map<F, Views...> m{
      .plan = plan_records(n, record_map<F, Views...>::chunk, views...), .views = {{views}...}, .f = f};
  return m;
}

}  // namespace kiln::elementwise

template <class View, int V>
struct std::tuple_size<kiln::elementwise::lane<View, V>> : std::integral_constant<std::size_t, View::fields::size> {};
template <std::size_t Index, class View, int V>
struct std::tuple_element<Index, kiln::elementwise::lane<View, V>> {
  using type = decltype(kiln::get<Index>(std::declval<const kiln::elementwise::lane<View, V>&>()));
};
