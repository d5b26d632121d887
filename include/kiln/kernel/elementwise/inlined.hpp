#pragma once
/// A functor over mapped views as one functor over the tensors that those read.
#include <kiln/core/bundle.hpp>
#include <kiln/core/functor.hpp>
#include <kiln/view/mapped.hpp>
#include <type_traits>
#include <utility>

namespace kiln::elementwise {

/// The value of a tensor's element: as it was read.
struct as_read {
  static constexpr int reads = 1;
  template <class X>
  KILN_FN constexpr X operator()(X x) const {
    return x;
  }
};

/// f of what each of `parts` makes of its share of the values, taken in order. With Located a last argument is handed
/// on to f alone.
template <bool Located, class F, class... Parts>
struct inlined {
  static constexpr int reads = (Parts::reads + ... + 0);
  F f;
  bundle<Parts...> parts;

  KILN_HOST_CALLS template <class... X>
    requires(sizeof...(X) == reads + (Located ? 1 : 0))
  KILN_FN constexpr auto operator()(X... x) const {
    return call(bundle_of(x...), std::make_integer_sequence<int, sizeof...(Parts)>{});
  }

 private:
  static constexpr int first_of(int part) {
    const int counts[] = {Parts::reads...};
    int n = 0;
    for (int p = 0; p < part; ++p) n += counts[p];
    return n;
  }
  KILN_HOST_CALLS template <class Values, int... P>
  KILN_FN constexpr auto call(const Values& values, std::integer_sequence<int, P...>) const {
    if constexpr (Located)
      return f(part<P>(values, std::make_integer_sequence<int, Parts::reads>{})..., detail::member<reads>(values));
    else
      return f(part<P>(values, std::make_integer_sequence<int, Parts::reads>{})...);
  }
  KILN_HOST_CALLS template <int P, class Values, int... K>
  KILN_FN constexpr auto part(const Values& values, std::integer_sequence<int, K...>) const {
    const auto x = detail::member<P>(parts)(detail::member<first_of(P) + K>(values)...);
    return static_cast<compute_t<std::remove_const_t<decltype(x)>>>(x);
  }
};

/// The functor of an input on the executor, and its tensors as a bundle.
template <class Executor, class T, int R, class S, int U>
as_read functor_of(const tensor<T, R, S, U>&) {
  return {};
}
template <class Executor, class F, class... Views>
auto functor_of(const mapped_view<F, Views...>& m) {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    const auto f = detail::functor_on<Executor>(m.f);
    return inlined<false, std::remove_const_t<decltype(f)>,
                   decltype(functor_of<Executor>(detail::member<K>(m.views)))...>{
        f, bundle_of(functor_of<Executor>(detail::member<K>(m.views))...)};
  }
  (std::make_integer_sequence<int, sizeof...(Views)>{});
}

/// Calls `take(tensor...)` with the tensors of all inputs in order.
template <class Take, class... Done>
auto with_tensors(const bundle<>&, const Take& take, const Done&... done) {
  return take(done...);
}
template <class First, class... Rest, class Take, class... Done>
auto with_tensors(const bundle<First, Rest...>& inputs, const Take& take, const Done&... done) {
  if constexpr (is_tensor_v<First>) {
    return with_tensors(inputs.rest, take, done..., inputs.first);
  } else {
    return with_tensors(
        inputs.first.views, [&](const auto&... mine) { return with_tensors(inputs.rest, take, mine...); }, done...);
  }
}

}  // namespace kiln::elementwise
