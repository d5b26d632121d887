#pragma once
/// An expression as text, "gelu(acc + per_column) + elem", for traces and explanations. It follows from the types, and
/// is made by the compiler.
#include <kiln/core/fixed_text.hpp>
#include <kiln/epilogue/sinks.hpp>
#include <type_traits>

namespace kiln::detail {

/// Adds what a node is called to a text.
template <class E>
struct described {
  static constexpr void add_to(fixed_text& t) { t.add("node"); }
};
template <int Index>
struct described<accumulator_node<Index>> {
  static constexpr void add_to(fixed_text& t) {
    t.add("acc");
    if (Index > 0) t.add("_<").add(Index).add(">");
  }
};
template <class V>
struct described<constant_node<V>> {
  static constexpr void add_to(fixed_text& t) { t.add("number"); }
};
template <class View, along A>
struct described<broadcast_node<View, A>> {
  static constexpr void add_to(fixed_text& t) { t.add(name_of(A)); }
};
template <class View>
struct described<element_node<View>> {
  static constexpr void add_to(fixed_text& t) { t.add("elem"); }
};
template <class Alpha, class X, class Beta, class View>
struct described<axpby_node<Alpha, X, Beta, View>> {
  static constexpr void add_to(fixed_text& t) {
    t.add("axpby(");
    described<X>::add_to(t);
    t.add(", elem)");
  }
};

/// Whether one of these operators stands outside all parentheses in a text from character `from` on.
constexpr bool has_operator(const fixed_text& text, int from, const char* operators) {
  int depth = 0;
  for (int i = from; i + 1 < text.length(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth != 0 || text[i] != ' ') continue;
    for (const char* o = operators; *o != '\0'; ++o)
      if (text[i + 1] == *o) return true;
  }
  return false;
}

/// An operand, in parentheses if it holds one of these operators.
template <class E>
constexpr void add_operand(fixed_text& t, const char* operators) {
  const int from = t.length();
  described<E>::add_to(t);
  if (has_operator(t, from, operators)) t.enclose(from);
}

template <class Op, class... E>
struct described<operation<Op, E...>> {
  static constexpr const char* label = [] {
    if constexpr (requires { Op::label; }) return Op::label;
    else return "map";
  }();

  static constexpr void add_to(fixed_text& t) {
    if constexpr (sizeof...(E) == 2 && label[1] == '\0') {
      add_infix<E...>(t);
    } else {
      t.add(label).add("(");
      const char* between = "";
      ((t.add(between), described<E>::add_to(t), between = ", "), ...);
      t.add(")");
    }
  }

 private:
  template <class Left, class Right>
  static constexpr void add_infix(fixed_text& t) {
    constexpr char op = label[0];
    add_operand<Left>(t, op == '*' || op == '/' ? "+-" : "");
    t.add(" ").add(label).add(" ");
    add_operand<Right>(t, op == '/' ? "+-*/" : op == '+' ? "" : "+-");
  }
};

/// Empty for a plain store of the accumulator: nothing is fused.
template <class View, class E>
struct described<store_sink<View, E>> {
  static constexpr void add_to(fixed_text& t) {
    if (!std::is_same_v<E, accumulator_node<0>>) described<E>::add_to(t);
  }
};
template <reduction Op, reduced_axis Over, class View, class E>
struct described<reduction_sink<Op, Over, View, E>> {
  static constexpr void add_to(fixed_text& t) {
    constexpr const char* names[] = {"sum", "mean", "max", "min", "amax"};
    t.add(names[static_cast<int>(Op)]).add(Over == reduced_axis::columns ? " of rows: " : " of columns: ");
    described<E>::add_to(t);
  }
};

/// All sinks of a call, separated by semicolons.
template <class... Sinks>
inline constexpr fixed_text description = [] {
  fixed_text all;
  const auto add = [&](auto sink) {
    fixed_text one;
    decltype(sink)::add_to(one);
    if (one.length() > 0) all.add(all.length() > 0 ? "; " : "").add(one.text());
  };
  (add(described<Sinks>{}), ...);
  return all;
}();

}  // namespace kiln::detail
