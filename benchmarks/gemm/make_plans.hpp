#pragma once
/// For the sources that compile Kiln's kernels.
#include <benchmarks/gemm/kiln_side.hpp>
#include <kiln/gemm.hpp>

namespace bench {

/// Copy `set` of a problem as views; b is the weight, transposed, and b(1) the second one of `dual`.
template <class In, class Out>
struct views {
  const problem& p;
  int set;

  auto a() const {
    auto v = kiln::device_view(static_cast<const In*>(p.a_at(set)), p.m, p.k);
    v.strides[0] = p.lda;
    return v;
  }
  auto b(int product = 0) const {
    auto v = kiln::device_view(static_cast<const In*>(p.b_at(set)) + product * p.n * p.ldb, p.n, p.k);
    v.strides[0] = p.ldb;
    return kiln::transposed(v);
  }
  auto d() const { return as_output(static_cast<Out*>(p.d_at(set))); }
  auto residual() const { return as_output(static_cast<const Out*>(p.residual_at(set))); }
  auto bias() const { return kiln::device_view(static_cast<const float*>(p.bias.at()), p.n); }
  auto row_scale() const { return kiln::device_view(static_cast<const float*>(p.row_scale.at()), p.m); }
  auto column_scale() const { return kiln::device_view(static_cast<const float*>(p.column_scale.at()), p.n); }

 private:
  template <class T>
  auto as_output(T* data) const {
    auto v = kiln::device_view(data, p.m, p.n);
    v.strides[0] = p.ldd;
    return v;
  }
};

/// `plan_of(views)` gives the plan of one copy.
template <class In, class Out, class PlanOf>
kiln_side make_plans(const problem& p, PlanOf plan_of) {
  kiln_side side;
  for (int set = 0; set < p.sets; ++set) {
    auto plan = plan_of(views<In, Out>{p, set});
    if (set == 0) {
      side.error = plan.state().message();
      if (!side.error.empty()) return side;
      const auto e = plan.explain();
      side.schedule = e.schedule, side.reason = e.reason, side.cut = e.cut, side.together = e.cluster_split_k;
    }
    side.runs.push_back([plan](cudaStream_t s, void* scratch, std::size_t bytes) {
      return plan.run(kiln::device(s, {scratch, bytes})).ok();
    });
  }
  return side;
}

template <class In, class Out, class Config = kiln::automatic>
kiln_side plain(const problem& p) {
  return make_plans<In, Out>(
      p, [](const auto& v) { return kiln::plan_gemm<Config>(v.a(), v.b(), store(v.d(), kiln::acc)); });
}
template <class In, class Config = kiln::automatic>
kiln_side scaled(const problem& p) {
  return make_plans<In, kiln::bf16>(p, [](const auto& v) {
    return kiln::plan_gemm<Config>(
        v.a(), v.b(), store(v.d(), kiln::acc * kiln::per_row(v.row_scale()) * kiln::per_column(v.column_scale())));
  });
}

}  // namespace bench
