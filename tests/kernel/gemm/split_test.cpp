// Tiles cut along K: parts meet in the workspace, in any order of roles, and the last to arrive adds them up, or in the
// shared memory of a cluster. And workers in shifts. The public call has none of these on the host, which is one
// worker, so this drives the kernel's own parts.
#include <kiln/arch/host/driver.hpp>

#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

template <class Config, class T, class Out, class MakeOrder>
std::vector<Out> product_in_order(const host_executor& ex, const product_extents& e, MakeOrder make) {
  const auto a = uniform<T>(static_cast<std::size_t>(e.batch * e.m * e.k), 61),
             b = uniform<T>(static_cast<std::size_t>(e.batch * e.n * e.k), 62);
  const placement<by_rows> at_a(placed::wide_pitch, e.batch, e.m, e.k);
  const placement<by_columns> at_b(placed::wide_pitch, e.batch, e.k, e.n);
  guarded_input<T, host_space> da(at_a.spread(a)), db(at_b.spread(b));
  guarded_output<Out, host_space> d(static_cast<std::size_t>(e.batch * e.m * e.n),
                                    std::is_integral_v<Out> ? prefill::x55 : prefill::nan);
  const auto arguments = detail::gemm_arguments_of(at_a.template view<host_executor>(da.data()),
                                                   at_b.template view<host_executor>(db.data()),
                                                   store(host_view(d.data(), e.batch, e.m, e.n), acc));
  using kernel = hopper_gemm<std::remove_const_t<decltype(arguments)>, Config>;
  typename kernel::parameters p{};
  p.arguments = arguments;
  EXPECT_TRUE(kernel::program::make_maps(p).ok());
  const auto rows = static_cast<std::uint32_t>(ceil_div<index_t>(e.m, kernel::tile_m)),
             cols = static_cast<std::uint32_t>(ceil_div<index_t>(e.n, kernel::tile_n));
  const tile_order tiles{rows, cols, static_cast<std::uint32_t>(e.batch), 2};
  const auto steps = static_cast<std::uint32_t>(ceil_div<index_t>(e.k, kernel::tile_k));
  const work_order w = make(tiles, steps);
  guarded_output<unsigned char, host_space> scratch(kernel::split_bytes(w));
  if (scratch.size() != 0) std::memset(scratch.data(), 0, kernel::counter_bytes(w));
  kernel::place_split(p, w, scratch.data());
  const status s = kernel::run_on_host(ex, p, w);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_TRUE(da.intact() && db.intact() && d.intact() && scratch.intact());

  const auto values = d.values();
  const auto want = product_of(e, a, b);
  mismatches wrong;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = sum_error<T, T, host_executor>(e.k, want.magnitude[i]);
    const auto number = static_cast<index_t>(i);
    if (!is_near(values[i], want.value[i], error))
      wrong.add("D", number / (e.m * e.n), number / e.n % e.m, number % e.n, as_double(values[i]), want.value[i],
                error);
  }
  return values;
}

template <class Config, class T, class Out>
std::vector<Out> split_product(const host_executor& ex, const product_extents& e, std::uint32_t workers,
                               bool expect_parts = true, std::uint32_t stay = 0) {
  return product_in_order<Config, T, Out>(ex, e, [&](const tile_order& tiles, std::uint32_t steps) {
    const work_order w =
        stay > 0 ? make_shifts(tiles, workers, steps, stay) : make_work_order(tiles, workers, steps, true);
    EXPECT_EQ(w.streamed > 0, expect_parts);
    return w;
  });
}
/// Each tile by as many blocks of a cluster.
template <class Config, class T, class Out>
std::vector<Out> joined_product(const host_executor& ex, const product_extents& e, std::uint32_t together) {
  SCOPED_TRACE(std::to_string(together) + " blocks");
  return product_in_order<Config, T, Out>(
      ex, e, [&](const tile_order& tiles, std::uint32_t steps) { return make_joined_order(tiles, steps, together); });
}

using one_block = config<tile<128, 64, 64>, stages<3>, warp_specialized>;
using two_blocks = config<tile<128, 64, 64>, stages<3>, cluster<2>, warp_specialized>;

TEST(gemm_split, few_tiles_over_many_workers) {
  for (const std::uint32_t workers : {3u, 5u, 7u})
    split_product<one_block, bf16, float>(host.with_checks(), {130, 60, 1000, 1}, workers);
}

TEST(gemm_split, tiles_beyond_a_wave) { split_product<one_block, f16, f16>(host.with_checks(), {200, 200, 520, 2}, 5); }

TEST(gemm_split, whole_waves_stay_whole) {
  split_product<one_block, f16, f16>(host.with_checks(), {200, 100, 200, 1}, 4, false);
}

