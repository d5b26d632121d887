#pragma once
/// An expression as text, "gelu(acc + per_column) + elem", for traces and explanations. Host only.
#include <string>

#include <kiln/epilogue/sinks.hpp>

namespace kiln {

namespace detail {

// Declared first, since an operation's operands may be of any of these kinds.
template <class E>
std::string text_of(const E&) {
  return "node";
}
template <class... T>
std::string text_of(const axpby_node<T...>& n);
template <class Op, class... E>
std::string text_of(const operation<Op, E...>& o);
template <int I>
std::string text_of(const accumulator_node<I>&) {
  return I == 0 ? "acc" : "acc_<" + std::to_string(I) + ">";
}
template <class V>
std::string text_of(const constant_node<V>&) {
  return "number";
}
template <class View, along A>
std::string text_of(const broadcast_node<View, A>&) {
  return name_of(A);
}
template <class View>
std::string text_of(const element_node<View>&) {
  return "elem";
}
template <class... T>
std::string text_of(const axpby_node<T...>& n) {
  return "axpby(" + text_of(n.x) + ", elem)";
}
/// Whether one of these operators stands in the text outside all parentheses.
inline bool has_operator(const std::string& text, const std::string& operators) {
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && text[i] == ' ' && operators.find(text[i + 1]) != std::string::npos) return true;
  }
  return false;
}
template <class Op, class... E>
std::string text_of(const operation<Op, E...>& o) {
  std::string parts[sizeof...(E)];
  o.operands.each([&](const auto& e, auto number) { parts[decltype(number)::value] = text_of(e); });
  std::string label = "map";
  if constexpr (requires { Op::label; }) label = Op::label;
  if constexpr (sizeof...(E) == 2) {
    if (label.size() == 1) {
      const char op = label[0];
      const bool tight = op == '*' || op == '/';
      if (tight && has_operator(parts[0], "+-")) parts[0] = "(" + parts[0] + ")";
      if (has_operator(parts[1], op == '/' ? "+-*/" : op == '+' ? "" : "+-")) parts[1] = "(" + parts[1] + ")";
      return parts[0] + " " + label + " " + parts[1];
    }
  }
  std::string all = label + "(";
  for (const auto& p : parts) all += (&p == parts ? "" : ", ") + p;
  return all + ")";
}

/// Empty for a plain store of the accumulator: nothing is fused.
template <class View, class E>
std::string text_of_sink(const store_sink<View, E>& s) {
  const std::string e = text_of(s.expr);
  return e == "acc" ? std::string() : e;
}
template <reduction Op, reduced_axis Over, class View, class E>
std::string text_of_sink(const reduction_sink<Op, Over, View, E>& s) {
  constexpr const char* names[] = {"sum", "mean", "max", "min", "amax"};
  return std::string(names[static_cast<int>(Op)]) + (Over == reduced_axis::columns ? " of rows: " : " of columns: ") +
         text_of(s.expr);
}

}  // namespace detail

/// All sinks of a call, separated by semicolons.
template <class... Sinks>
std::string describe(const bundle<Sinks...>& sinks) {
  std::string all;
  sinks.each([&](const auto& sink, auto) {
    const std::string one = detail::text_of_sink(sink);
    if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
  });
  return all;
}

}  // namespace kiln
