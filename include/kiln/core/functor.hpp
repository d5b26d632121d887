#pragma once
/// Functors of the user's, as kernels call them.
///
/// The library's own functions run on both executors, so nvcc lets them call what the host alone has, and where such a
/// call reaches the device it leaves it out, and what depends on it, without a word. A function of the device alone
/// makes an error of it.
#include <kiln/core/executor.hpp>
#include <kiln/core/macros.hpp>
#include <type_traits>

namespace kiln::detail {

#if defined(__CUDACC__)
/// nvcc's message about a functor that is not marked has this function's name.
template <class F, class... X>
KILN_DEVICE decltype(auto) functor_must_be_marked_KILN_FN(const F& f, X&&... x) {
  return f(static_cast<X&&>(x)...);
}

template <class F>
struct functor_on_device {
  F f;
  template <class... X>
    requires std::is_invocable_v<const F&, X...>
  KILN_FN std::invoke_result_t<const F&, X...> operator()(X&&... x) const {
#if defined(__CUDA_ARCH__)
    return functor_must_be_marked_KILN_FN(f, static_cast<X&&>(x)...);
#else
    return f(static_cast<X&&>(x)...);
#endif
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

/// A pointer would call the host's code.
template <class Space, class F>
inline constexpr bool is_functor_on =
    std::is_same_v<Space, host_space> || (!std::is_pointer_v<F> && !std::is_function_v<F>);

}  // namespace kiln::detail
