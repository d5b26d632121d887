// expect: a function of an epilogue takes an expression: gelu(acc)
// expect: a function of an epilogue takes an expression: gelu(acc)
// expect: a function of an epilogue takes an expression: gelu(acc)
// expect: a function of an epilogue takes an expression: gelu(acc)
// expect: a function of an epilogue takes an expression: gelu(acc)
// expect: a function of an epilogue takes an expression: gelu(acc)
// expect: axpby(alpha, x, beta, c): alpha and beta are numbers of at most 32 bits
// expect: an operand of an epilogue expression is a node or a number of at most 32 bits
// expect: an operand of an epilogue expression is a node or a number of at most 32 bits
// expect: per_row, per_column, per_tensor and elem take one view
// expect: store takes (view, expression), as store(d, relu(acc)); a second output has a store of its own
// expect: reduce_rows<op> and reduce_columns<op> take (view, expression)
// expect: reduce_rows and reduce_columns write a view
// expect: a sink folds a sum: scale it by 1/n for a mean
#include <kiln/epilogue/sinks.hpp>

using namespace kiln;

struct half_of {
  KILN_FN float operator()(float x) const { return x / 2; }
};

int main() {
  float out[6] = {}, in[6] = {};
  const auto d = host_view(out, 2, 3), c = host_view(in, 2, 3);
  const auto bias = host_view(in, 3), sums = host_view(out, 2);
  const auto all = [&](const auto&... sinks) { return (sinks.check(1, 2, 3).ok() && ...); };
#ifdef KILN_FAIL
  gelu(1.0f);
  relu(3);
  leaky_relu(acc);
  clamp(acc, 0);
  axpby(1.0f, acc, 0.5f);
  all(store(d, kiln::map(acc, half_of{})));
  axpby(1.0f, acc, c, 0.5f);
  acc + 0.5f * c;
  c * c;
  per_column(in, 3);
  store(d, acc, acc);
  reduce_rows(sums, acc);
  reduce_columns<reduction::sum>(acc, bias);
  reduce_rows<reduction::mean>(sums, acc);
  return 0;
#else
  const float slope = activation::gelu(1.0f);
  return all(store(d, relu(leaky_relu(acc, slope))), store(d, axpby(1.0f, clamp(acc, 0, 6), 0.5f, c)),
             store(d, kiln::map(half_of{}, acc) + 0.5f * elem(c) * elem(c) + per_column(bias)),
             reduce_rows<reduction::sum>(sums, acc * 0.5f))
             ? 0
             : 1;
#endif
}
