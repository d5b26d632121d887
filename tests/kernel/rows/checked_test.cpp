// Row kernels that pass through shared memory, under a checked run of the host, and without their barriers.
#include <gtest/gtest.h>

#include <kiln/quantise.hpp>
#include <kiln/reduce.hpp>
#include <vector>

#include "tests/support/deaf_watch.hpp"

namespace kiln::test {
namespace {

TEST(checked_rows, column_reductions_are_watched) {
  std::vector<float> x(50 * 20), out(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  const auto in = host_view(x.data(), 50, 20);
  ASSERT_EQ(column_reduce<reduction::sum>(host.with_checks(), in, host_view(out.data(), 20)).message(), "");
  for (std::size_t c = 0; c < 20; ++c) {
    float sum = 0;
    for (std::size_t r = 0; r < 50; ++r) sum += x[r * 20 + c];
    EXPECT_EQ(out[c], sum);
  }

  using program = rows::column_reduce_program<on_host, 1, float, float, reduction::sum>;
  const program work{rows::input_of(in), {out.data(), 1}, 50, 20, {2, 0, 0}};
  expect_watched<program::storage, program::threads>([&](program::storage& shared) { work.run(0, 0, 0, shared); });
}

TEST(checked_rows, ranges_of_columns_are_watched) {
  std::vector<float> x(50 * 20), scales(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  std::vector<std::int8_t> q(x.size());
  const auto in = host_view(x.data(), 50, 20);
  ASSERT_EQ(
      quantise(host.with_checks(), in, host_view(q.data(), 50, 20), per_column_scales(host_view(scales.data(), 20)))
          .message(),
      "");
  EXPECT_EQ(scales[3], 6.0f / 127);

  const auto ignore = [](index_t, index_t, rows::value_range, index_t) {};
  using program = rows::column_range_program<on_host, 4, 4, 1, float, false, std::remove_const_t<decltype(ignore)>>;
  const program work{rows::input_of(in), ignore, 50, 20, 50, 5};
  expect_watched<program::storage, 16>([&](program::storage& shared) { work.run(0, shared); });
}

}  // namespace
}  // namespace kiln::test
