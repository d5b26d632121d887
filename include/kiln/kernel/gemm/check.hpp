#pragma once
/// What can be wrong with the operands of a GEMM, found before anything is launched.
#include <kiln/core/status.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <kiln/kernel/gemm/arguments.hpp>
#include <kiln/view/overlap.hpp>
#include <string_view>

namespace kiln::detail {

/// Calls `f(view, name)` for what a problem reads.
template <class Arguments, class F>
void each_read(const Arguments& p, F&& f) {
  f(p.a, "a");
  for (int q = 0; q < Arguments::products; ++q) f(p.b[q], Arguments::name_of_b(q));
  p.sinks.each([&](const auto& sink, auto) { sink.expr.each_tensor(f); });
}

/// One operand [batch, rows, cols]: extents, address, and rows that do not run into each other. It is not looked at
/// where the result has no elements (`unread`).
template <class V>
status check_operand(const V& v, const char* name, bool unread) {
  constexpr const char* counted[] = {" matrices", " rows", " columns"};
  for (int a = 0; a < 3; ++a)
    if (v.extents[a] < 0)
      return fail(errc::bad_shape, "operand `", name, "` has ", v.extents[a], counted[a],
                  ", needs at least 0 (-1 is what a slice, pick, strided or with_unit that does not fit leaves)");
  if (v.empty() || unread) return {};
  if (v.data == nullptr)
    return fail(errc::null_pointer, "operand `", name, "` is null, needs ", v.extents[1], " x ", v.extents[2],
                " elements");
  if (v.size() == INT64_MAX)
    return fail(errc::bad_shape, "operand `", name, "` has ", v.extents[0], " x ", v.extents[1], " x ", v.extents[2],
                " elements, more than a 64-bit index counts");
  if (reinterpret_cast<std::uintptr_t>(v.data) % alignof(typename V::value_type) != 0)
    return fail(errc::bad_alignment, "operand `", name, "` is at an address that is ",
                reinterpret_cast<std::uintptr_t>(v.data) % alignof(typename V::value_type),
                " bytes past a multiple of its element's ", alignof(typename V::value_type));
  if constexpr (V::unit_axis != no_unit) {
    constexpr int outer = V::unit_axis == 2 ? 1 : 2;
    const std::uint64_t step = unsigned_magnitude(v.strides[outer]);
    if (v.extents[outer] > 1 && step != 0 && step < static_cast<std::uint64_t>(v.extents[V::unit_axis]))
      return fail(errc::bad_stride, "operand `", name, "` has leading dimension ", v.strides[outer],
                  ", needs at least ", v.extents[V::unit_axis], " (or 0 to repeat one ", outer == 1 ? "row" : "column",
                  ")");
  }
  return {};
}

template <class Arguments>
status check_gemm(const Arguments& p) {
  const bool unread = p.m == 0 || p.n == 0 || p.batch == 0;
  KILN_TRY(check_operand(p.a, "a", unread));
  for (int q = 0; q < Arguments::products; ++q) {
    const char* name = Arguments::name_of_b(q);
    const auto& b = p.b[q];
    KILN_TRY(check_operand(b, name, unread));
    if (b.extents[1] != p.k)
      return fail(errc::bad_shape, "operand `", name, "` has ", b.extents[1], " rows, needs ", p.k,
                  " (the columns of `a`)");
    if (b.extents[2] != p.n)
      return fail(errc::bad_shape, "operand `", name, "` has ", b.extents[2], " columns, needs ", p.n,
                  " (the columns of `b.first`)");
    if (b.extents[0] != p.batch)
      return fail(errc::bad_shape, "operand `", name, "` has batch ", b.extents[0], ", needs ", p.batch,
                  " (the batch of `a`)");
  }
  status s;
  p.sinks.each([&](const auto& sink, auto number) {
    if (!s) return;
    const auto& d = sink.view;
    const auto against = [&](const auto& operand, const char* name) {
      if (s && overlaps(d, operand) != overlap::none)
        s = fail(errc::overlap, "output ", decltype(number)::value, " shares memory with operand `", name,
                 "`, needs memory of its own");
    };
    against(p.a, "a");
    for (int q = 0; q < Arguments::products; ++q) against(p.b[q], Arguments::name_of_b(q));
  });
  return s;
}

/// No view of a problem reaches into the `bytes` of the workspace from `data` on, which a run makes use of. `program`
/// begins the message.
template <class Arguments>
status check_scratch(std::string_view program, const Arguments& p, const void* data, std::size_t bytes) {
  status s;
  const auto used = view_of_bytes<typename decltype(p.a)::space>(data, bytes);
  const auto refuse = [&](const auto& view, const auto&... name) {
    if (s.ok() && overlaps(view, used) != overlap::none)
      s = fail(errc::overlap, program, ": the executor's workspace shares memory with ", name...,
               ", needs ", bytes, " bytes of its own");
  };
  each_read(p, [&](const auto& view, const char* name) { refuse(view, "operand `", name, "`"); });
  p.sinks.each([&](const auto& sink, auto number) { refuse(sink.view, "output ", decltype(number)::value); });
  return s;
}

}  // namespace kiln::detail
