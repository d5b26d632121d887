// expect: gemm takes (executor, a, b, sinks...), the executor being host or device(stream)
// expect: gemm takes (executor, a, b, sinks...), the executor being host or device(stream)
// expect: gemm: the second operand is a tensor view or dual(view, view)
// expect: gemm: no sink: add store(d, expression) behind the operands
// expect: gemm: what follows the operands are sinks
// expect: plan_gemm takes (a, b, sinks...), as plan_gemm(a, b, store(d, acc)); run(executor) comes behind it
// expect: dual takes two views, as dual(b0, b1)
// expect: config: an option of one kind is given twice
// expect: config: cluster<M, N> and ping_pong go with warp_specialized
// expect: gemm_problem takes (a, b, sinks...), as gemm_problem(a, b, store(d, acc))
// expect: gemm_grouped takes (executor, list), or (executor, pointer, count), of what gemm_problem(...) makes
// expect: gemm_grouped takes (executor, list), or (executor, pointer, count), of what gemm_problem(...) makes
// expect: plan_gemm_grouped takes a list of what gemm_problem(...) makes, or a pointer to them and a count
#include <kiln/gemm_grouped.hpp>
#include <vector>

using namespace kiln;
f16 h[2][64 * 64];
float f[2][64 * 64];

int main() {
  const auto a = host_view(h[0], 64, 64), b = host_view(h[1], 64, 64);
  const auto out = store(host_view(f[0], 64, 64), acc), more = store(host_view(f[1], 64, 64), acc);
  const std::vector problems{gemm_problem(a, b, out), gemm_problem(a, b, more)};
  bool all = true;
  const auto run = [&](const status& s) { all = all && s.ok(); };
#ifdef KILN_FAIL
  run(gemm(a, b, out));
  run(gemm<tile<64, 64, 64>, stages<3>>(host, a, b, out));
  run(gemm(host, a, out));
  run(gemm(host, a, b));
  run(gemm(host, a, b, relu(acc)));
  run(plan_gemm(a).run(host));
  dual(b, b, b);
  run(gemm<config<stages<2>, tile<64, 64, 64>, stages<3>>>(host, a, b, out));
  run(gemm<config<tile<64, 64, 64>, ping_pong>>(host, a, b, out));
  gemm_problem<config<>>(a, b, out);
  run(gemm_grouped(problems));
  run(gemm_grouped(host, problems[0], problems[1]));
  run(plan_gemm_grouped(host, problems).run(host));
#else
  run(gemm(host, a, b, out));
  run(gemm<config<tile<64, 64, 64>, warp_tile<32, 32>, stages<3>>>(host, a, b, out, more));
  run(plan_gemm(a, dual(b, b), out).run(host));
  run(gemm_grouped(host, problems));
  run(gemm_grouped(host, {problems[0], problems[1]}));
  run(gemm_grouped(host, problems.data(), 2));
  run(plan_gemm_grouped(problems).run(host));
#endif
  return all ? 0 : 1;
}
