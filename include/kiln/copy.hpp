#pragma once
/// Copies between views of one shape, and fills. Values convert to the result's type; any strides; what lies between
/// the elements of a strided view stays as it was.
#include <cstdint>
#include <kiln/kernel/elementwise/regroup.hpp>
#include <kiln/kernel/elementwise/run.hpp>
#include <kiln/kernel/elementwise/transpose.hpp>
#include <kiln/view/sound.hpp>
#include <type_traits>

namespace kiln {

namespace elementwise {
struct identity {
  template <class T>
  KILN_FN constexpr T operator()(T x) const {
    return x;
  }
};
/// Narrow floats as integers of their width, so that a copy between equal types keeps a NaN's payload.
template <class T, int R, class S, int U>
auto as_bits(const tensor<T, R, S, U>& v) {
  using plain = std::remove_const_t<T>;
  if constexpr (is_floating_v<plain> && sizeof(plain) < sizeof(float)) {
    using bits = std::conditional_t<sizeof(plain) == 1, std::uint8_t, std::uint16_t>;
    tensor<std::conditional_t<std::is_const_v<T>, const bits, bits>, R, S, U> b;
    b.data = reinterpret_cast<decltype(b.data)>(v.data);
    for (int a = 0; a < R; ++a) b.extents[a] = v.extents[a], b.strides[a] = v.stride(a);
    return b;
  } else {
    return v;
  }
}
template <class T>
struct constant {
  T value;
  KILN_FN constexpr T operator()() const { return value; }
};
}  // namespace elementwise

/// to(i...) = from(i...). Rounded and saturated as `convert` does where the types differ, bit for bit where they do
/// not. `from` may be a mapped view, which is computed on the way. Refused: as `transform` does.
template <executor Executor, class From, class To>
requires((is_tensor_v<From> || is_mapped_v<From>)&&is_tensor_v<To>) status
    copy(const Executor& ex, const From& from, const To& to) {
  using from_type = typename From::value_type;
  using to_type = typename To::value_type;
  constexpr bool here = elementwise::in_memory_of<Executor, From, To>, writes = !std::is_const_v<typename To::element>;
  constexpr bool ranks = From::rank == To::rank;
  constexpr bool converts = elementwise::stores_as<from_type, to_type>;
  static_assert(
      here,
      "copy: both views need to lie in the executor's memory: host_view for kiln::host, device_view for kiln::device");
  static_assert(writes, "copy: the second view is written to and needs elements that are not const");
  static_assert(ranks, "copy: both views need the same number of axes: add one with broadcast<axis>(view, extent)");
  static_assert(converts, "copy: the elements of the first view do not convert to those of the second");
  if constexpr (here && writes && ranks && converts) {
    constexpr elementwise::identity same{};
    if constexpr (is_mapped_v<From>) {
      return elementwise::map_inlined(ex, "copy", same, bundle_of(to), from);
    } else {
      const auto move = [&](const auto& in, const auto& out) {
        bool done = false;
        status s = elementwise::copy_transposed(ex, in, out, done);
        return done ? s : elementwise::map_tensors(ex, "copy", same, bundle_of(out), in);
      };
      if constexpr (std::is_same_v<from_type, to_type>)
        return move(elementwise::as_bits(from), elementwise::as_bits(to));
      else
        return move(from, to);
    }
  } else {
    return {};
  }
}

/// Records: from SoA to AoS, back, or between two of a kind. Both views need the same fields, in any order; values
/// convert.
template <executor Executor, record_view From, record_view To>
status copy(const Executor& ex, const From& from, const To& to) {
  constexpr bool here = elementwise::in_memory_of<Executor, From, To>;
  constexpr bool fields = elementwise::same_fields<From, To>, writes = elementwise::all_written<To>;
  static_assert(
      here,
      "copy: both views need to lie in the executor's memory: host_soa for kiln::host, device_soa for kiln::device");
  static_assert(fields, "copy: both views of records need the same fields, each once, in any order");
  static_assert(writes, "copy: the second view is written to and its fields cannot be const");
  if constexpr (here && fields && writes)
    return elementwise::copy_records(ex, from, to);
  else
    return {};
}
template <class Any = void>
status copy(...) {
  static_assert(detail::never<Any>,
                "copy takes (executor, from, to), which are two views (host_view(...), device_view(...)), or two views "
                "of records; the executor is host or device(stream)");
  return {};
}

/// to(i...) = value.
template <executor Executor, class To, class T>
requires(is_tensor_v<To>) status fill(const Executor& ex, const To& to, const T& value) {
  using stored = typename To::value_type;
  constexpr bool here = elementwise::in_memory_of<Executor, To>, writes = !std::is_const_v<typename To::element>;
  constexpr bool converts = elementwise::stores_as<T, stored>;
  static_assert(
      here,
      "fill: the view needs to lie in the executor's memory: host_view for kiln::host, device_view for kiln::device");
  static_assert(writes, "fill: the view needs elements that are not const");
  static_assert(converts, "fill: the value does not convert to the view's element type");
  if constexpr (here && writes && converts)
    return elementwise::map_tensors(ex, "fill", elementwise::constant<stored>{detail::stored_as<stored>(value)},
                                    bundle_of(to));
  else
    return {};
}
template <class Any = void>
status fill(...) {
  static_assert(detail::never<Any>,
                "fill takes (executor, view, value); the executor is host or device(stream), the view made by "
                "host_view(...) or device_view(...)");
  return {};
}

}  // namespace kiln
