// What has gone wrong in attention kernels elsewhere, each as a case with a known answer.
#include <memory>
#include <new>

#include "tests/kernel/attention/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(attention_cases);

constexpr double infinity = INFINITY, nan = NAN;

/// Rows of `out` of head h at query i: all columns equal `expected` within `within`.
void expect_row(const attention_problem& p, const attention_result& r, index_t b, index_t i, index_t h, double expected,
                double within = 0) {
  for (index_t c = 0; c < p.value_dim; ++c)
    EXPECT_NEAR(r.out[p.out_at(b, i, h, c)], expected, within)
        << "sequence " << b << ", query " << i << ", head " << h << ", column " << c;
}

// ATT-01
TYPED_TEST(attention_cases, keys_behind_the_last_weigh_nothing) {
  for (index_t keys : {1, 63, 64, 65, 127, 192})
    for (index_t queries : {1, 17, 65}) {
      const attention_problem p{.queries = queries, .keys = keys, .dim = 64, .value_dim = 64};
      const auto r = attend<automatic, f16>(*this, this->executor(), p, filled<f16>(p, 0, 0.5, 1));
      for (index_t i = 0; i < queries; ++i) expect_row(p, r, 0, i, 0, 1);
      for (double l : r.lse) EXPECT_NEAR(l, std::log(static_cast<double>(keys)), 1e-6);
    }
}

// ATT-02, P3
TYPED_TEST(attention_cases, causal_masks_are_aligned_as_asked) {
  attention_problem p{.queries = 2, .keys = 5, .dim = 8, .value_dim = 8};
  auto x = filled<float>(p, 0, 0, 0);
  for (index_t j = 0; j < 5; ++j)
    for (index_t c = 0; c < 8; ++c) x.v[p.v_at(0, j, 0, c)] = static_cast<float>(j);
  const auto rows = [&](causal mask, double first, double second) {
    p.mask = mask;
    const auto r = attend<automatic, float>(*this, this->executor(), p, x);
    expect_row(p, r, 0, 0, 0, first, 1e-6), expect_row(p, r, 0, 1, 0, second, 1e-6);
  };
  rows(causal::bottom_right, 1.5, 2);
  rows(causal::top_left, 0, 0.5);
  rows(causal::none, 2, 2);
}

// ATT-04, P1, P2: with fewer keys than queries the first queries see none.
TYPED_TEST(attention_cases, a_query_that_sees_no_key_gives_zero) {
  const attention_problem p{.queries = 8, .keys = 4, .dim = 16, .value_dim = 16, .mask = causal::bottom_right};
  const auto check = [&]<class T>(T) {
    const auto r = attend<automatic, T>(*this, this->executor(), p, filled<T>(p, 1, 1, 1));
    for (index_t i = 0; i < 8; ++i) {
      expect_row(p, r, 0, i, 0, i < 4 ? 0 : 1);
      EXPECT_EQ(std::isinf(r.lse[p.lse_at(0, i, 0)]), i < 4);
    }
  };
  check(f16{}), check(float{});
}

