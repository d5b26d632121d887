#pragma once
// The code that README.md and docs/ quote, as it is compiled and run by docs_test.cpp. `ex` is any executor.
#include <kiln/arch/host/driver.hpp>
#include <kiln/attention.hpp>
#include <kiln/gemm.hpp>
#include <kiln/quantise.hpp>
#include <kiln/view/quantised.hpp>

namespace snippets {
using namespace kiln;

template <class Executor, class A, class B, class Bias, class Residual, class D>
status fused(const Executor& ex, const A& a, const B& b, const Bias& bias, const Residual& residual, const D& d) {
  // d = gelu(a b + bias) + residual, in one kernel
  status s = gemm(ex, a, b, store(d, gelu(acc + per_column(bias)) + elem(residual)));
  return s;
}

template <class Executor, class X, class W, class D>
status swiglu(const Executor& ex, const X& x, const W& w_gate, const W& w_up, const D& h) {
  // h = silu(x w_gate) * (x w_up): one pass over x feeds two products
  status s = gemm(ex, x, dual(w_gate, w_up), store(h, silu(acc_<0>) * acc_<1>));
  return s;
}

template <class Executor, class QA, class QW, class Scales, class D>
status scaled(const Executor& ex, const QA& qa, const QW& qw, const Scales& a_scales, const Scales& w_scales,
              const D& d) {
  // int8 x int8, exact in int32, scaled back by row and by column on the way out
  status s = gemm(ex, qa, qw, store(d, acc * per_row(a_scales) * per_column(w_scales)));
  return s;
}

template <class Executor, class A, class B, class C, class D>
status blas(const Executor& ex, const A& a, const B& b, const C& c, float alpha, float beta, const D& d) {
  // d = alpha a b + beta c; with beta = 0, c is neither read nor checked
  status s = gemm(ex, a, b, store(d, axpby(alpha, acc, beta, c)));
  return s;
}

template <class Executor, class A, class B, class D>
status planned(Executor ex, const A& a, const B& b, const D& d) {
  // Checked and chosen once, run as often as you like. `state()` says what is wrong, `explain()` which kernel and why.
  const auto plan = plan_gemm(a, b, store(d, acc));
  status s = plan.run(ex);
  return s;
}

template <class Executor, class A, class B, class D>
status pinned(const Executor& ex, const A& a, const B& b, const D& d) {
  // One kernel of your choice instead of the library's: less to compile, nothing to choose.
  using mine = config<tile<64, 32, 64>, warp_tile<32, 32>, stages<2>, multistage, instructions::sm80>;
  status s = gemm<mine>(ex, a, b, store(d, acc));
  return s;
}

template <class A, class B, class D>
status watched(const A& a, const B& b, const D& d) {
  // The Hopper kernel on the CPU: its roles in a random but repeatable order, its shared memory watched.
  using hopper = config<tile<128, 64, 64>, stages<3>, warp_specialized>;
  status s = gemm<hopper>(host.with_checks().with_order(order::random, 7), a, b, store(d, acc));
  return s;
}

}  // namespace snippets
