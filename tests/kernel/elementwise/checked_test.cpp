// Elementwise kernels that pass through shared memory, under a checked run of the host, and without their barriers.
#include <gtest/gtest.h>

#include <kiln/copy.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/view/aos.hpp>
#include <numeric>
#include <vector>

#include "tests/support/deaf_watch.hpp"

namespace kiln::test {
namespace {

/// Tile 0 of a program.
template <class Work>
void expect_tile_watched(const Work& work) {
  using shared = typename Work::shared;
  constexpr int threads = elementwise::elementwise_threads;
  expect_watched<shared, threads>([&](shared& memory) { work.tile(block_scope<on_host, threads>{}, memory, 0); });
}

struct same {
  KILN_FN float operator()(float x) const { return x; }
};
struct add {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};

TEST(checked_elements, transpositions_are_watched) {
  std::vector<float> from(70 * 90), to(70 * 90);
  std::iota(from.begin(), from.end(), 0.0f);
  const auto in = host_view(from.data(), 70, 90);
  ASSERT_EQ(copy(host.with_checks(), transposed(in), host_view(to.data(), 90, 70)).message(), "");
  for (int i = 0; i < 70; ++i)
    for (int j = 0; j < 90; ++j) ASSERT_EQ(to[static_cast<std::size_t>(j * 70 + i)], in(i, j));

  elementwise::transposition<2, float, float, 4, 1, 1> work;
  const index_t extents[] = {90, 70}, strides[2][2] = {{70, 1}, {1, 90}};
  work.nest = elementwise::make_nest<2, 2>(extents, strides);
  work.out = to.data(), work.in = from.data();
  ASSERT_GT(work.cut(0), 0);
  expect_tile_watched(work);
}

TEST(checked_elements, reductions_are_watched) {
  std::vector<float> x(5000, 1.0f);
  float sum = 0;
  const auto view = host_view(x.data(), x.size());
  ASSERT_EQ(reduce(host.with_checks(), view, host_view(&sum, 1), 0.0f, same{}, add{}).message(), "");
  EXPECT_EQ(sum, 5000.0f);

  const auto source = elementwise::make_source(view);
  expect_tile_watched(elementwise::fold<std::remove_const_t<decltype(source)>, float, float, same, add>{
      source, 0.0f, {}, {}, 1, nullptr, &sum});
}

struct place {
  using type = float[3];
};
struct weight {
  using type = float;
};
struct body {
  float x[3], w;
};

TEST(checked_elements, records_are_watched) {
  constexpr std::size_t n = 1500;
  std::vector<body> bodies(n), back(n);
  for (std::size_t i = 0; i < n; ++i) bodies[i] = {{float(i), float(i) + 0.25f, float(i) + 0.5f}, float(i) - 0.5f};
  std::vector<float> x[3], w(n);
  for (auto& v : x) v.resize(n);
  const auto structs = host_aos<place, weight>(bodies.data(), n), result = host_aos<place, weight>(back.data(), n);
  const auto arrays = host_soa<place, weight>({x[0].data(), x[1].data(), x[2].data()}, w.data(), n);
  ASSERT_EQ(copy(host.with_checks(), structs, arrays).message(), "");
  ASSERT_EQ(copy(host.with_checks(), arrays, result).message(), "");
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(x[1][i], bodies[i].x[1]);
    ASSERT_EQ(back[i].x[2], bodies[i].x[2]);
    ASSERT_EQ(back[i].w, bodies[i].w);
  }

  using aos_type = std::remove_const_t<decltype(structs)>;
  using soa_type = std::remove_const_t<decltype(arrays)>;
  // In words of 4 bytes: in those of 16 each thread would have structs of its own.
  expect_tile_watched(elementwise::regrouping<true, aos_type, soa_type>{structs, arrays, false});
  expect_tile_watched(elementwise::regrouping<false, aos_type, soa_type>{structs, arrays, false});
  expect_tile_watched(elementwise::block_regrouping<true, aos_type, soa_type>{structs, arrays});
  expect_tile_watched(elementwise::block_regrouping<false, aos_type, soa_type>{structs, arrays});
}

}  // namespace
}  // namespace kiln::test
