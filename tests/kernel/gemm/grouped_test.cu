// Lists of products in one launch: every extent, also zero, every layout of memory, epilogues with operands of their
// own, and what is wrong with a list.
#include <kiln/gemm_grouped.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

/// Lists with as much workspace as they ask for.
template <class E>
class gemm_lists : public with_views<E> {
 protected:
  template <class Config = automatic, class List>
  status run(const List& list) {
    return run_with_workspace<E>(*this, plan_gemm_grouped<Config>(list));
  }

  /// Lists of products with a bias for each column, some misaligned, against float64.
  template <class Config = automatic>
  void expect_list(const std::vector<product_extents>& all, std::uint64_t seed) {
    const auto make = [&](const product_extents& e, std::uint64_t number) {
      const std::uint64_t bits = hash(seed, number);
      const placement<by_rows> at_a(any_placement(bits), e.batch, e.m, e.k);
      const placement<by_columns> at_b(any_placement(bits >> 8), e.batch, e.k, e.n);
      const placement<by_rows> at_d(any_placement(bits >> 16), e.batch, e.m, e.n);
      const auto a = uniform<f16>(static_cast<std::size_t>(e.batch * e.m * e.k), bits + 1),
                 b = uniform<f16>(static_cast<std::size_t>(e.batch * e.k * e.n), bits + 2);
      const auto bias = small_integers<float>(static_cast<std::size_t>(e.n), bits + 3);
      auto& d = this->template output<f16>(at_d.span, prefill::nan, at_d.shift);
      const auto check = [=, &d] {
        SCOPED_TRACE(::testing::Message() << "problem " << number << ", " << e);
        const auto want = product_of(e, a, b);
        const auto seen = d.values();
        std::vector<bool> mine(at_d.span);
        mismatches wrong;
        at_d.each([&](std::size_t place, std::size_t i) {
          mine[place] = true;
          const double x = as_double(bias[i % static_cast<std::size_t>(e.n)]), exact = want.value[i] + x;
          const double error = sum_error<f16, f16, E>(e.k, want.magnitude[i]) + 0x1p-24 * (std::abs(exact) + 4);
          const auto at = static_cast<index_t>(i);
          if (!is_near(seen[place], exact, error))
            wrong.add("D", at / (e.m * e.n), at / e.n % e.m, at % e.n, as_double(seen[place]), exact, error);
        });
        EXPECT_TRUE(d.wrote_only([&](std::size_t i) { return mine[i]; }));
      };
      const auto view_a = at_a.template view<E>(this->template input<f16>(at_a.spread(a), at_a.shift).data());
      const auto view_b = at_b.template view<E>(this->template input<f16>(at_b.spread(b), at_b.shift).data());
      return std::pair{
          gemm_problem(view_a, view_b, store(at_d.template view<E>(d.data()), acc + per_column(this->in(bias, e.n)))),
          check};
    };
    std::vector<decltype(make(all[0], 0).first)> list;
    std::vector<decltype(make(all[0], 0).second)> checks;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto made = make(all[i], i);
      list.push_back(made.first), checks.push_back(made.second);
    }
    const status s = run<Config>(list);
    ASSERT_TRUE(s.ok()) << s.message();
    for (const auto& check : checks) check();
  }
};
TYPED_TEST_SUITE(gemm_lists, executors, executor_names);

using scalars = config<tile<32, 32, 32>, warp_tile<16, 16>, serial, instructions::simt>;
using ring = config<tile<64, 64, 64>, warp_tile<32, 32>, stages<3>>;

const std::vector<product_extents> several = {{36, 36, 64}, {1, 7, 3},       {0, 5, 4},    {65, 33, 200}, {7, 65, 0},
                                              {40, 0, 9},   {70, 66, 33, 2}, {3, 5, 7, 0}, {1, 1, 1}};

