// More batches and more tiles than an axis of a grid counts.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gemm_many_tiles);

using compact = config<tile<64, 64, 64>, warp_tile<32, 32>, stages<3>>;
using persistent = config<tile<128, 64, 64>, stages<4>, warp_specialized>;

// GEMM-13
TYPED_TEST(gemm_many_tiles, batches_beyond_65535) {
  for (const index_t batch : {65535, 65536, 65537, 131073})
    for (const index_t size : {1, 16}) {
      if (TypeParam::on_host && (size != 1 || batch != 65537)) continue;
      const index_t k = size == 1 ? 1 : 8;
      const auto a = matrix_of<float>(batch, size * k, [](index_t b, index_t) { return b % 7; });
      const auto d =
          multiplied<float, by_rows, by_rows>(*this, this->executor(), {size, size, k, batch}, a,
                                              std::vector<float>(static_cast<std::size_t>(batch * k * size), 2));
      expect_matrix(d, batch, size * size, [&](index_t b, index_t) { return 2 * k * (b % 7); });
    }
}

/// One row, or one column, of ones and K = 1 beside beta * C: more tiles than an axis of a grid can count.
template <class Config, class Fixture, class E>
void expect_long(Fixture& test, const E& ex, index_t length, bool row) {
  const auto values = matrix_of<f16>(1, length, [](index_t, index_t j) { return j % 32; });
  auto &a = test.template input<f16>(std::vector<f16>{value_of<f16>(1)}), &b = test.template input<f16>(values);
  auto& c = test.template input<f16>(std::vector<f16>(values.size(), value_of<f16>(1)));
  auto& d = test.template output<f16>(values.size());
  const index_t m = row ? 1 : length, n = row ? length : 1;
  const auto one = view_on<E>(a.data(), 1, 1), many = view_on<E>(b.data(), m == 1 ? 1 : m, m == 1 ? n : 1);
  const auto sink = store(view_on<E>(d.data(), m, n), axpby(1.0f, acc, 1.0f, view_on<E>(c.data(), m, n)));
  const status s = row ? gemm<Config>(ex, one, many, sink) : gemm<Config>(ex, many, one, sink);
  ASSERT_TRUE(s.ok()) << s.message();
  expect_matrix(d.values(), 1, length, [](index_t, index_t j) { return j % 32 + 1; });
}

// GEMM-14
TYPED_TEST(gemm_many_tiles, long_rows_and_columns) {
  const index_t length = TypeParam::on_host ? 256 * 1024 + 3 : 256 * 65536 + 3;
  expect_long<compact>(*this, this->executor(), length, true);
  expect_long<compact>(*this, this->executor(), length, false);
  if constexpr (!TypeParam::on_host)
    if (no_hopper_here<TypeParam>().empty()) expect_long<persistent>(*this, this->executor(), length, true);
}

}  // namespace
}  // namespace kiln::test
