#pragma once
/// Elements between a view and those places of another that a list of numbers names.
#include <cstdint>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/tensor_map.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/sound.hpp>
#include <string>
#include <type_traits>

namespace kiln::elementwise {

/// Views may have any number of axes.
inline constexpr int most_axes = 1 << 20;

/// Gather reads at the places, otherwise writes there. Operand 0 of the nest is the view without places; operand 1 the
/// one with them, in which the axis that they count along has stride 0; operand 2 the ids.
template <bool Gather, int R, class From, class To, class Id>
struct indexed_map {
  static constexpr int chunk = chunk_elements(smallest_of<From, To>(), largest_of<From, To>());

  item_plan plan{};
  loop_nest<R, 3> nest{};
  const From* from = nullptr;
  To* to = nullptr;
  const Id* ids = nullptr;
  index_t extent = 0, step = 0;  ///< of the axis
  std::int32_t* flag = nullptr;

  KILN_HOST_CALLS KILN_FN void item(index_t number) const {
    plan.visit<chunk>(number, [&](auto count, index_t row, index_t at) { run<decltype(count)::value>(row, at); });
  }

 private:
  template <int C>
  KILN_FN void run(index_t row, index_t at) const {
    const index_t steps[3] = {nest.strides[0][R - 1], nest.strides[1][R - 1], nest.strides[2][R - 1]};
    const index_t plain = nest.offset(0, row) + at * steps[0], listed = nest.offset(1, row) + at * steps[1];
    const Id* const id = ids + nest.offset(2, row) + at * steps[2];
    if (C == 1 || steps[2] == 0) {
      const index_t place = checked(*id);
      if constexpr (Gather)
        move<C>(place, listed + place * step, steps[1], plain, steps[0]);
      else
        move<C>(place, plain, steps[0], listed + place * step, steps[1]);
    } else if constexpr (Gather) {
      To results[C];
      KILN_UNROLL
      for (int i = 0; i < C; ++i) {
        const index_t place = checked(id[i * steps[2]]);
        results[i] = detail::stored_as<To>(place < 0 ? From{} : from[listed + i * steps[1] + place * step]);
      }
      store_elements(to + plain, steps[0], results);
    } else {
      From values[C];
      load_elements(from + plain, steps[0], values);
      KILN_UNROLL
      for (int i = 0; i < C; ++i) {
        const index_t place = checked(id[i * steps[2]]);
        if (place >= 0) to[listed + i * steps[1] + place * step] = detail::stored_as<To>(values[i]);
      }
    }
  }

  /// C elements of one place.
  template <int C>
  KILN_FN void move(index_t place, index_t source, index_t source_step, index_t target, index_t target_step) const {
    if (!Gather && place < 0) return;
    From values[C] = {};
    if (place >= 0) load_elements(from + source, source_step, values);
    To results[C];
    KILN_UNROLL
    for (int i = 0; i < C; ++i) results[i] = detail::stored_as<To>(values[i]);
    store_elements(to + target, target_step, results);
  }

