// Plans: made once, run often, and able to say what they do.
#include <string>

#include <kiln/core/trace.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_plans);

TYPED_TEST(gemm_plans, run_again_on_new_values) {
  using E = TypeParam;
  constexpr index_t m = 33, n = 40, k = 24;
  auto& a = this->template output<f16>(m * k);
  const auto values = small_integers<f16>(k * n, 1);
  auto& b = this->template input<f16>(values);
  auto& d = this->template output<float>(m * n);
  const auto plan =
      plan_gemm(view_on<E>(a.data(), m, k), view_on<E>(b.data(), k, n), store(view_on<E>(d.data(), m, n), acc));
  ASSERT_TRUE(plan.state().ok());
  for (std::uint64_t seed = 5; seed < 8; ++seed) {
    const auto now = small_integers<f16>(m * k, seed);
    memory<typename E::space>::upload(a.data(), now.data(), now.size() * sizeof(f16));
    ASSERT_TRUE(plan.run(this->executor()).ok());
    const auto want = product_of({m, n, k}, now, values);
    expect_matrix(d.values(), m, n,
                  [&](index_t i, index_t j) { return want.value[static_cast<std::size_t>(i * n + j)]; });
  }
}

TYPED_TEST(gemm_plans, explain_the_kernel_the_reason_and_the_work) {
  using E = TypeParam;
  constexpr index_t m = 130, n = 70, k = 40;
  auto &a = this->template input<float>(uniform<float>(m * k, 1)),
       &b = this->template input<float>(uniform<float>(k * n, 2));
  auto& d = this->template output<float>(m * n);
  const auto va = view_on<E>(a.data(), m, k), vb = view_on<E>(b.data(), k, n);
  const auto sink = store(view_on<E>(d.data(), m, n), acc);
  const auto chosen = plan_gemm(va, vb, sink).explain();
  EXPECT_NE(chosen.schedule, nullptr);
  EXPECT_FALSE(chosen.reason.empty());
  EXPECT_GT(chosen.tiles, 0);
  EXPECT_EQ(chosen.operations, 2.0 * m * n * k);
  EXPECT_EQ(chosen.bytes, 4.0 * (m * k + k * n + m * n));
  EXPECT_NE(chosen.text().find(chosen.reason), std::string::npos);

  using pinned = config<tile<32, 64, 32>, warp_tile<16, 32>, stages<3>, instructions::simt>;
  const auto asked = plan_gemm<pinned>(va, vb, sink).explain();
  EXPECT_STREQ(asked.schedule, "multistage 32x64x32, 3 stages, simt");
  EXPECT_EQ(asked.reason, "asked for");
  EXPECT_EQ(asked.tiles, 5 * 2);
  EXPECT_TRUE(d.untouched());
}

// What the types of the views rule out, no figure of the model tells.
TYPED_TEST(gemm_plans, say_which_view_keeps_tensor_maps_out) {
  using E = TypeParam;
  if constexpr (E::on_host) {
    GTEST_SKIP() << "the host has no kernel to leave out";
  } else {
    if (const auto why = no_hopper_here<E>(); !why.empty()) GTEST_SKIP() << why;
    constexpr index_t n = 64;
    auto &a = this->template output<bf16>(n * n), &b = this->template output<bf16>(n * n),
         &d = this->template output<bf16>(n * n);
    auto &a8 = this->template output<std::int8_t>(n * n), &b8 = this->template output<std::int8_t>(n * n);
    auto& d32 = this->template output<std::int32_t>(n * n);
    const auto reason = [&](const auto& va, const auto& vb, const auto& vd) {
      return plan_gemm(va, vb, store(vd, acc)).explain().reason;
    };
    const auto rows = view_on<E>(a.data(), n, n), out = view_on<E>(d.data(), n, n);
    const auto columns = transposed(view_on<E>(b.data(), n, n));
    const auto no_unit = view_on<E>(a.data(), {n, n}, {n, 1});
    EXPECT_EQ(reason(rows, columns, out).find("is out"), std::string::npos) << reason(rows, columns, out);
    EXPECT_NE(reason(no_unit, columns, out).find("type of `a`"), std::string::npos) << reason(no_unit, columns, out);
    const auto rows8 = view_on<E>(a8.data(), n, n), other8 = view_on<E>(b8.data(), n, n);
    const auto of_8_bits = reason(rows8, other8, view_on<E>(d32.data(), n, n));
    EXPECT_NE(of_8_bits.find("run along K"), std::string::npos) << of_8_bits;
  }
}

TYPED_TEST(gemm_plans, of_nothing_run_and_explain) {
  using E = TypeParam;
  const float* none = nullptr;
  const auto plan = plan_gemm(view_on<E>(none, 0, 4), view_on<E>(none, 4, 4),
                              store(view_on<E>(static_cast<float*>(nullptr), 0, 4), acc));
  EXPECT_TRUE(plan.state().ok());
  EXPECT_TRUE(plan.run(this->executor()).ok());
  EXPECT_EQ(plan.workspace_size(), 0u);
  EXPECT_EQ(plan.explain().operations, 0);
}

