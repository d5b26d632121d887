#pragma once
/// What a GEMM kernel is given: D = epilogue(A * B), A [batch, m, k], B [batch, k, n], one or two B over the same A.
#include <cstdint>
#include <kiln/core/bundle.hpp>
#include <kiln/schedule/tile_order.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/sound.hpp>
#include <type_traits>

namespace kiln {

/// Two B operands that meet the same A in one pass: `acc_<0>` and `acc_<1>` in the epilogue. Both have B's shape and
/// strides.
template <class B>
struct dual_operand {
  B first, second;
};
/// Types of elements that Hopper's products take.
template <class A, class B>
inline constexpr bool hopper_pair =
    (std::is_same_v<A, B> && (std::is_same_v<A, f16> || std::is_same_v<A, bf16> || std::is_same_v<A, std::int8_t>)) ||
    (is_fp8_v<A> && is_fp8_v<B>);

/// Stands for an operand whose types are wrong; the compiler has said how.
struct no_operand {};

namespace detail {
template <class A, class B>
constexpr bool are_views_alike() {
  if constexpr (is_tensor_v<A> && is_tensor_v<B>)
    return std::is_same_v<typename A::value_type, typename B::value_type> && A::rank == B::rank &&
           A::unit_axis == B::unit_axis && std::is_same_v<typename A::space, typename B::space>;
  return false;
}
}  // namespace detail

template <class First, class Second>
constexpr auto dual(const First& first, const Second& second) {
  constexpr bool alike = detail::are_views_alike<First, Second>();
  static_assert(alike, "dual(first, second): two tensor views of one element type, rank, memory and unit axis");
  if constexpr (alike)
    return dual_operand<tensor<const typename First::value_type, First::rank, typename First::space, First::unit_axis>>{
        first, second};
  else return no_operand{};
}
template <class... Any>
constexpr no_operand dual(...) {
  static_assert(detail::never<Any...>, "dual takes two views, as dual(b0, b1)");
  return {};
}

/// Which axis of an operand runs along memory.
enum class major { k, mn, none };

/// The accumulator's type: exact for integers, float for the rest.
template <class A, class B>
using accumulator_t = std::conditional_t<std::is_integral_v<A> && std::is_integral_v<B>, std::int32_t, float>;

template <class A, class B, int Products, class... Sinks>
struct gemm_arguments {
  using a_type = typename A::value_type;
  using b_type = typename B::value_type;
  using accumulator = accumulator_t<a_type, b_type>;
  static constexpr int products = Products;
  static constexpr int sink_count = sizeof...(Sinks);
  static_assert(sink_count <= 32, "gemm: an epilogue has at most 32 sinks");
  static constexpr bool any_reduction = (Sinks::reduces || ...);
  /// What messages call the second operand of product q.
  static constexpr const char* name_of_b(int q) { return Products == 1 ? "b" : q == 0 ? "b.first" : "b.second"; }
  static constexpr major a_major = A::unit_axis == 2 ? major::k : A::unit_axis == 1 ? major::mn : major::none;
  static constexpr major b_major = B::unit_axis == 1 ? major::k : B::unit_axis == 2 ? major::mn : major::none;

  A a;
  B b[Products];
  bundle<Sinks...> sinks;
  index_t m, n, k, batch;
  bool a_vectors, b_vectors;  ///< rows of 16-byte multiples: the loads may be vectors
  std::uint32_t vector_sinks;  ///< bit of each sink whose reads and writes may be vectors of eight
  /// For each reduction sink its partial results in the workspace, [part][batch * extent].
  void* partials[sink_count + 1];
};

}  // namespace kiln
