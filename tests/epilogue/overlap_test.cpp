// Sharing of memory between views, against a brute force over all addresses.
#include <gtest/gtest.h>

#include <set>

#include <kiln/view/overlap.hpp>
#include <kiln/view/reshape.hpp>

#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

float buffer[4096];

template <class T, int R>
std::set<std::uintptr_t> bytes_of(const tensor<T, R, host_space, no_unit>& v) {
  std::set<std::uintptr_t> r;
  for (index_t i = 0; i < v.size(); ++i) {
    index_t rest = i, at = 0;
    for (int a = R - 1; a >= 0; --a) at += rest % v.extent(a) * v.stride(a), rest /= v.extent(a);
    for (std::size_t b = 0; b < sizeof(T); ++b) r.insert(reinterpret_cast<std::uintptr_t>(v.data + at) + b);
  }
  return r;
}
template <int R>
tensor<float, R, host_space, no_unit> random_view(std::uint64_t seed) {
  index_t extents[R], strides[R];
  const index_t pitches[] = {1, 2, 3, 8, 16, 24, 64, 65, -1, -8, 0};
  for (std::uint64_t a = 0; a < R; ++a) {
    extents[a] = static_cast<index_t>(hash(seed, 3 * a) % 5);
    strides[a] = pitches[hash(seed, 3 * a + 1) % 11];
  }
  return host_view(buffer + 1024 + hash(seed, 100) % 128, extents, strides);
}

// `none` must be true. The other way round there may be views that are apart and not told so; most are.
TEST(overlap, none_means_none) {
  int apart = 0, told = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const auto x = random_view<3>(2 * seed);
    const auto y = random_view<2>(2 * seed + 1);
    const auto in_x = bytes_of(x);
    bool shared = false;
    for (auto b : bytes_of(y)) shared = shared || in_x.count(b) != 0;
    const overlap o = overlaps(x, y);
    EXPECT_EQ(o, overlaps(y, x)) << seed;
    if (shared) {
      ASSERT_NE(o, overlap::none) << seed;
    }
    apart += !shared, told += o == overlap::none;
  }
  EXPECT_GT(told, apart * 9 / 10) << "of " << apart;
}

TEST(overlap, a_view_that_overlaps_itself_is_told) {
  int fine = 0, told = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const auto x = random_view<3>(seed);
    const bool distinct = bytes_of(x).size() == static_cast<std::size_t>(x.size()) * sizeof(float);
    if (!distinct) {
      ASSERT_TRUE(overlaps_itself(x)) << seed;
    }
    fine += distinct, told += !overlaps_itself(x);
  }
  EXPECT_GT(told, fine * 9 / 10) << "of " << fine;
}

TEST(overlap, same_is_element_by_element) {
  const auto v = host_view(buffer, 8, 8);
  EXPECT_EQ(overlaps(v, v), overlap::same);
  EXPECT_EQ(overlaps(v, host_view(const_cast<const float*>(buffer), 8, 8)), overlap::same);
  EXPECT_EQ(overlaps(v, transposed(v)), overlap::partial);
  EXPECT_EQ(overlaps(v, host_view(buffer, 4, 16)), overlap::partial);
  EXPECT_EQ(overlaps(v, host_view(buffer + 8, 8, 8)), overlap::partial);
  EXPECT_EQ(overlaps(v, host_view(reinterpret_cast<f16*>(buffer), 8, 8)), overlap::partial);
  EXPECT_EQ(overlaps(v, host_view(buffer + 64, 8, 8)), overlap::none);
  // The stride of an axis of one element says nothing.
  EXPECT_EQ(overlaps(host_view(buffer, 1, 8), pitched(host_view(buffer, 1, 8), 100)), overlap::same);
}

// A fused q, k, v buffer; also with batches whose distance is no multiple of the pitch.
TEST(overlap, column_ranges_are_told_apart) {
  const auto qkv = host_view(buffer, 3, 24);
  const auto q = slice(qkv, 1, 0, 8), k = slice(qkv, 1, 8, 16), v = slice(qkv, 1, 16, 24);
  EXPECT_EQ(overlaps(q, k), overlap::none);
  EXPECT_EQ(overlaps(k, q), overlap::none);
  EXPECT_EQ(overlaps(q, v), overlap::none);
  EXPECT_EQ(overlaps(slice(qkv, 1, 0, 9), k), overlap::partial);
  const index_t extents[3] = {4, 3, 8}, strides[3] = {77, 24, 1};
  EXPECT_EQ(overlaps(host_view(buffer, extents, strides), host_view(buffer + 8, extents, strides)), overlap::none);
  EXPECT_EQ(overlaps(host_view(buffer, extents, strides), host_view(buffer + 7, extents, strides)), overlap::partial);
  // Real and imaginary parts side by side.
  const auto z = host_view(buffer, 5, 6);
  EXPECT_EQ(overlaps(strided<1>(z, 2), strided<1>(slice(z, 1, 1, 6), 2)), overlap::none);
}

TEST(overlap, other_memory_and_nothing) {
  EXPECT_EQ(overlaps(host_view(buffer, 4, 4), device_view(buffer, 4, 4)), overlap::none);
  EXPECT_EQ(overlaps(host_view(buffer, 4, 4), host_view(buffer, 0, 4)), overlap::none);
  EXPECT_EQ(overlaps(host_view(static_cast<float*>(nullptr), 4, 4), host_view(static_cast<float*>(nullptr), 4, 4)),
            overlap::none);
}

}  // namespace
}  // namespace kiln::test
