#pragma once
/// What a call asks of its views before it launches anything. Messages name the argument, what was seen and what is
/// needed.
#include <cstdint>
#include <kiln/core/status.hpp>
#include <kiln/view/alignment.hpp>
#include <kiln/view/aos.hpp>
#include <kiln/view/overlap.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/tensor.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln::elementwise {

template <std::size_t Index, class First, class... Rest>
constexpr const auto& nth_of(const First& first, const Rest&... rest) {
  if constexpr (Index == 0)
    return first;
  else
    return nth_of<Index - 1>(rest...);
}

/// Whether every view lies in the executor's memory; a functor has no space and is none.
template <class Executor, class... Views>
inline constexpr bool in_memory_of = (std::is_same_v<typename Views::space, typename Executor::space> && ...);

// What only looks at extents, strides and addresses takes plain views: it is compiled once for all types and ranks.
using kiln::detail::plain;
using kiln::detail::plain_view;

/// "[3, 4]".
inline std::string list_text(const plain_view& v, bool strides) {
  std::string s = "[";
  for (int a = 0; a < v.rank; ++a) s += (a == 0 ? "" : ", ") + std::to_string(strides ? v.stride(a) : v.extents[a]);
  return s + "]";
}
inline std::string shape_text(const plain_view& v) { return list_text(v, false); }
template <class T, int R, class S, int U>
std::string shape_text(const tensor<T, R, S, U>& v) {
  return shape_text(plain(v));
}

/// No negative extent, no more elements than can be counted, and data where there are elements. `argument` is how the
/// call names the view: "input 2".
inline status check_view(std::string_view call, std::string_view argument, const plain_view& v) {
  for (int a = 0; a < v.rank; ++a)
    if (v.extents[a] < 0)
      return fail(errc::bad_shape, call, ": ", argument, " has extents ", std::string_view(shape_text(v)),
                  ", needs extents of 0 or more (a wrong slice, step or index leaves -1)");
  if (v.empty()) return {};
  if (v.data == nullptr)
    return fail(errc::null_pointer, call, ": ", argument, " has extents ", std::string_view(shape_text(v)),
                " and null data");
  if (v.size() == INT64_MAX)
    return fail(errc::bad_shape, call, ": ", argument, " has extents ", std::string_view(shape_text(v)),
                ", more elements than a 64-bit index counts");
  const auto off =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(v.data) % static_cast<std::uintptr_t>(v.alignment));
  if (off == 0) return {};
  return fail(errc::bad_alignment, call, ": ", argument, " is at an address that is ", off,
              " bytes past a multiple of its element's ", v.alignment, ", needs such a multiple");
}
template <class T, int R, class S, int U>
status check_view(std::string_view call, std::string_view argument, const tensor<T, R, S, U>& v) {
  return check_view(call, argument, plain(v));
}

/// The same extents as `model`, which the call names `of`.
inline status check_same_shape(std::string_view call, std::string_view argument, const plain_view& v,
                               std::string_view of, const plain_view& model) {
  for (int a = 0; a < v.rank; ++a)
    if (v.extents[a] != model.extents[a])
      return fail(errc::bad_shape, call, ": ", argument, " has extents ", std::string_view(shape_text(v)), ", needs ",
                  std::string_view(shape_text(model)), ", those of ", of);
  return {};
}
template <record_view A, record_view B>
status check_same_shape(std::string_view call, std::string_view argument, const A& v, std::string_view of,
                        const B& model) {
  if (v.count == model.count) return {};
  return fail(errc::bad_shape, call, ": ", argument, " has ", v.count, " elements, needs ", model.count,
              ", as many as ", of);
}

/// Every element has an address of its own: no repeated axis (stride 0), no rows that overlap.
inline status check_writable(std::string_view call, std::string_view argument, const plain_view& v) {
  if (!kiln::detail::overlaps_itself(v)) return {};
  return fail(errc::bad_stride, call, ": ", argument, " has extents ", std::string_view(shape_text(v)), " and strides ",
              std::string_view(list_text(v, true)), ", needs strides that give every element an address of its own");
}

/// The memory of one view is not that of another.
inline status check_apart(std::string_view call, std::string_view argument, const plain_view& v, std::string_view of,
                          const plain_view& other) {
  if (kiln::detail::overlaps(v, other) == overlap::none) return {};
  return fail(errc::overlap, call, ": ", argument, " shares memory with ", of, ", needs memory of its own");
}

