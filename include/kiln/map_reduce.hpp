#pragma once
/// Map-reduce over tensors and records, with the same bits in every run.
///
///     reduce(ex, x, sum, 0.0f, square{}, plus{});            // sum: a view of one float
///     reduce(ex, particles, energy, 0.0f, kinetic{}, plus{});  // map(particle)
///
/// Reductions along rows or columns are in kiln/reduce.hpp.
#include <cstddef>
#include <kiln/core/functor.hpp>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/fold.hpp>
#include <kiln/view/sound.hpp>
#include <type_traits>

namespace kiln {

namespace elementwise {

template <class View, class Map>
struct mapped;
template <class View, class Map>
requires is_tensor_v<View>
struct mapped<View, Map> {
  using type = std::invoke_result<const Map&, compute_t<typename View::value_type>>;
};
template <class View, class Map>
requires record_view<View>
struct mapped<View, Map> {
  using type = std::invoke_result<const Map&, const lane<View, 1>&>;
};
template <class View, class Map, class Op, class A>
concept folds_to = requires {
  typename mapped<View, Map>::type::type;
}
&&std::is_convertible_v<typename mapped<View, Map>::type::type, A>&& std::is_invocable_r_v<A, const Op&, A, A>;

/// Bytes of the blocks' results; none where one block does it all.
template <class A>
std::size_t partial_bytes(index_t blocks) {
  return blocks > 1 ? static_cast<std::size_t>(blocks) * sizeof(A) : 0;
}

template <class A>
struct own_partials {
  A* p = nullptr;
  own_partials() = default;
  own_partials(const own_partials&) = delete;
  own_partials& operator=(const own_partials&) = delete;
  ~own_partials() { delete[] p; }
};

template <class View>
double bytes_read(const View& v) {
  if constexpr (is_tensor_v<View>)
    return static_cast<double>(v.size()) * static_cast<double>(sizeof(typename View::value_type));
  else
    return static_cast<double>(v.count) * static_cast<double>(View::fields::useful_bytes);
}

}  // namespace elementwise

/// Bytes of scratch memory that `reduce` needs for this view and accumulator. The executor carries it, 256-byte
/// aligned.
template <class A, class View>
std::size_t reduce_workspace_size(const View& v) {
  if (!elementwise::check_view("", "", v)) return 0;
  return elementwise::partial_bytes<A>(elementwise::partials_of(elementwise::make_source(v).plan.items()));
}

/// result(0) = op(init, op over all elements of map(element)), in the accumulator type A, the type of `init`. op needs
/// to be associative and commutative up to rounding; map gets a float for narrow floats, an element for records. A view
/// without elements gives `init`.
///
/// Refused: a negative extent, null data, a result that is not one element or lies in the view (overlap), less scratch
/// memory than `reduce_workspace_size<A>(view)` bytes (workspace_too_small), or such memory that is not aligned to 256
/// bytes or lies in the view or the result (overlap).
template <executor Executor, class View, class Result, class A, class Map, class Op>
status reduce(const Executor& ex, const View& view, const Result& result, const A& init, const Map& map, const Op& op) {
  constexpr auto found = detail::first_fault<typename Executor::space>(detail::writes<Result, detail::any_element>(1));
  constexpr bool viewed = is_tensor_v<View> || record_view<View>, sound = found.operand != 0;
  static_assert(viewed, "reduce takes a tensor view or a view of records");
  static_assert(
      !viewed || sound,
      "reduce: the result, behind the view, needs to be a vector (a view of rank 1) of one element, not const");
  if constexpr (viewed && sound) {
    using Out = typename Result::element;
    using S = typename Result::space;
    constexpr bool here = elementwise::in_memory_of<Executor, View, Result>;
    static_assert(here,
                  "reduce: both views need to lie in the executor's memory: host_view for kiln::host, device_view for "
                  "kiln::device");
    constexpr bool simple = std::is_trivially_copyable_v<A> && std::is_default_constructible_v<A>;
    static_assert(simple, "reduce: init, the accumulator, needs to be trivially copyable and default constructible");
    constexpr bool runs = detail::is_functor_on<S, Map> && detail::is_functor_on<S, Op>;
    static_assert(runs,
                  "reduce: on the device map and op are structs whose operator() is marked KILN_FN, or __host__ "
                  "__device__ lambdas; other lambdas and pointers run on the host alone");
    constexpr bool folds = !runs || elementwise::folds_to<View, Map, Op, A>;
    static_assert(folds,
                  "reduce: map needs to take one element, op two accumulators, and both to return what converts to the "
                  "type of init");
    if constexpr (here && runs && folds && simple) {
      using namespace elementwise;
      KILN_TRY(elementwise::check_view("reduce", "the view", view));
      KILN_TRY(elementwise::check_view("reduce", "the result", result));
      if (result.extents[0] != 1)
        return fail(errc::bad_shape, "reduce: the result has ", result.extents[0], " elements, needs 1");
      if constexpr (is_tensor_v<View>)
        KILN_TRY(check_apart("reduce", "the result", plain(result), "the view", plain(view)));
      else
        KILN_TRY(check_outside("reduce", "the result", result, "the view", view));
      const auto source = make_source(view);
      const index_t blocks = max_of<index_t>(1, partials_of(source.plan.items()));
      const std::size_t needed = partial_bytes<A>(blocks);
      workspace scratch = ex.scratch;
      elementwise::own_partials<A> own;  // the host executor may allocate; the device's workspace is the caller's
      if constexpr (Executor::on_host) {
        if (needed > 0) own.p = new A[static_cast<std::size_t>(blocks)];
        scratch = {own.p, needed};
      }
      const std::size_t given = scratch.data == nullptr ? 0 : scratch.bytes;
      if (given < needed)
        return fail(errc::workspace_too_small, "reduce: the executor's workspace has ", given, " bytes, needs ", needed,
                    " (reduce_workspace_size)");
      if (!Executor::on_host && needed > 0 && !is_aligned(scratch.data, 256))
        return fail(errc::bad_alignment, "reduce: the executor's workspace is at an address that is ",
                    reinterpret_cast<std::uintptr_t>(scratch.data) % 256, " bytes past a multiple of 256, needs 0");
      if (!Executor::on_host && needed > 0) {
        const auto used = view_of_bytes<S>(scratch.data, needed);
        KILN_TRY(check_apart("reduce", "the executor's workspace", plain(used), "the result", plain(result)));
        if constexpr (is_tensor_v<View>)
          KILN_TRY(check_apart("reduce", "the executor's workspace", plain(used), "the view", plain(view)));
        else
          KILN_TRY(check_outside("reduce", "the executor's workspace", used, "the view", view));
      }

      A* const partials = needed > 0 ? static_cast<A*>(scratch.data) : nullptr;
      const auto to = detail::functor_on<Executor>(map);
      const auto join = detail::functor_on<Executor>(op);
      using map_type = std::remove_const_t<decltype(to)>;
      using op_type = std::remove_const_t<decltype(join)>;
      const fold<std::remove_const_t<decltype(source)>, A, Out, map_type, op_type> first{
          source, init, to, join, blocks, partials, result.data};
      const double bytes = bytes_read(view) + (blocks > 1 ? 0 : static_cast<double>(sizeof(Out)));
      KILN_TRY(run_tiles(ex, {.program = "reduce", .schedule = "blocks", .bytes = bytes}, first, blocks));
      if (blocks == 1) return {};

      const auto rest = make_source(tensor<const A, 1, S>{partials, {blocks}, {1}});
      const fold<std::remove_const_t<decltype(rest)>, A, Out, take_as_is, op_type> last{rest, init,    {},         join,
                                                                                        1,    nullptr, result.data};
      return run_tiles(ex, {.program = "reduce", .schedule = "last block", .bytes = static_cast<double>(needed)}, last,
                       1);
    } else {
      return {};
    }
  } else {
    return {};
  }
}
template <class Any = void>
status reduce(...) {
  static_assert(
      detail::never<Any>,
      "reduce takes (executor, view, result, init, map, op), as reduce(host, x, sum, 0.0f, square{}, plus{}); "
      "the executor is host or device(stream)");
  return {};
}

}  // namespace kiln