  KILN_FN index_t checked(Id id) const {
    const auto place = static_cast<index_t>(id);
    if (place >= 0 && place < extent) return place;
    if (flag != nullptr) *flag = 1;
    return -1;
  }
};

/// Every id in [0, extent); the message has the coordinates of the first that is not.
template <class Id, int R, class S, int U>
status check_places(std::string_view call, const tensor<Id, R, S, U>& ids, index_t extent) {
  index_t at[R] = {};
  for (index_t left = ids.size(); left > 0; --left) {
    index_t offset = 0;
    for (int a = 0; a < R; ++a) offset += at[a] * ids.stride(a);
    const auto place = static_cast<index_t>(ids.data[offset]);
    if (place < 0 || place >= extent) {
      std::string text;
      for (int a = 0; a < R; ++a) text += (a == 0 ? "" : ", ") + std::to_string(at[a]);
      return fail(errc::bad_option, call, ": element ", std::string_view(text), " of the ids is ", place,
                  ", needs to be in [0, ", extent, ")");
    }
    for (int a = R - 1; a >= 0 && ++at[a] == ids.extents[a]; --a) at[a] = 0;
  }
  return {};
}

/// A vector of ids as a view of rank R that repeats it along all axes but `Axis`.
template <int R, int Axis, class Id, int RI, class S, int U>
auto spread_ids(const tensor<Id, RI, S, U>& ids, const index_t (&extents)[R]) {
  tensor<const Id, R, S, no_unit> v;
  v.data = ids.data;
  for (int a = 0; a < R; ++a) {
    v.extents[a] = RI == R || a == Axis ? ids.extents[RI == R ? a : 0] : extents[a];
    v.strides[a] = RI == R ? ids.stride(RI == R ? a : 0) : a == Axis ? ids.stride(0) : 0;
  }
  return v;
}

template <bool Gather, int Axis, class Executor, class From, class Ids, class To>
status move_indexed(const Executor& ex, const char* call, const From& from, const Ids& ids, const To& to,
                    std::int32_t* flag) {
  constexpr int R = To::rank;
  constexpr const char *dense_name = Gather ? "the result" : "the input",
                       *listed_name = Gather ? "the input" : "the result";
  KILN_TRY(check_view(call, "the result", plain(to)));
  KILN_TRY(check_writable(call, "the result", plain(to)));
  KILN_TRY(check_view(call, "the input", from));
  KILN_TRY(check_view(call, "the list of ids", ids));
  constexpr std::size_t filled = Gather ? 1 : 0;
  const auto& dense = nth_of<filled>(from, to);
  const auto& listed = nth_of<1 - filled>(from, to);
  for (int a = 0; a < R; ++a)
    if (a != Axis && dense.extents[a] != listed.extents[a])
      return fail(errc::bad_shape, call, ": ", dense_name, " has extents ", std::string_view(shape_text(dense)),
                  " and ", listed_name, " ", std::string_view(shape_text(listed)),
                  ", needs equal ones on all axes but axis ", Axis);
  const auto spread = spread_ids<R, Axis>(ids, dense.extents);
  if constexpr (Ids::rank == R) {
    KILN_TRY(check_same_shape(call, "the list of ids", plain(spread), dense_name, plain(dense)));
  } else if (spread.extents[Axis] != dense.extents[Axis]) {
    return fail(errc::bad_shape, call, ": the ids have ", ids.extents[0], " elements, needs ", dense.extents[Axis],
                ", the extent of axis ", Axis, " of ", dense_name);
  }
  KILN_TRY(check_apart(call, "the result", plain(to), "the input", plain(from)));
  KILN_TRY(check_apart(call, "the result", plain(to), "the list of ids", plain(ids)));
  if constexpr (Executor::on_host) KILN_TRY(check_places(call, ids, listed.extents[Axis]));
  if (dense.empty()) return {};

  using map = indexed_map<Gather, R, typename From::value_type, typename To::value_type, typename Ids::value_type>;
  map work;
  work.from = from.data, work.to = to.data, work.ids = ids.data, work.flag = flag;
  work.extent = listed.extents[Axis], work.step = listed.stride(Axis);
  index_t strides[3][R];
  for (int a = 0; a < R; ++a)
    strides[0][a] = dense.stride(a), strides[1][a] = a == Axis ? 0 : listed.stride(a), strides[2][a] = spread.stride(a);
  work.nest = make_nest<R, 3>(dense.extents, strides);
  const int sizes[] = {static_cast<int>(sizeof(*dense.data)), static_cast<int>(sizeof(*listed.data)), 0};
  const void* const data[] = {dense.data, listed.data, nullptr};
  index_t head = map::chunk == 1 ? -1 : aligned_head(work.nest, data, sizes, map::chunk);
  // Every place begins where vectors may.
  const int width = access_bytes(static_cast<std::size_t>(sizes[1] * map::chunk));
  if (work.nest.strides[1][R - 1] == 1 && work.extent > 1 && work.step * sizes[1] % width != 0) head = -1;
  work.plan = plan_items(work.nest, head, map::chunk);
  const double n = static_cast<double>(dense.size());
  return run_items(ex,
                   {.program = call,
                    .schedule = "elements",
                    .bytes = n * static_cast<double>(sizes[0] + sizes[1]) +
                             static_cast<double>(ids.size()) * static_cast<double>(sizeof(*ids.data))},
                   work);
}

/// What gather and scatter ask of their types, once the operands themselves are sound.
template <class Executor, int Axis, class From, class Ids, class To>
struct indexed_call {
  static constexpr int rank = kiln::detail::rank_of<From>;
  static constexpr auto found = kiln::detail::first_fault<typename Executor::space>(
      kiln::detail::reads<From, kiln::detail::any_element>(1, most_axes),
      kiln::detail::reads<Ids, kiln::detail::elements_of<std::int32_t, std::int64_t>>(1, most_axes),
      kiln::detail::writes<To, kiln::detail::any_element>(rank));
  static constexpr bool listed = kiln::detail::rank_of<Ids> == 1 || kiln::detail::rank_of<Ids> == rank;
  static constexpr int axis = Axis < 0 ? Axis + rank : Axis;
  static constexpr bool has_axis = axis >= 0 && axis < rank;
  static constexpr bool converts = [] {
    if constexpr (found.none()) return stores_as<typename From::value_type, typename To::value_type>;
    return true;
  }();
  static constexpr bool good = found.none() && listed && has_axis && converts;
};

}  // namespace kiln::elementwise