/// What a map asks of its views: results of one shape and apart, inputs of that shape, each of which is a result
/// itself, element by element, or shares nothing with it.
inline status check_map(std::string_view call, const plain_view* results, int count, const plain_view* inputs,
                        int input_count) {
  const auto name = [&](int k) { return count == 1 ? std::string("the result") : "result " + std::to_string(k + 1); };
  const plain_view& model = results[0];
  for (int k = 0; k < count; ++k) {
    KILN_TRY(check_view(call, name(k), results[k]));
    KILN_TRY(check_writable(call, name(k), results[k]));
    KILN_TRY(check_same_shape(call, name(k), results[k], name(0), model));
    for (int j = 0; j < k; ++j) KILN_TRY(check_apart(call, name(k), results[k], name(j), results[j]));
  }
  for (int i = 0; i < input_count; ++i) {
    const std::string input = "input " + std::to_string(i + 1);
    KILN_TRY(check_view(call, input, inputs[i]));
    KILN_TRY(check_same_shape(call, input, inputs[i], name(0), model));
    for (int k = 0; k < count; ++k)
      if (kiln::detail::overlaps(inputs[i], results[k]) == overlap::partial)
        return fail(errc::overlap, call, ": ", std::string_view(input), " shares memory with ",
                    std::string_view(name(k)), " at other coordinates, needs to be the same view or memory of its own");
  }
  return {};
}

/// One component of one field of a view of records: its elements as rows of bytes.
struct component_view {
  const void* data;
  index_t extents[2], strides[2];  ///< elements, and the bytes of one
  std::int64_t alignment;
  bool is_const;
  int field, component;

  plain_view bytes() const { return {data, extents, strides, 2, 1, 1, 1}; }
};

template <class View>
int put_components(const View& v, component_view* to) {
  int n = 0;
  const auto field = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
    using f = typename View::fields::template at<Index>;
    constexpr auto size = static_cast<index_t>(sizeof(typename f::type));
    [[maybe_unused]] index_t step = size;
    if constexpr (is_aos_v<View>) step = static_cast<index_t>(View::record_bytes);
    for (int c = 0; c < f::components; ++c)
      to[n++] = {v.template at<Index>(0, c),
                 {v.count, size},
                 {step, 1},
                 static_cast<std::int64_t>(alignof(typename f::type)),
                 f::is_const,
                 static_cast<int>(Index),
                 c};
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (field(std::integral_constant<std::size_t, Index>{}), ...);
  }
  (typename View::fields::indices{});
  return n;
}

/// A number of elements that is not negative and whose bytes can be counted, and aligned data where there are
/// elements. An array of structs is one component.
inline status check_records(std::string_view call, std::string_view argument, index_t count, const component_view* all,
                            int components, bool structs) {
  if (count < 0)
    return fail(errc::bad_shape, call, ": ", argument, " has ", count,
                " elements, needs 0 or more (a wrong slice leaves -1)");
  for (int i = 0; i < components; ++i) {
    const component_view& c = all[i];
    const auto place = [&](const char* of) {
      return structs ? std::string()
                     : std::string(of) + std::to_string(c.component) + " of field " + std::to_string(c.field);
    };
    if (count > 0 && c.data == nullptr)
      return fail(errc::null_pointer, call, ": ", argument, " has ", count, " elements and null data",
                  std::string_view(place(" in component ")));
    if (saturated_product(c.strides[0], count) == INT64_MAX)
      return fail(errc::bad_shape, call, ": ", argument, " has ", count, " elements of ", c.strides[0],
                  " bytes, more than a 64-bit index counts");
    if (reinterpret_cast<std::uintptr_t>(c.data) % static_cast<std::uintptr_t>(c.alignment) != 0)
      return fail(errc::bad_alignment, call, ": ", std::string_view(place("component ")), structs ? "" : " of ",
                  argument, " is not aligned to its ", structs ? "struct" : "type", "'s ", c.alignment, " bytes");
  }
  return {};
}
template <record_view View>
status check_view(std::string_view call, std::string_view argument, const View& v) {
  if constexpr (is_aos_v<View>) {
    const component_view whole{
        v.data, {v.count, 1}, {static_cast<index_t>(View::record_bytes), 1},
        static_cast<std::int64_t>(View::fields::alignment), false, 0, 0};
    return check_records(call, argument, v.count, &whole, 1, true);
  } else {
    component_view all[View::fields::components];
    const int count = put_components(v, all);
    return check_records(call, argument, v.count, all, count, false);
  }
}

/// No component that can be written shares memory with another. One that is read may be the same as one that is
/// written, element by element.
inline status check_components(std::string_view call, const component_view* all, int count) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < i; ++j) {
      if (all[i].is_const && all[j].is_const) continue;
      const overlap shared = kiln::detail::overlaps(all[i].bytes(), all[j].bytes());
      if (shared == overlap::partial || (shared == overlap::same && !all[i].is_const && !all[j].is_const))
        return fail(
            errc::overlap, call, ": component ", j, " and component ", i,
            " (counted through all fields of all views) share memory and one is written, needs memory of their own");
    }
  return {};
}
template <record_view... Views>
status check_components(std::string_view call, const Views&... views) {
  component_view all[((Views::fields::components) + ...)];
  int count = 0;
  ((count += put_components(views, all + count)), ...);
  return check_components(call, all, count);
}

/// A result of one element that lies in no component of the view.
template <class Result, record_view View>
status check_outside(std::string_view call, std::string_view argument, const Result& result, std::string_view of,
                     const View& view) {
  component_view all[View::fields::components];
  const int count = put_components(view, all);
  for (int i = 0; i < count; ++i) KILN_TRY(check_apart(call, argument, plain(result), of, all[i].bytes()));
  return {};
}

}  // namespace kiln::elementwise