// ATT-07: in keys behind a length, and in keys that a later query may see.
TYPED_TEST(attention_cases, what_lies_in_a_masked_key_does_not_matter) {
  const auto behind_the_length = [&]<class T>(T) {
    const attention_problem p{.keys = 2, .dim = 8, .value_dim = 8, .key_lengths = {1}};
    for (double bad : {nan, 1e4, infinity, -infinity}) {
      auto x = filled<T>(p, 1, 1, 5);
      for (index_t c = 0; c < 8; ++c)
        x.k[p.k_at(0, 1, 0, c)] = value_of<T>(bad), x.v[p.v_at(0, 1, 0, c)] = value_of<T>(c % 2 == 0 ? bad : 7);
      expect_row(p, attend<automatic, T>(*this, this->executor(), p, x), 0, 0, 0, 5);
    }
  };
  behind_the_length(f16{}), behind_the_length(bf16{}), behind_the_length(float{});

  const auto not_yet_seen = [&]<class T>(T) {
    const attention_problem p{
        .queries = 70, .keys = 70, .heads = 2, .kv_heads = 1, .dim = 64, .value_dim = 64, .mask = causal::top_left};
    for (index_t j : {1, 20, 69})
      for (double bad : {nan, infinity, -infinity}) {
        auto x = filled<T>(p, 1, 0, 5);
        x.v[p.v_at(0, j, 0, 3)] = value_of<T>(bad);
        const auto r = attend<automatic, T>(*this, this->executor(), p, x);
        x.k[p.k_at(0, j, 0, 0)] = value_of<T>(nan);
        const auto s = attend<automatic, T>(*this, this->executor(), p, x);
        // Fives weighed by at most 64 equal weights, which float32 adds up with a rounding each.
        const double within =
            5 * (70 * 0x1p-23 + weight_rounding<T, TypeParam>()) + 5 * std::ldexp(1.0, -limits<T>::digits);
        for (index_t i = 0; i < 70; ++i)
          for (index_t c = 0; c < 64; ++c) {
            const double y = r.out[p.out_at(0, i, 1, c)], z = s.out[p.out_at(0, i, 1, c)];
            if (i < j) {
              EXPECT_NEAR(y, 5, within) << i << ", " << c;
              EXPECT_NEAR(z, 5, within) << i << ", " << c;
            } else {
              EXPECT_TRUE(std::isnan(z)) << i << ", " << c;
              EXPECT_TRUE(c != 3            ? std::abs(y - 5) <= within
                          : std::isnan(bad) ? std::isnan(y)
                                            : y == bad)
                  << i << ", " << c << ": " << y;
            }
          }
      }
  };
  not_yet_seen(f16{}), not_yet_seen(bf16{}), not_yet_seen(float{});
}

// ATT-09, GLM-10
TYPED_TEST(attention_cases, a_head_reads_the_keys_of_its_group) {
  const auto check = [&]<class T>(T, index_t heads, index_t kv_heads, index_t dim) {
    const attention_problem p{.queries = 4,
                              .keys = 4,
                              .heads = heads,
                              .kv_heads = kv_heads,
                              .dim = dim,
                              .value_dim = dim,
                              .mask = causal::bottom_right};
    auto x = filled<T>(p, 0, 1, 0);
    for (index_t j = 0; j < 4; ++j)
      for (index_t h = 0; h < kv_heads; ++h)
        for (index_t c = 0; c < dim; ++c) x.v[p.v_at(0, j, h, c)] = value_of<T>(static_cast<double>(100 * h + j));
    const auto r = attend<automatic, float>(*this, this->executor(), p, x);
    for (index_t h = 0; h < heads; ++h)
      for (index_t i = 0; i < 4; ++i) {
        const double expected = 100.0 * static_cast<double>(h / (heads / kv_heads)) + static_cast<double>(i) / 2;
        expect_row(p, r, 0, i, h, expected, expected * 0x1p-20);
      }
  };
  check(f16{}, 8, 2, 16), check(f16{}, 12, 2, 16), check(f16{}, 32, 2, 16), check(f16{}, 48, 2, 16),
      check(f16{}, 5, 1, 16), check(float{}, 12, 2, 16);
  for (index_t ratio : {16, 6, 4, 20}) check(f16{}, 2 * ratio, 2, 128);
}

// ATT-13: the dot product is 131072, more than f16 holds.
TYPED_TEST(attention_cases, scores_beyond_half_precision) {
  const attention_problem p{.keys = 2, .dim = 128, .value_dim = 128};
  auto x = filled<f16>(p, 32, 32, 1);
  for (index_t c = 0; c < 128; ++c) x.v[p.v_at(0, 1, 0, c)] = f16(3);
  expect_row(p, attend<automatic, f16>(*this, this->executor(), p, x), 0, 0, 0, 2);
}

// ATT-14: the maximum rises with every key.
TYPED_TEST(attention_cases, a_long_row_of_growing_scores) {
  const attention_problem p{.keys = 4096, .dim = 64, .value_dim = 64, .scale = 1.0f};
  auto x = filled<f16>(p, 0, 0, 1);
  x.q[0] = f16(1);
  for (index_t j = 0; j < 4096; ++j) {
    x.k[p.k_at(0, j, 0, 0)] = value_of<f16>(static_cast<double>(j) * 0.01);
    x.v[p.v_at(0, j, 0, 1)] = value_of<f16>(static_cast<double>(j % 2));
  }
  const auto r = attend<automatic, float>(*this, this->executor(), p, x);
  const auto want = reference_of<f16, float>(p, x, weight_rounding<f16, TypeParam>());
  expect_within(p, r, want);
  EXPECT_NEAR(r.out[0], 1, 1e-3);
  EXPECT_NEAR(r.out[1], want.exact.out[1], 2e-3);
}

