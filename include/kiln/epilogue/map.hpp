#pragma once
/// Functors of one's own as nodes.
#include <kiln/core/functor.hpp>
#include <kiln/epilogue/operation.hpp>

namespace kiln {

namespace detail {

/// How a functor is called on Count floats: with them alone if it can be, else with the coordinates behind them.
template <class F, int Count, class... Floats>
struct functor_call : functor_call<F, Count - 1, float, Floats...> {};
template <class F, class... Floats>
requires(!is_device_lambda_v<F>) struct functor_call<F, 0, Floats...> {
  static constexpr bool plain = std::is_invocable_v<const F&, Floats...>;
  static constexpr bool with_coord =
      std::conjunction_v<std::bool_constant<!plain>, std::is_invocable<const F&, Floats..., coord>>;
  using type = typename std::conditional_t<
      plain, std::invoke_result<const F&, Floats...>,
      std::conditional_t<with_coord, std::invoke_result<const F&, Floats..., coord>, std::type_identity<void>>>::type;
};
template <class F, class... Floats>
requires is_device_lambda_v<F>
struct functor_call<F, 0, Floats...> {
  static constexpr bool plain = true, with_coord = false;
  using type = float;
};

template <class F>
struct functor_op {
  F f;

  template <class... V>
  using call = functor_call<F, sizeof...(V)>;
  template <class... V>
  static constexpr bool wants_coord = call<V...>::with_coord;
  template <class... V>
  using result = std::conditional_t<std::is_same_v<typename call<V...>::type, std::int32_t>, std::int32_t, float>;
  template <class... V>
  static constexpr mistake mistakes() {
    return is_plain_lambda<F>() || (!call<V...>::plain && !call<V...>::with_coord) ? mistake::functor_signature
           : std::is_convertible_v<typename call<V...>::type, float> ? mistake::none
                                                                     : mistake::functor_result;
  }
  template <class Space>
  static constexpr bool runs_in() {
    // A pointer would call the host's code.
    return std::is_same_v<Space, device_space> ? !std::is_pointer_v<F> : !is_device_lambda_v<F>;
  }

  // Floats, and perhaps coordinates behind them.
  template <class... X>
  KILN_FN auto operator()(X... x) const {
    return run(argument(x)...);
  }

 private:
  KILN_FN static float argument(float x) { return x; }
  KILN_FN static float argument(std::int32_t x) { return static_cast<float>(x); }
  KILN_FN static coord argument(coord x) { return x; }

  template <class... X>
  KILN_FN auto run(X... x) const {
    if constexpr (is_device_lambda_v<F>) {
#if defined(__CUDA_ARCH__)
      return static_cast<float>(f(x...));
#else
      return 0.0f;  // runs_in keeps it from the host
#endif
    } else if constexpr (std::is_invocable_v<const F&, X...>) {
      return kiln::detail::call(f, x...);
    } else {
      return 0.0f;  // `mistakes` tells
    }
  }
};

}  // namespace detail

/// f(x...), or f(x..., coord) if it takes the element's coordinates: f is called with floats and gives a float or an
/// int32. On both executors f is a functor at namespace scope whose public, const call operator is marked KILN_FN.
/// Where the file is compiled with --extended-lambda, it may be a `__device__` lambda (device alone) or a `__host__
/// __device__` one. Beside `using namespace std` and <map>, write kiln::map.
template <class F, class... X>
requires(!is_node_v<F> && (detail::node_or_view<X> || ...)) constexpr auto map(const F& f, const X&... x) {
  return apply_op(detail::functor_op<std::decay_t<F>>{f}, x...);
}
template <class... Any>
detail::no_function<coord, Any...> map(...);

}  // namespace kiln