TYPED_TEST(gemm_plans, are_seen_by_a_trace) {
  using E = TypeParam;
  auto &a = this->template input<float>(uniform<float>(64, 1)), &b = this->template input<float>(uniform<float>(64, 2));
  auto& d = this->template output<float>(64);
  std::vector<trace::launch_record> seen;
  const trace::sink sink{[](void* to, const trace::launch_record& r) {
                           static_cast<std::vector<trace::launch_record>*>(to)->push_back(r);
                         },
                         &seen};
  const auto* before = trace::set_sink(&sink);
  const status s = gemm(this->executor(), view_on<E>(a.data(), 8, 8), view_on<E>(b.data(), 8, 8),
                        store(view_on<E>(d.data(), 8, 8), acc));
  trace::set_sink(before);
  ASSERT_TRUE(s.ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_STREQ(seen[0].program, "gemm");
  EXPECT_EQ(seen[0].on_host, E::on_host);
  EXPECT_EQ(seen[0].operations, 2.0 * 8 * 8 * 8);
  EXPECT_GE(seen[0].seconds, 0);
}

// A plan of rows that are off lines of 128 bytes, a pitch of 16 more, has another tile than one of rows on them, and
// says so; few rows have a tile of their own. Only Hopper's table has more than one large tile.
TYPED_TEST(gemm_plans, rows_off_lines_and_few_rows_get_tiles_of_their_own) {
  using E = TypeParam;
  if constexpr (E::on_host) {
    GTEST_SKIP() << "the host has one tile for all";
  } else {
    constexpr index_t n = 4096, most = 4096 + 8;
    auto &a = this->template output<bf16>(n * most), &b = this->template output<bf16>(n * most),
         &d = this->template output<bf16>(n * n);
    const auto schedule = [&](index_t m, index_t k, const auto& bv) -> std::string {
      const auto plan = plan_gemm(view_on<E>(a.data(), m, k), bv, store(view_on<E>(d.data(), m, n), acc));
      EXPECT_TRUE(plan.state().ok()) << plan.state().message();
      return plan.explain().schedule;
    };
    const auto square = view_on<E>(b.data(), n, n);
    const std::string on = schedule(n, n, transposed(square)),
                      off = schedule(n, most, transposed(view_on<E>(b.data(), n, most))), few = schedule(16, n, square);
    if (on.find("sm90") == std::string::npos) GTEST_SKIP() << on;
    EXPECT_NE(on.find(" 128x128x64"), std::string::npos) << on;
    EXPECT_NE(off.find(" 128x256x64"), std::string::npos) << off;
    EXPECT_NE(few.find(" 64x128x64"), std::string::npos) << few;
  }
}

/// Runs a plan of a bf16 product with one workspace after another: right, and the same bits in every run of each.
template <class Config, class E, class Test, class Given>
void expect_same_bits(Test& test, const product_extents& e, Given workspaces_of) {
  SCOPED_TRACE(::testing::Message() << e);
  const auto a = uniform<bf16>(static_cast<std::size_t>(e.m * e.k), 1),
             b = uniform<bf16>(static_cast<std::size_t>(e.k * e.n), 2);
  auto &da = test.template input<bf16>(a), &db = test.template input<bf16>(b);
  auto& d = test.template output<float>(static_cast<std::size_t>(e.m * e.n));
  const auto plan = plan_gemm<Config>(view_on<E>(da.data(), e.m, e.k), view_on<E>(db.data(), e.k, e.n),
                                      store(view_on<E>(d.data(), e.m, e.n), acc));
  ASSERT_TRUE(plan.state().ok()) << plan.state().message();
  const auto want = product_of(e, a, b);
  for (const workspace given : workspaces_of(plan)) {
    std::vector<float> first;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(plan.run(E{nullptr, given}).ok());
      const auto now = d.values();
      if (i == 0) {
        first = now;
        for (std::size_t j = 0; j < now.size(); ++j)
          ASSERT_TRUE(is_near(now[j], want.value[j], sum_error<bf16, bf16, E>(e.k, want.magnitude[j]))) << j;
      }
      ASSERT_EQ(now, first) << "run " << i;
    }
  }
}

// Tiles beyond a wave and a long K: on Hopper they are cut along K where the workspace allows it, stay whole without,
// and give the same bits in every run of either.
TYPED_TEST(gemm_plans, cut_along_k_where_the_workspace_allows) {
  using E = TypeParam;
  if constexpr (E::on_host) {
    GTEST_SKIP() << "the host's one worker shares with nobody";
  } else {
    if (const auto why = no_hopper_here<E>(); !why.empty()) GTEST_SKIP() << why;
    using narrow = config<tile<64, 64, 64>, stages<4>, ping_pong, warp_specialized>;
    const index_t wave = kiln::detail::multiprocessors<E::on_host>();
    expect_same_bits<narrow, E>(*this, {16, (wave + 8) * 64, 8192}, [&](const auto& plan) {
      EXPECT_TRUE(plan.explain().cut) << plan.explain().text();
      auto& scratch = this->template output<unsigned char>(plan.workspace_size());
      return std::vector{workspace{scratch.data(), scratch.size()}, workspace{},
                         workspace{scratch.data(), scratch.size() - 1}};
    });
  }
}

