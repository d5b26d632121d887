#pragma once
/// alpha * x + beta * c, where beta = 0 does not read c.
#include <kiln/epilogue/arithmetic.hpp>

namespace kiln {

template <class Alpha, class X, class Beta, class View>
struct axpby_node : node {
  Alpha alpha;
  X x;
  Beta beta;
  element_node<View> c;

  static constexpr int products = X::products, instructions = X::instructions + 2;
  template <class Space>
  static constexpr bool runs_in() {
    return X::template runs_in<Space>() && element_node<View>::template runs_in<Space>();
  }
  template <class A>
  using value =
      detail::common_t<Alpha, typename X::template value<A>, Beta, typename element_node<View>::template value<A>>;
  template <class A>
  static constexpr mistake mistakes() {
    return X::template mistakes<A>();
  }

  template <int N, class A, int C>
  KILN_FN vec<value<A>, N> eval(const accumulators<A, C, N>& from, const place& at) const {
    const auto product = detail::eval<N>(x, from, at);
    vec<value<A>, N> r;
    KILN_UNROLL
    for (int i = 0; i < N; ++i) r[i] = detail::as<value<A>>(detail::times{}(alpha, product[i]));
    if (beta != Beta{}) {
      const auto old = c.template eval<N>(from, at);
      KILN_UNROLL
      for (int i = 0; i < N; ++i) r[i] = detail::plus{}(r[i], detail::as<value<A>>(detail::times{}(beta, old[i])));
    }
    return r;
  }

  template <int N>
  bool vectors() const {
    return x.template vectors<N>() && (beta == Beta{} || c.template vectors<N>());
  }
  status check(index_t batch, index_t m, index_t n, const char* where) const {
    KILN_TRY(x.check(batch, m, n, where));
    return beta != Beta{} ? c.check(batch, m, n, where, "c of axpby") : status{};
  }
  template <class F>
  void each_tensor(F&& f) const {
    x.each_tensor(f);
    if (beta != Beta{}) f(c.view, "c of axpby");
  }
};

/// alpha * x + beta * c with a view c as in `elem`. With beta = 0, c is neither read nor checked, and may be null or
/// NaN.
template <class Alpha, class X, class Beta, class V>
constexpr auto axpby(const Alpha& alpha, const X& x, const Beta& beta, const V& c) {
  constexpr bool scaled = is_scalar_v<Alpha> && is_scalar_v<Beta>, valued = is_node_v<X>, viewed = is_tensor_v<V>;
  static_assert(scaled, "axpby(alpha, x, beta, c): alpha and beta are numbers of at most 32 bits");
  static_assert(!scaled || valued, "axpby(alpha, x, beta, c): x is an expression, such as acc");
  static_assert(!scaled || !valued || viewed, "axpby(alpha, x, beta, c): c is a view of the result's shape");
  if constexpr (scaled && valued && viewed) {
    using a = decltype(detail::as_node(alpha).number);
    using b = decltype(detail::as_node(beta).number);
    const auto leaf = elem(c);
    return axpby_node<a, X, b, std::remove_const_t<decltype(leaf.view)>>{
        {}, detail::as_node(alpha).number, x, detail::as_node(beta).number, leaf};
  } else {
    return constant_node<float>{};
  }
}
template <class... Any>
detail::no_function<detail::times, detail::plus, Any...> axpby(...);

}  // namespace kiln
