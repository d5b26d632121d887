#pragma once
/// The inner node of an expression: a pointwise operation on the values of other nodes.
#include <utility>

#include <kiln/core/bundle.hpp>
#include <kiln/core/functor.hpp>
#include <kiln/epilogue/leaves.hpp>

namespace kiln {

/// An operation Op has
///
///     template <class... V> using result = float or std::int32_t;   // given the operands' values' types
///     template <class... V> static constexpr mistake mistakes();    // what is wrong with such operands
///     template <class... V> KILN_FN result<V...> operator()(V... x) const;
///     template <class... V> static constexpr bool wants_coord;      // then `coord` follows the operands
///     template <class Space> static constexpr bool runs_in();
///     static constexpr int instructions;                            // about how many on the device; 1 by default
///
/// `pointwise` gives `wants_coord` and `runs_in`, for one that asks for no coordinates and runs everywhere.
struct pointwise {
  template <class... V>
  static constexpr mistake mistakes() {
    return mistake::none;
  }
  template <class... V>
  static constexpr bool wants_coord = false;
  template <class Space>
  static constexpr bool runs_in() {
    return true;
  }
};

namespace detail {

template <class Op>
inline constexpr int instructions_of = [] {
  if constexpr (requires { Op::instructions; }) return Op::instructions;
  else return 1;
}();

constexpr mistake first_of() { return mistake::none; }
template <class... More>
constexpr mistake first_of(mistake m, More... more) {
  return m != mistake::none ? m : first_of(more...);
}

}  // namespace detail

template <class Op, class... E>
struct operation : node {
  Op op;
  bundle<E...> operands;

  static constexpr int products = [] {
    int most = 0;
    ((most = E::products > most ? E::products : most), ...);
    return most;
  }();
  static constexpr int instructions = (detail::instructions_of<Op> + ... + E::instructions);
  template <class Space>
  static constexpr bool runs_in() {
    return Op::template runs_in<Space>() && (E::template runs_in<Space>() && ...);
  }
  template <class A>
  using value = typename Op::template result<typename E::template value<A>...>;
  template <class A>
  static constexpr mistake mistakes() {
    return detail::first_of(E::template mistakes<A>()..., Op::template mistakes<typename E::template value<A>...>());
  }

  template <int N, class A, int C>
  KILN_FN vec<value<A>, N> eval(const accumulators<A, C, N>& from, const place& at) const {
    return with_values<A>(from, at, operands);
  }

  template <int N>
  bool vectors() const {
    bool all = true;
    operands.each([&](const auto& e, auto) { all = all && e.template vectors<N>(); });
    return all;
  }
  status check(index_t batch, index_t m, index_t n, const char* where) const {
    status s;
    operands.each([&](const auto& e, auto) {
      if (s.ok()) static_cast<void>(s = e.check(batch, m, n, where));
    });
    return s;
  }
  template <class F>
  void each_tensor(F&& f) const {
    operands.each([&](const auto& e, auto) { e.each_tensor(f); });
  }

 private:
  // Evaluates the operands from left to right, then applies the operation to each of the N tuples of values.
  template <class A, int N, int C, class First, class Second, class... Rest, class... Done>
  KILN_FN vec<value<A>, N> with_values(const accumulators<A, C, N>& from, const place& at,
                                       const bundle<First, Second, Rest...>& todo, const Done&... done) const {
    return with_values<A>(from, at, todo.rest, done..., detail::eval<N>(todo.first, from, at));
  }
  template <class A, int N, int C, class Last, class... Done>
  KILN_FN vec<value<A>, N> with_values(const accumulators<A, C, N>& from, const place& at, const bundle<Last>& todo,
                                       const Done&... done) const {
    return applied<A, N>(at, done..., detail::eval<N>(todo.first, from, at));
  }
  template <class A, int N, class... V>
  KILN_FN vec<value<A>, N> applied([[maybe_unused]] const place& at, const V&... values) const {
    vec<value<A>, N> r;
    KILN_UNROLL
    for (int i = 0; i < N; ++i) {
      if constexpr (Op::template wants_coord<typename E::template value<A>...>)
        r[i] = static_cast<value<A>>(detail::call(op, values[i]..., coord{at.row, at.col + i}));
      else
        r[i] = static_cast<value<A>>(detail::call(op, values[i]...));
    }
    return r;
  }
};

namespace detail {

template <class Op, class... E>
constexpr operation<Op, E...> make_operation(const Op& op, const E&... e) {
  return {{}, op, bundle_of(e...)};
}

}  // namespace detail

/// `op(x...)` as a node, where at least one operand is a node and the others may be numbers.
template <class Op, class... X>
constexpr auto apply_op(const Op& op, const X&... x) {
  static_assert((is_operand_v<X> && ...),
                "an operand of an epilogue expression is a node or a number of at most 32 bits, unsigned ones of 16; "
                "tensors are read through elem(view), per_row(view), per_column(view) or per_tensor(view)");
  if constexpr ((is_operand_v<X> && ...)) return detail::make_operation(op, detail::as_node(x)...);
  else return constant_node<float>{};
}

namespace detail {

/// What stands for a function of an expression that got none, or not what goes with it. Each function has an overload
/// with an ellipsis that gives it, than which every other is better, std's and the user's, too. `Op` tells them apart,
/// for a compiler reports a type once.
template <class Op, class... Any>
struct no_function : constant_node<float> {
  static_assert(never<Op, Any...>,
                "a function of an epilogue takes an expression: gelu(acc), leaky_relu(acc, 0.1f), max(acc, 0), "
                "clamp(acc, 0, 6), round_to<std::int32_t>(acc), map(functor, acc), axpby(alpha, acc, beta, view); "
                "numbers take activation::gelu(x)");
};

/// A function of one value takes a view, too, so that `apply_op` says how tensors are read.
template <class X>
concept node_or_view = is_node_v<X> || is_tensor_v<X>;

}  // namespace detail

}  // namespace kiln
