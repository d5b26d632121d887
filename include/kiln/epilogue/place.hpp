#pragma once
/// What an epilogue expression is evaluated on: some neighbouring accumulators of one row, and where they lie.
#include <cstdint>
#include <type_traits>

#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/types.hpp>

namespace kiln {

/// N neighbouring columns of one row, from (row, col) on. The first `count` of them are inside the matrix, 1 <= count
/// <= N; nothing is read or written for the others, and their values mean nothing.
struct place {
  index_t batch, row, col;
  int count;
  /// The program vouches for vector accesses here: `vectors<N>()` of the sink holds and col is a multiple of N. Where
  /// this and `count` are compile-time constants, a kernel has neither tests nor a slow path; else addresses are
  /// tested.
  bool vectors = false;
};

/// The accumulators of one place: float or int32, of one product or of the two of `dual`.
template <class A, int Count, int N>
struct accumulators {
  static_assert(std::is_same_v<A, float> || std::is_same_v<A, std::int32_t>, "an accumulator is a float or an int32");
  vec<A, N> v[Count];
};

/// What can be wrong with the types of an expression. The sink reports it, so that the compiler's message is short.
enum class mistake { none, integer_activation, functor_signature, functor_result };

/// Base of every node of an expression. A node of one's own derives from it, adds
///
///     template <class A> using value = float or std::int32_t;   // its value's type, given the accumulators'
///     template <int N, class A, int C>
///     KILN_FN vec<value<A>, N> eval(const accumulators<A, C, N>&, const place&) const;
///
/// and, where the defaults below do not hold, members of the same names as these.
struct node {
  /// How many accumulators it needs: one more than the highest number used.
  static constexpr int products = 0;
  /// About how many instructions a value takes on the device, beside what is read.
  static constexpr int instructions = 0;
  /// Whether all it reads lies in `Space`, and all it calls runs there.
  template <class Space>
  static constexpr bool runs_in() {
    return true;
  }
  /// What is wrong with applying it to accumulators of type A.
  template <class A>
  static constexpr mistake mistakes() {
    return mistake::none;
  }
  /// Whether every view that it reads allows vector accesses of N elements at each column that is a multiple of N.
  template <int N>
  bool vectors() const {
    return true;
  }
  /// The views that it reads against the extents of the result. `where` names the sink.
  status check(index_t /*batch*/, index_t /*m*/, index_t /*n*/, const char* /*where*/) const { return {}; }
  /// Calls `f(view, name)` for each view that it reads. A view of rank 3 is read elementwise, so an output may equal
  /// it.
  template <class F>
  void each_tensor(F&&) const {}
};

namespace detail {
#if defined(__CUDACC__)
/// nvcc's message about a node that is not marked has this function's name (core/functor.hpp).
template <int N, class Node, class From>
KILN_DEVICE auto eval_must_be_marked_KILN_FN(const Node& node, const From& from, const place& at) {
  return node.template eval<N>(from, at);
}
#endif
/// The values of a node, whose `eval` may not be marked.
template <int N, class Node, class From>
KILN_FN auto eval(const Node& node, const From& from, const place& at) {
#if defined(__CUDA_ARCH__)
  return eval_must_be_marked_KILN_FN<N>(node, from, at);
#else
  return node.template eval<N>(from, at);
#endif
}
}  // namespace detail

template <class T>
inline constexpr bool is_node_v = std::is_base_of_v<node, std::remove_cvref_t<T>>;

/// A number that may stand in an expression: it becomes a node that holds an int32 or a float.
template <class T>
inline constexpr bool is_scalar_v = is_floating_v<std::remove_cvref_t<T>> ||
                                    (std::is_integral_v<std::remove_cvref_t<T>> &&
                                     (sizeof(std::remove_cvref_t<T>) < 4 ||
                                      (sizeof(std::remove_cvref_t<T>) == 4 &&
                                       std::is_signed_v<std::remove_cvref_t<T>>)));

template <class T>
inline constexpr bool is_operand_v = is_node_v<T> || is_scalar_v<T>;

}  // namespace kiln
