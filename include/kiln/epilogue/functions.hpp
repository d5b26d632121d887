#pragma once
/// Activations as nodes, and functors of one's own.
#include <kiln/epilogue/arithmetic.hpp>

namespace kiln {

namespace detail {

/// Takes floats. An int32 value is refused, for it is not said where it should be rounded or scaled.
struct activation_op : pointwise {
  template <class... V>
  using result = float;
  template <class... V>
  static constexpr mistake mistakes() {
    return (std::is_same_v<V, float> && ...) ? mistake::none : mistake::integer_activation;
  }
};

struct relu_op : arithmetic {
  static constexpr const char* label = "relu";
  template <class V>
  KILN_FN V operator()(V x) const {
    return activation::relu(x);
  }
};
struct leaky_relu_op : activation_op {
  static constexpr const char* label = "leaky_relu";
  float slope;
  KILN_FN float operator()(float x) const { return activation::leaky_relu(x, slope); }
};
struct gelu_op : activation_op {
  static constexpr const char* label = "gelu";
  static constexpr int instructions = 12;
  KILN_FN float operator()(float x) const { return activation::gelu(x); }
};
struct gelu_tanh_op : activation_op {
  static constexpr const char* label = "gelu_tanh";
  static constexpr int instructions = 8;
  KILN_FN float operator()(float x) const { return activation::gelu_tanh(x); }
};
struct silu_op : activation_op {
  static constexpr const char* label = "silu";
  static constexpr int instructions = 6;
  KILN_FN float operator()(float x) const { return activation::silu(x); }
};
struct sigmoid_op : activation_op {
  static constexpr const char* label = "sigmoid";
  static constexpr int instructions = 4;
  KILN_FN float operator()(float x) const { return activation::sigmoid(x); }
};
struct tanh_op : activation_op {
  static constexpr const char* label = "tanh";
  static constexpr int instructions = 13;
  KILN_FN float operator()(float x) const { return activation::tanh(x); }
};

}  // namespace detail

/// max(x, 0); NaN stays NaN. Integers stay integers.
template <class X>
requires detail::node_or_view<X>
constexpr auto relu(const X& x) { return apply_op(detail::relu_op{}, x); }
/// x for x > 0, else slope * x.
template <class X>
requires detail::node_or_view<X>
constexpr auto leaky_relu(const X& x, float slope) { return apply_op(detail::leaky_relu_op{{}, slope}, x); }
/// x Phi(x), exact form (erf).
template <class X>
requires detail::node_or_view<X>
constexpr auto gelu(const X& x) { return apply_op(detail::gelu_op{}, x); }
/// The tanh form of gelu.
template <class X>
requires detail::node_or_view<X>
constexpr auto gelu_tanh(const X& x) { return apply_op(detail::gelu_tanh_op{}, x); }
/// x sigmoid(x).
template <class X>
requires detail::node_or_view<X>
constexpr auto silu(const X& x) { return apply_op(detail::silu_op{}, x); }
template <class X>
requires detail::node_or_view<X>
constexpr auto sigmoid(const X& x) { return apply_op(detail::sigmoid_op{}, x); }
template <class X>
requires detail::node_or_view<X>
constexpr auto tanh(const X& x) { return apply_op(detail::tanh_op{}, x); }

// Of what is no expression.
template <class... Any>
detail::no_function<detail::relu_op, Any...> relu(...);
template <class... Any>
detail::no_function<detail::leaky_relu_op, Any...> leaky_relu(...);
template <class... Any>
detail::no_function<detail::gelu_op, Any...> gelu(...);
template <class... Any>
detail::no_function<detail::gelu_tanh_op, Any...> gelu_tanh(...);
template <class... Any>
detail::no_function<detail::silu_op, Any...> silu(...);
template <class... Any>
detail::no_function<detail::sigmoid_op, Any...> sigmoid(...);
template <class... Any>
detail::no_function<detail::tanh_op, Any...> tanh(...);

}  // namespace kiln