TEST(gemm_split, workers_in_shifts) {
  using turns = config<tile<64, 64, 64>, stages<3>, cluster<2>, ping_pong, warp_specialized>;
  split_product<one_block, f16, f16>(host.with_checks(), {400, 200, 200, 1}, 2, false, 3);
  split_product<two_blocks, bf16, float>(host.with_checks(), {600, 100, 70, 2}, 2, false, 1);
  split_product<turns, bf16, float>(host.with_checks().with_order(order::random, 3), {600, 100, 130, 2}, 2, false, 3);
}

TEST(gemm_split, clusters) {
  split_product<two_blocks, bf16, float>(host.with_checks(), {300, 100, 776, 1}, 3);
  split_product<two_blocks, bf16, float>(host.with_checks().with_order(order::random, 9), {300, 200, 520, 1}, 5);
}

TEST(gemm_split, integers) {
  split_product<config<tile<128, 32, 128>, stages<2>, warp_specialized>, std::int8_t, std::int32_t>(
      host.with_checks(), {100, 60, 1300, 1}, 3);
}

TEST(gemm_split, the_order_of_roles_does_not_change_a_bit) {
  const product_extents e{130, 60, 1000, 1};
  const auto first = split_product<one_block, bf16, float>(host.with_checks(), e, 5);
  EXPECT_EQ(first, (split_product<one_block, bf16, float>(host.with_checks().with_order(order::late), e, 5)));
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    EXPECT_EQ(first, (split_product<one_block, bf16, float>(host.with_checks().with_order(order::random, seed), e, 5)));
}

using in_turn = config<tile<64, 32, 64>, stages<4>, ping_pong, warp_specialized>;

TEST(gemm_joined, blocks_of_a_cluster_have_a_tile_together) {
  const auto all_orders = [](auto product) {
    const auto first = product(host.with_checks());
    EXPECT_EQ(first, product(host.with_checks().with_order(order::late)));
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      EXPECT_EQ(first, product(host.with_checks().with_order(order::random, seed)));
  };
  using deep = config<tile<128, 32, 64>, stages<4>, warp_specialized>;
  for (const std::uint32_t together : {2u, 3u, 4u}) {
    all_orders([&](const auto& ex) { return joined_product<deep, bf16, float>(ex, {130, 60, 1000, 1}, together); });
    all_orders([&](const auto& ex) { return joined_product<in_turn, f16, f16>(ex, {70, 30, 500, 2}, together); });
  }
  all_orders([&](const auto& ex) { return joined_product<deep, f16, f16>(ex, {20, 30, 520, 1}, 8); });
  all_orders([&](const auto& ex) { return joined_product<deep, f16, f16>(ex, {20, 30, 520, 1}, 7); });
}

TEST(gemm_joined, integers_and_promoted_sums) {
  joined_product<config<tile<128, 32, 128>, stages<4>, warp_specialized>, std::int8_t, std::int32_t>(
      host.with_checks(), {100, 60, 1300, 1}, 4);
  joined_product<config<tile<128, 32, 128>, stages<4>, warp_specialized>, e4m3, float>(host.with_checks(),
                                                                                       {100, 60, 1300, 1}, 4);
}

// GEMM-11: the first half of the sum is 131072, beyond float16; parts stay float32 wherever K is cut.
TEST(gemm_split, parts_beyond_the_range_of_float16_cancel_exactly) {
  std::vector<f16> a(4096), b(4096, value_of<f16>(8));
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = value_of<f16>(k < 2048 ? 8 : -8);
  const guarded_input<f16, host_space> da(a), db(b);
  for (const std::uint32_t workers : {1u, 2u, 4u, 8u}) {
    const guarded_output<f16, host_space> d(1);
    const auto arguments =
        detail::gemm_arguments_of(host_view(da.data(), 1, 4096), transposed(host_view(db.data(), 1, 4096)),
                                  store(host_view(d.data(), 1, 1), acc));
    using kernel = hopper_gemm<std::remove_const_t<decltype(arguments)>, one_block>;
    typename kernel::parameters p{};
    p.arguments = arguments;
    ASSERT_TRUE(kernel::program::make_maps(p).ok());
    const work_order w = make_work_order({1, 1, 1, 1}, workers, 64, true);
    std::vector<float> scratch(kernel::split_bytes(w) / sizeof(float) + 4);
    kernel::place_split(p, w, scratch.data());
    ASSERT_TRUE(kernel::run_on_host(host, p, w).ok());
    EXPECT_EQ(as_double(d.values()[0]), 0) << workers << " parts";
  }
}

}  // namespace
}  // namespace kiln::test
