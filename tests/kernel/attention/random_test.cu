// Attention of many shapes and layouts against float64.
#include "tests/kernel/attention/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(attention_shapes);

template <class Out, class T, class Fixture>
void check(Fixture& test, const attention_problem& p, std::uint64_t seed, placed how = placed::packed) {
  using E = decltype(test.executor());
  SCOPED_TRACE(::testing::Message() << "batch " << p.batch << ", queries " << p.queries << ", keys " << p.keys
                                    << ", heads " << p.heads << "/" << p.kv_heads << ", dims " << p.dim << "/"
                                    << p.value_dim << ", mask " << static_cast<int>(p.mask) << ", placed "
                                    << static_cast<int>(how) << ", seed " << seed);
  const auto x = hashed_operands<T>(p, seed);
  const auto r = attend<automatic, Out>(test, test.executor(), p, x, how);
  expect_within(p, r, reference_of<T, Out>(p, x, weight_rounding<T, E>()));
}

/// A problem made from its number: every extent, mask and ragged length varies.
attention_problem problem_of(std::uint64_t seed) {
  auto among = [&, n = std::uint64_t{0}](auto... values) mutable {
    const index_t list[] = {values...};
    return list[hash(seed, n++) % sizeof...(values)];
  };
  attention_problem p;
  p.batch = among(1, 2, 3);
  p.queries = among(1, 1, 7, 17, 33, 65);
  p.keys = among(1, 7, 31, 33, 64, 65, 130);
  p.kv_heads = among(1, 2);
  p.heads = p.kv_heads * among(1, 2, 3, 6, 16);
  p.dim = among(1, 7, 33, 46, 64, 65, 128, 130);
  p.value_dim = among(1, 8, 33, 64, 65, 128);
  p.mask = static_cast<causal>(among(1, 2, 3));
  if (among(0, 1) == 1)
    for (index_t b = 0; b < p.batch; ++b)
      p.key_lengths.push_back(static_cast<std::int32_t>(hash(seed, 100 + static_cast<std::uint64_t>(b)) %
                                                        static_cast<std::uint64_t>(p.keys + 1)));
  if (among(0, 0, 1) == 1)
    for (index_t b = 0; b < p.batch; ++b)
      p.query_lengths.push_back(static_cast<std::int32_t>(hash(seed, 200 + static_cast<std::uint64_t>(b)) %
                                                          static_cast<std::uint64_t>(p.queries + 1)));
  if (among(0, 0, 1) == 1) p.scale = -0.25f;
  return p;
}

constexpr placed all_places[] = {placed::packed, placed::misaligned, placed::padded, placed::spread,
                                 placed::heads_first};

TYPED_TEST(attention_shapes, float32) {
  for (std::uint64_t seed = 0; seed < 24; ++seed)
    check<float, float>(*this, problem_of(seed), seed, all_places[seed % 5]);
}
TYPED_TEST(attention_shapes, float16) {
  for (std::uint64_t seed = 100; seed < 124; ++seed)
    check<f16, f16>(*this, problem_of(seed), seed, all_places[seed % 5]);
}
TYPED_TEST(attention_shapes, bfloat16) {
  for (std::uint64_t seed = 200; seed < 224; ++seed)
    check<bf16, bf16>(*this, problem_of(seed), seed, all_places[seed % 5]);
}
TYPED_TEST(attention_shapes, a_float_result_of_bfloat16) {
  for (std::uint64_t seed = 300; seed < 306; ++seed)
    check<float, bf16>(*this, problem_of(seed), seed, all_places[seed % 5]);
}

// One token behind a cache, and a prompt: the two shapes of a language model.
TYPED_TEST(attention_shapes, decoding_and_prompts_of_large_heads) {
  for (index_t dim : {128, 256}) {
    check<bf16, bf16>(*this,
                      {.batch = 2,
                       .queries = 1,
                       .keys = 200,
                       .heads = 32,
                       .kv_heads = 2,
                       .dim = dim,
                       .value_dim = dim,
                       .mask = causal::bottom_right,
                       .key_lengths = {200, 77}},
                      7);
    check<bf16, bf16>(*this,
                      {.batch = 1,
                       .queries = 40,
                       .keys = 70,
                       .heads = 8,
                       .kv_heads = 2,
                       .dim = dim,
                       .value_dim = dim,
                       .mask = causal::bottom_right},
                      8);
  }
}

}  // namespace
}  // namespace kiln::test