// GEMM-03
TYPED_TEST(gemm_lists, sizes_that_are_no_multiple_of_a_vector) {
  const product_extents sizes[] = {{36, 36, 64}, {1, 7, 3}, {0, 5, 4}};
  const auto make = [&](const product_extents& e) {
    const auto [d, result] = this->template out<f16>(e.m, e.n);
    const auto a = this->in(matrix_of<f16>(e.m, e.k, [](index_t, index_t) { return 1; }), e.m, e.k);
    const auto b = this->in(matrix_of<f16>(e.n, e.k, [](index_t j, index_t) { return j % 4; }), e.n, e.k);
    const auto bias =
        this->in(std::vector<float>(static_cast<std::size_t>(e.n)), e.n);  // none: the types of the other lists
    return std::pair{gemm_problem(a, transposed(b), store(d, acc + per_column(bias))), result};
  };
  std::vector<decltype(make(sizes[0]).first)> list;
  std::vector<decltype(make(sizes[0]).second)> results;
  for (const auto& e : sizes) {
    const auto [problem, result] = make(e);
    list.push_back(problem), results.push_back(result);
  }
  ASSERT_TRUE(this->run(list).ok());
  for (std::size_t i = 0; i < 3; ++i)
    expect_matrix(results[i]->values(), sizes[i].m, sizes[i].n,
                  [&](index_t, index_t j) { return sizes[i].k * (j % 4); });
}

TYPED_TEST(gemm_lists, of_many_extents_and_placements) {
  std::vector<product_extents> all = several;
  const auto below = [](std::uint64_t i, index_t limit) {
    return static_cast<index_t>(hash(7, i) % static_cast<std::uint64_t>(limit));
  };
  const std::uint64_t more = TypeParam::on_host ? 20 : 300;  // a list that takes several pieces to upload
  for (std::uint64_t i = 0; i < more; ++i)
    all.push_back({below(4 * i, 90), below(4 * i + 1, 90), below(4 * i + 2, 100), below(4 * i + 3, 3)});
  if constexpr (!TypeParam::on_host) all.push_back({1031, 520, 391, 1});
  this->template expect_list<>(all, 201);
}

// Every access to shared memory is watched on the host.
TYPED_TEST(gemm_lists, in_a_pinned_configuration) { this->template expect_list<ring>(several, 202); }

// GEMM-04: a problem whose operand lies one byte into its buffer, between two that are aligned.
TYPED_TEST(gemm_lists, of_8_bit_floats_one_byte_into_a_buffer) {
  using E = TypeParam;
  const std::vector<e4m3> ones(64 * 64 + 1, value_of<e4m3>(1));
  const auto* p = this->template input<e4m3>(ones).data();
  const auto [d, result] = this->template out<float>(3, 64, 64);
  const auto make = [p, &all = d](index_t i, index_t off) {
    return gemm_problem(view_on<E>(p, 64, 64), transposed(view_on<E>(p + off, 64, 64)), store(pick<0>(all, i), acc));
  };
  const std::vector list{make(0, 0), make(1, 1), make(2, 0)};
  ASSERT_TRUE(
      (this->template run<config<tile<32, 32, 128>, warp_tile<16, 16>, stages<2>, instructions::simt>>(list)).ok());
  expect_matrix(result->values(), 3 * 64, 64, [](index_t, index_t) { return 64; });
}

