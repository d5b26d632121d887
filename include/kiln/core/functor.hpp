#pragma once
/// Functors of the user's, as kernels call them.
///
/// The library's own functions run on both executors, so nvcc lets them call what the host alone has, and where such a
/// call reaches the device it leaves it out, and what depends on it, without a word. A function of the device alone
/// makes an error of it.
#include <kiln/core/executor.hpp>
#include <kiln/core/macros.hpp>
#include <string_view>
#include <type_traits>

namespace kiln::detail {

/// A lambda marked `__device__` alone, under --extended-lambda: the host knows neither its call operator nor its
/// result.
template <class F>
inline constexpr bool is_device_lambda_v =
#if defined(__CUDACC__)
    __nv_is_extended_device_lambda_closure_type(F);
#else
    false;
#endif

/// A lambda that is not marked for the device, which nvcc takes for no kernel, nor for a function of both. That a type
/// is a lambda's is told by its name alone, as nvcc's front end spells it.
template <class F>
constexpr bool is_plain_lambda() {
#if defined(__CUDACC__)
  if constexpr (!is_device_lambda_v<F> && !__nv_is_extended_host_device_lambda_closure_type(F))
    return std::string_view(__PRETTY_FUNCTION__).find("F = lambda [") != std::string_view::npos;
#endif
  return false;
}

#if defined(__CUDACC__)
/// nvcc's message about a functor that is not marked has this function's name.
template <class F, class... X>
KILN_DEVICE decltype(auto) functor_must_be_marked_KILN_FN(const F& f, X&&... x) {
  return f(static_cast<X&&>(x)...);
}

#endif

/// f(x...), of a functor that may not be marked.
template <class F, class... X>
KILN_FN decltype(auto) call(const F& f, X&&... x) {
#if defined(__CUDA_ARCH__)
  return functor_must_be_marked_KILN_FN(f, static_cast<X&&>(x)...);
#else
  return f(static_cast<X&&>(x)...);
#endif
}

#if defined(__CUDACC__)
template <class F>
struct functor_on_device {
  F f;
  template <class... X>
    requires std::is_invocable_v<const F&, X...>
  KILN_FN std::invoke_result_t<const F&, X...> operator()(X&&... x) const {
    return call(f, static_cast<X&&>(x)...);
  }
};
#endif

/// The functor as kernels on this executor call it.
template <class Executor, class F>
auto functor_on(const F& f) {
#if defined(__CUDACC__)
  if constexpr (!Executor::on_host) return functor_on_device<F>{f};
  else return f;
#else
  return f;
#endif
}

/// Whether calls that need to know what it returns can take the functor there; a pointer would call the host's code.
template <class Space, class F>
inline constexpr bool is_functor_on = std::is_same_v<Space, host_space>
                                          ? !is_device_lambda_v<F>
                                          : !std::is_pointer_v<F> && !std::is_function_v<F> &&
                                                !is_device_lambda_v<F> && !is_plain_lambda<F>();

}  // namespace kiln::detail