// ATT-17: what lies behind a row is NaN.
TYPED_TEST(attention_cases, odd_head_dimensions) {
  for (index_t dim : {1, 40, 46, 63, 72, 80, 96, 100, 256})
    for (placed how : {placed::packed, placed::padded}) {
      const attention_problem p{.keys = 3, .dim = dim, .value_dim = dim, .scale = 1 / static_cast<float>(dim)};
      auto x = filled<f16>(p, 1, 1, 0);
      for (index_t j = 0; j < 3; ++j)
        for (index_t c = 0; c < dim; ++c) x.v[p.v_at(0, j, 0, c)] = f16(static_cast<int>(100 * j + c));
      const auto r = attend<automatic, f16>(*this, this->executor(), p, x, how);
      for (index_t c = 0; c < dim; ++c) {
        const double expected = 100 + static_cast<double>(c);
        EXPECT_NEAR(r.out[p.out_at(0, 0, 0, c)], expected, std::ldexp(1.0, std::ilogb(expected) - 10))
            << dim << ", column " << c;
      }
    }
}

// ATT-18
TYPED_TEST(attention_cases, values_wider_and_narrower_than_keys) {
  const auto check = [&]<class T>(T, index_t dim, index_t value_dim) {
    const attention_problem p{.keys = 2, .dim = dim, .value_dim = value_dim};
    auto x = filled<T>(p, 0, 1, 0);
    for (index_t j = 0; j < 2; ++j)
      for (index_t c = 0; c < value_dim; ++c) x.v[p.v_at(0, j, 0, c)] = value_of<T>(static_cast<double>(c));
    const auto r = attend<automatic, T>(*this, this->executor(), p, x);
    for (index_t c = 0; c < value_dim; ++c) EXPECT_EQ(r.out[p.out_at(0, 0, 0, c)], static_cast<double>(c));
  };
  check(f16{}, 64, 128), check(f16{}, 128, 64), check(float{}, 64, 128), check(float{}, 200, 1), check(float{}, 1, 200);
}

// ATT-19
TYPED_TEST(attention_cases, a_sequence_gets_the_same_bits_alone_and_among_others) {
  constexpr index_t keys = 19802;
  const attention_problem alone{
      .keys = keys, .heads = 14, .kv_heads = 2, .dim = 64, .value_dim = 64, .mask = causal::bottom_right};
  attention_problem among = alone;
  among.batch = 3, among.queries = 10, among.key_lengths = {9, keys, 10}, among.query_lengths = {9, 1, 10};
  const auto x = hashed_operands<bf16>(alone, 1);
  auto y = hashed_operands<bf16>(among, 50);
  std::copy(x.q.begin(), x.q.end(), y.q.begin() + static_cast<std::ptrdiff_t>(among.q_at(1, 0, 0, 0)));
  std::copy(x.k.begin(), x.k.end(), y.k.begin() + static_cast<std::ptrdiff_t>(among.k_at(1, 0, 0, 0)));
  std::copy(x.v.begin(), x.v.end(), y.v.begin() + static_cast<std::ptrdiff_t>(among.v_at(1, 0, 0, 0)));
  const auto expected = attend<automatic, float>(*this, this->executor(), alone, x);
  for (int repeat = 0; repeat < (TypeParam::on_host ? 2 : 20); ++repeat) {
    EXPECT_EQ((attend<automatic, float>(*this, this->executor(), alone, x).out), expected.out);
    const auto r = attend<automatic, float>(*this, this->executor(), among, y);
    for (index_t h = 0; h < 14; ++h) {
      EXPECT_EQ(r.lse[among.lse_at(1, 0, h)], expected.lse[alone.lse_at(0, 0, h)]);
      for (index_t c = 0; c < 64; ++c)
        EXPECT_EQ(r.out[among.out_at(1, 0, h, c)], expected.out[alone.out_at(0, 0, h, c)]);
    }
  }
}