// Reductions and two products: each problem has its own.
TYPED_TEST(gemm_lists, with_reductions_over_two_products) {
  const product_extents sizes[] = {{40, 33, 17}, {0, 8, 8}, {1, 70, 5}, {65, 64, 40}};
  const auto make = [&](const product_extents& e, std::uint64_t seed) {
    const auto size = [](index_t x, index_t y) { return static_cast<std::size_t>(x * y); };
    const auto a = small_integers<float>(size(e.m, e.k), seed), b0 = small_integers<float>(size(e.k, e.n), seed + 1),
               b1 = small_integers<float>(size(e.k, e.n), seed + 2);
    const auto [r, rows] = this->template out<float>(e.m);
    const auto [c, columns] = this->template out<float>(e.n);
    const auto both = acc_<0> + acc_<1>;
    const auto check = [=, rows = rows, columns = columns] {
      const auto x = product_of(e, a, b0), y = product_of(e, a, b1);
      std::vector<double> tops(static_cast<std::size_t>(e.m), -INFINITY), sums(static_cast<std::size_t>(e.n));
      for (std::size_t i = 0; i < x.value.size(); ++i) {
        const double v = x.value[i] + y.value[i];
        auto &top = tops[i / static_cast<std::size_t>(e.n)], &sum = sums[i % static_cast<std::size_t>(e.n)];
        top = std::max(top, v), sum += v;
      }
      if (e.m == 0) return;
      EXPECT_EQ(as_double(rows->values()), tops) << e;
      EXPECT_EQ(as_double(columns->values()), sums) << e;
    };
    const auto problem = gemm_problem(this->in(a, e.m, e.k), dual(this->in(b0, e.k, e.n), this->in(b1, e.k, e.n)),
                                      reduce_rows<reduction::max>(r, both), reduce_columns<reduction::sum>(c, both));
    return std::pair{problem, check};
  };
  std::vector<decltype(make(sizes[0], 0).first)> list;
  std::vector<decltype(make(sizes[0], 0).second)> checks;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto made = make(sizes[i], 10 * i);
    list.push_back(made.first), checks.push_back(made.second);
  }
  const status s = this->template run<scalars>(list);
  ASSERT_TRUE(s.ok()) << s.message();
  for (const auto& check : checks) check();
}

/// What the tests of arguments share: 64 x 64 operands, one small kernel.
template <class E>
class gemm_list_arguments : public gemm_lists<E> {
 protected:
  void SetUp() override {
    gemm_lists<E>::SetUp();
    if (this->IsSkipped()) return;
    a_ = this->template input<float>(uniform<float>(64 * 64, 1)).data();
    d_ = &this->template output<float>(4 * 64 * 64);
  }
  auto matrix_at(index_t rows = 64) const { return view_on<E>(a_, rows, 64); }
  auto result_at(index_t offset) const { return view_on<E>(d_->data() + offset, 64, 64); }
  auto good(index_t offset = 0) const { return gemm_problem(matrix_at(), matrix_at(), store(result_at(offset), acc)); }
  void expect_refused(const status& s, errc code, std::initializer_list<const char*> texts) {
    EXPECT_EQ(name_of(s.code()), name_of(code)) << s.message();
    for (const char* text : texts)
      EXPECT_NE(s.message().find(text), std::string::npos) << "`" << text << "` is not in: " << s.message();
    EXPECT_TRUE(d_->untouched());
  }
  const float* a_ = nullptr;
  guarded_output<float, typename E::space>* d_ = nullptr;
};
TYPED_TEST_SUITE(gemm_list_arguments, executors, executor_names);

// GEMM-17
TYPED_TEST(gemm_list_arguments, null_and_negative_lists) {
  const auto one = this->good();
  const decltype(&one) null = nullptr;
  this->expect_refused(gemm_grouped<scalars>(this->executor(), null, 2), errc::null_pointer,
                       {"list", "null", "2 problems"});
  this->expect_refused(gemm_grouped<scalars>(this->executor(), &one, -1), errc::bad_shape, {"-1 problems"});
  EXPECT_TRUE(gemm_grouped<scalars>(this->executor(), null, 0).ok());
  const std::vector empty{
      gemm_problem(this->matrix_at(0), this->matrix_at(), store(slice(this->result_at(0), 0, 0, 0), acc))};
  EXPECT_TRUE(gemm_grouped<scalars>(this->executor(), empty).ok());
  EXPECT_EQ(plan_gemm_grouped<scalars>(empty).workspace_size(), 0u);
  EXPECT_TRUE(this->d_->untouched());
}

TYPED_TEST(gemm_list_arguments, the_wrong_problem_is_named) {
  const auto shape = gemm_problem(this->matrix_at(), this->matrix_at(63), store(this->result_at(4096), acc));
  this->expect_refused(this->template run<scalars>(std::vector{this->good(), shape}), errc::bad_shape,
                       {"problem 1", "`b`", "63 rows", "needs 64"});
  const auto null = gemm_problem(view_on<TypeParam>(static_cast<const float*>(nullptr), 64, 64), this->matrix_at(),
                                 store(this->result_at(4096), acc));
  this->expect_refused(this->template run<scalars>(std::vector{null, this->good()}), errc::null_pointer,
                       {"problem 0", "`a`"});
}

