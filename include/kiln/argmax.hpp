#pragma once
/// Argmax over the last axis.
#include <kiln/kernel/rows/check.hpp>
#include <kiln/kernel/rows/keys.hpp>
#include <kiln/kernel/rows/run.hpp>
#include <kiln/kernel/rows/sound.hpp>

namespace kiln {

namespace rows {

template <class X>
struct argmax_program {
  using held = X;
  using lead = X;
  static constexpr int phases = 1;
  static constexpr bool few_registers = true;
  struct lines {
    line<const X> x;
    std::int32_t* out;
  };
  operand<const X> x;
  operand<std::int32_t> out;
  std::int32_t* flag;

  template <class F>
  void each_operand(F f) const {
    f(x);
  }
  KILN_FN lines at(index_t r) const { return {x.at(r), out.data + out.offset(r)}; }
  template <int Width>
  KILN_FN void load(const lines& l, index_t c, int n, chunk<X, Width>& to) const {
    rows::load(l.x, c, n, to);
  }
  KILN_FN static float value(X v) { return static_cast<float>(v); }

  /// The row's threads look for the largest value and for the first of its chunks; which element of that chunk it is,
  /// one thread finds in the end. For each thread to look in a chunk of its own took a third longer.
  template <class Row>
  KILN_FN void run(Row& one) const {
    struct state {
      std::uint32_t bits;  // of no value: 0
      index_t chunk;
    };
    const std::uint64_t best = one.fold(
        state{0, 0},
        [&](state& s, index_t c, int n, const auto& kept) {
          const std::uint32_t bits = ordered_bits(one.template find<extreme::largest>(kept, n));
          if (bits > s.bits) s = {bits, c};
        },
        [](const state& s) { return key_of_bits(s.bits, s.chunk); }, later_of{});
    one.once([&] {
      const index_t begin = column_of(best);
      chunk<X, Row::width> some;
      load<Row::width>(one.lines, begin, one.valid(begin), some);
      int first = Row::width - 1;
      KILN_UNROLL
      for (int i = Row::width - 2; i >= 0; --i)
        if (ordered_bits(value(some[i])) == best >> 32) first = i;
      *one.lines.out = static_cast<std::int32_t>(begin) + first;
      if (flag != nullptr && !is_finite_key(best)) *flag = 1;
    });
  }
};

}  // namespace rows

/// out[r] = the column of the largest element of row r, the lowest of several. `x` of rank 1 to 4 (leading axes are
/// rows), of float, f16 or bf16; `out` int32 with one element for each row. A NaN counts as larger than all numbers:
/// its column is the result. `flag` (if not null: one int32 in the executor's memory, which the caller sets to 0)
/// becomes 1 if the largest element of any row is NaN or infinite, so that broken logits do not pass for token 0. No
/// rows: success, nothing written. Errors: bad_shape (rows without columns have no largest element; 2^31 columns or
/// more), null_pointer, overlap.
template <executor Executor, class X, class Y>
status argmax(const Executor& ex, const X& x, const Y& out, std::int32_t* flag = nullptr) {
  using namespace rows;
  constexpr auto found =
      first_fault<typename Executor::space>(reads<X, numbers>(1, 4), writes<Y, elements_of<std::int32_t>>(1));
  static_assert(found.what != fault::memory,
                "argmax: a view lies in another memory than the executor's: host takes host_view, device device_view");
  static_assert(found.operand != 0, "argmax: x needs to be a view of rank 1 to 4 of float, f16 or bf16");
  static_assert(found.operand != 1, "argmax: out needs to be a vector (a view of rank 1) of int32, not const");
  if constexpr (!found.none()) {
    return {};
  } else {
    return in_call("argmax", [&]() -> status {
      KILN_TRY(check_view("x", x));
      KILN_TRY(check_output("out", out));
      KILN_TRY(check_length("out", out, count(x), "the rows of `x`"));
      KILN_TRY(check_apart("out", out, "x", x));
      if (out.empty()) return {};
      if (length(x) < 1 || length(x) > 0x7fffffff)
        return fail(errc::bad_shape, "operand `x`: has ", length(x), " columns, needs 1 to 2147483647");
      return run(ex, {.program = "argmax", .bytes = bytes_of(x, out)},
                 argmax_program<typename X::value_type>{input_of(x), each_row(out), flag}, count(x), length(x));
    }());
  }
}
template <class Any = void>
status argmax(...) {
  static_assert(
      kiln::detail::never<Any>,
      "argmax takes (executor, x, out, flag), the last may be left out; the executor is host or device(stream)");
  return {};
}

}  // namespace kiln
