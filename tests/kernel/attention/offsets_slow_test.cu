// Key/value caches whose sequences lie more than 2^31 elements apart.
#include "tests/kernel/attention/problem.hpp"

namespace kiln::test {
namespace {

// ATT-20: a sequence of the cache begins 2^31 + 64 elements behind the one before. Its memory is reserved and hardly
// touched.
TEST(attention_offsets, beyond_two_to_the_31) {
  constexpr index_t apart = (index_t{1} << 31) + 64, dim = 16;
  const std::unique_ptr<f16[]> cache(new (std::nothrow) f16[static_cast<std::size_t>(apart + 2 * dim)]);
  if (cache == nullptr) GTEST_SKIP() << "the system does not reserve 4 GiB";
  std::vector<f16> q(2 * dim, f16(0)), out(2 * dim, f16(-1));
  for (index_t b = 0; b < 2; ++b)
    for (index_t e = 0; e < 2 * dim; ++e)
      cache[static_cast<std::size_t>(b * apart + e)] = f16(static_cast<int>(10 * (b + 1) + e / dim * 2));
  const auto kv = host_view(cache.get(), {2, 2, 1, dim}, {apart, dim, dim, 1});
  const status s = attention(host, host_view(q.data(), 2, 1, 1, dim), kv, kv, host_view(out.data(), 2, 1, 1, dim),
                             {.mask = causal::none});
  ASSERT_TRUE(s.ok()) << s.message();
  for (index_t e = 0; e < 2 * dim; ++e) EXPECT_EQ(as_double(out[static_cast<std::size_t>(e)]), e < dim ? 11 : 21);
}

}  // namespace
}  // namespace kiln::test