TYPED_TEST(gemm_list_arguments, problems_that_share_memory) {
  const tensor<const float, 2, typename TypeParam::space> written = this->result_at(32);
  const auto empty =
      gemm_problem(this->matrix_at(0), this->matrix_at(), store(slice(this->result_at(0), 0, 0, 0), acc));
  const auto reads = gemm_problem(this->matrix_at(), written, store(this->result_at(8192), acc));
  this->expect_refused(this->template run<scalars>(std::vector{this->good(), empty, this->good(4095)}), errc::overlap,
                       {"problem 2", "problem 0", "`output`"});
  this->expect_refused(this->template run<scalars>(std::vector{this->good(), reads}), errc::overlap,
                       {"problem 0", "`b` of problem 1"});
  this->expect_refused(this->template run<scalars>(std::vector{reads, this->good()}), errc::overlap,
                       {"problem 1", "`b` of problem 0"});
  EXPECT_TRUE(this->template run<scalars>(std::vector{this->good(), this->good(4096)}).ok());
}

// Columns of one buffer, side by side: their addresses interleave, their elements do not meet.
TYPED_TEST(gemm_list_arguments, columns_of_one_result) {
  using E = TypeParam;
  const auto all = view_on<E>(this->d_->data(), 64, 256);
  const auto part = [&](index_t from, index_t to) {
    return gemm_problem(this->matrix_at(), slice(this->matrix_at(), 1, 0, to - from),
                        store(slice(all, 1, from, to), acc));
  };
  EXPECT_TRUE(this->template run<scalars>(std::vector{part(0, 60), part(60, 64), part(100, 164), part(200, 256)}).ok());
  EXPECT_TRUE(this->d_->wrote_only(
      [](std::size_t i) { return i % 256 < 64 || (i % 256 >= 100 && i % 256 < 164) || i % 256 >= 200; }));
}

TYPED_TEST(gemm_list_arguments, workspace_too_small) {
  using E = TypeParam;
  const auto plan = plan_gemm_grouped<scalars>(std::vector{this->good(), this->good(4096)});
  if constexpr (E::on_host) {
    EXPECT_EQ(plan.workspace_size(), 0u);
  } else {
    auto& scratch = this->template output<unsigned char>(plan.workspace_size());
    this->expect_refused(plan.run(E{}), errc::workspace_too_small, {"0 bytes"});
    this->expect_refused(plan.run(E{nullptr, {scratch.data(), plan.workspace_size() - 1}}), errc::workspace_too_small,
                         {"needs"});
    this->expect_refused(plan.run(E{nullptr, {scratch.data() + 4, plan.workspace_size()}}), errc::bad_alignment,
                         {"16 bytes"});
    EXPECT_TRUE(scratch.untouched());
    EXPECT_TRUE(plan.run(E{nullptr, {scratch.data(), plan.workspace_size()}}).ok());
  }
}

TYPED_TEST(gemm_list_arguments, plans_explain_the_whole_list) {
  const auto plan = plan_gemm_grouped<scalars>(std::vector{this->good(), this->good(4096), this->good(8192)});
  const auto e = plan.explain();
  EXPECT_STREQ(e.schedule, "serial 32x32x32, 1 stage, simt");
  EXPECT_EQ(e.tiles, 3 * 4);
  EXPECT_EQ(e.operations, 3 * 2.0 * 64 * 64 * 64);
  EXPECT_EQ(e.bytes, 3 * 4.0 * 3 * 64 * 64);
  EXPECT_EQ(e.reason, "asked for");
  EXPECT_NE(plan_gemm_grouped(std::vector{this->good()}).explain().reason, "asked for");
}

}  // namespace
}  // namespace kiln::test