// The queries of a prompt in one call, and one by one behind a growing cache.
TYPED_TEST(attention_cases, a_prompt_gets_the_same_bits_whole_and_token_by_token) {
  const attention_problem whole{
      .queries = 37, .keys = 37, .heads = 6, .kv_heads = 2, .dim = 64, .value_dim = 64, .mask = causal::bottom_right};
  const auto x = hashed_operands<bf16>(whole, 11);
  const auto expected = attend<automatic, bf16>(*this, this->executor(), whole, x);
  for (index_t i = 0; i < 37; ++i) {
    attention_problem one = whole;
    one.queries = 1, one.key_lengths = {static_cast<std::int32_t>(i + 1)};
    auto y = x;
    y.q.assign(x.q.begin() + static_cast<std::ptrdiff_t>(whole.q_at(0, i, 0, 0)),
               x.q.begin() + static_cast<std::ptrdiff_t>(whole.q_at(0, i, 0, 0) + one.q_size()));
    const auto r = attend<automatic, bf16>(*this, this->executor(), one, y);
    for (index_t h = 0; h < 6; ++h)
      for (index_t c = 0; c < 64; ++c)
        EXPECT_EQ(r.out[one.out_at(0, 0, h, c)], expected.out[whole.out_at(0, i, h, c)]) << i;
  }
}

// ATT-21
TYPED_TEST(attention_cases, a_sequence_without_keys) {
  const attention_problem p{.batch = 3, .keys = 3, .dim = 32, .value_dim = 32, .key_lengths = {0, 3, 0}};
  const auto check = [&]<class T>(T) {
    const auto r = attend<automatic, T>(*this, this->executor(), p, filled<T>(p, 0, 1, 4));
    expect_row(p, r, 0, 0, 0, 0), expect_row(p, r, 1, 0, 0, 4), expect_row(p, r, 2, 0, 0, 0);
    EXPECT_EQ(r.lse[0], -infinity);
    EXPECT_NEAR(r.lse[1], std::log(3.0), 1e-6);
    EXPECT_EQ(r.lse[2], -infinity);
  };
  check(f16{}), check(float{});
}

// A score of +inf or NaN that is seen gives NaN, and only in its own row.
TYPED_TEST(attention_cases, not_finite_queries_stay_in_their_row) {
  const attention_problem p{.queries = 20, .keys = 20, .dim = 64, .value_dim = 64};
  auto x = filled<f16>(p, 1, 1, 2);
  x.q[p.q_at(0, 3, 0, 5)] = value_of<f16>(nan);
  x.q[p.q_at(0, 4, 0, 5)] = value_of<f16>(infinity);
  const auto r = attend<automatic, f16>(*this, this->executor(), p, x);
  for (index_t i = 0; i < 20; ++i)
    for (index_t c = 0; c < 64; ++c) EXPECT_EQ(std::isnan(r.out[p.out_at(0, i, 0, c)]), i == 3 || i == 4) << i;
}

TYPED_TEST(attention_cases, the_result_may_replace_the_queries) {
  const attention_problem p{.batch = 2,
                            .queries = 40,
                            .keys = 50,
                            .heads = 4,
                            .kv_heads = 2,
                            .dim = 64,
                            .value_dim = 64,
                            .mask = causal::bottom_right};
  const auto x = hashed_operands<bf16>(p, 4);
  const auto expected = attend<automatic, bf16>(*this, this->executor(), p, x);
  auto& q = this->template output<bf16>(p.q_size());
  memory<typename TypeParam::space>::upload(q.data(), x.q.data(), x.q.size() * sizeof(bf16));
  auto& k = this->input(x.k);
  auto& v = this->input(x.v);
  const auto both = view_on<TypeParam>(q.data(), 2, 40, 4, 64);
  const status s = attention(this->executor(), both, view_on<TypeParam>(k.data(), 2, 50, 2, 64),
                             view_on<TypeParam>(v.data(), 2, 50, 2, 64), both, {.mask = p.mask});
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(as_double(q.values()), expected.out);
}

}  // namespace
}  // namespace kiln::test