// Few tiles and a long K: on Hopper the blocks of a cluster have a tile together, with no workspace.
TYPED_TEST(gemm_plans, few_tiles_are_shared_by_blocks_of_a_cluster) {
  using E = TypeParam;
  if constexpr (E::on_host) {
    GTEST_SKIP() << "the host's one worker shares with nobody";
  } else {
    if (const auto why = no_hopper_here<E>(); !why.empty()) GTEST_SKIP() << why;
    for (const product_extents e :
         {product_extents{256, 512, 16384}, {16, 2560, 8192}, {100, 200, 32768}, {33, 4608, 4096}, {1, 64, 4104}})
      expect_same_bits<automatic, E>(*this, e, [&](const auto& plan) {
        const auto x = plan.explain();
        EXPECT_GT(x.cluster_split_k, 1) << x.text();
        EXPECT_NE(x.text().find("blocks along K"), std::string::npos) << x.text();
        EXPECT_EQ(plan.workspace_size(), 0u);
        return std::vector{workspace{}};
      });
  }
}

// Only the block that has all sums of a tile finishes it: reductions have each part once.
TYPED_TEST(gemm_plans, tiles_of_a_cluster_are_reduced_once) {
  using E = TypeParam;
  constexpr index_t batch = 2, m = 70, n = 200, k = E::on_host ? 512 : 16384;
  const auto a = small_integers<std::int8_t>(batch * m * k, 3), b = small_integers<std::int8_t>(n * k, 4);
  auto& d = this->template output<std::int32_t>(batch * m * n);
  auto &rows = this->template output<std::int32_t>(batch * m), &cols = this->template output<std::int32_t>(batch * n);
  const auto plan = plan_gemm(view_on<E>(this->input(a).data(), batch, m, k),
                              transposed(view_on<E>(this->input(b).data(), n, k)),
                              store(view_on<E>(d.data(), batch, m, n), acc),
                              reduce_rows<reduction::sum>(view_on<E>(rows.data(), batch, m), acc),
                              reduce_columns<reduction::sum>(view_on<E>(cols.data(), batch, n), acc));
  ASSERT_TRUE(plan.state().ok()) << plan.state().message();
  if (!E::on_host && no_hopper_here<E>().empty()) {
    EXPECT_GT(plan.explain().cluster_split_k, 1) << plan.explain().text();
  }
  auto& scratch = this->template output<unsigned char>(plan.workspace_size());
  E ex = this->executor();
  ex.scratch = {scratch.data(), scratch.size()};
  ASSERT_TRUE(plan.run(ex).ok());
  const auto got = d.values(), row_sums = rows.values(), col_sums = cols.values();
  const auto bt = by_k(b, n, k);
  std::vector<std::int64_t> of_rows(batch * m), of_cols(batch * n);
  for (index_t q = 0; q < batch; ++q) {
    const std::vector<std::int8_t> part(a.begin() + q * m * k, a.begin() + (q + 1) * m * k);
    const auto want = product_of({m, n, k}, part, bt);
    for (index_t i = 0; i < m * n; ++i) {
      const auto at = static_cast<std::size_t>(q * m * n + i);
      ASSERT_EQ(got[at], want.value[static_cast<std::size_t>(i)]) << q << ", " << i;
      of_rows[static_cast<std::size_t>(q * m + i / n)] += got[at];
      of_cols[static_cast<std::size_t>(q * n + i % n)] += got[at];
    }
  }
  for (std::size_t i = 0; i < of_rows.size(); ++i) EXPECT_EQ(row_sums[i], of_rows[i]) << "row " << i;
  for (std::size_t i = 0; i < of_cols.size(); ++i) EXPECT_EQ(col_sums[i], of_cols[i]) << "column " << i;
}

// An operand that all batches share is read once.
TYPED_TEST(gemm_plans, count_the_bytes_of_shared_operands_once) {
  using E = TypeParam;
  auto &a = this->template output<float>(3 * 4 * 8), &b = this->template output<float>(8 * 16),
       &d = this->template output<float>(3 * 4 * 16);
  const auto x = plan_gemm(view_on<E>(a.data(), 3, 4, 8), view_on<E>(b.data(), 8, 16),
                           store(view_on<E>(d.data(), 3, 4, 16), acc))
                     .explain();
  EXPECT_EQ(x.bytes, 4.0 * (3 * 4 * 8 + 8 * 16 + 3 * 4 * 16));
}

}  // namespace
}  // namespace kiln::test
