// Leaves, arithmetic and stores: what is read where, in which type it is computed, how it is rounded.
#include <cmath>
#include <limits>

#include <kiln/view/reshape.hpp>

#include "tests/epilogue/evaluate.hpp"

namespace kiln::test {
namespace {

template <class E>
class expressions : public on_matrix<E> {};
TYPED_TEST_SUITE(expressions, executors, executor_names);

using floats = std::vector<float>;
using ints = std::vector<std::int32_t>;

// EPI-01: a bias of rank 1, 2 or 3 is the same bias; a full matrix is another thing.
TYPED_TEST(expressions, bias_of_any_rank) {
  const floats zero(6, 0.0f), rows{10, 20, 30, 10, 20, 30}, full{1, 2, 3, 4, 5, 6};
  auto& bias = this->template input<float>({10, 20, 30});
  EXPECT_EQ((this->template stored<float>(zero, 2, 3, acc + per_column(this->view(bias.data(), 3)))), rows);
  EXPECT_EQ((this->template stored<float>(zero, 2, 3, acc + per_column(this->view(bias.data(), 1, 3)))), rows);
  EXPECT_EQ((this->template stored<float>(zero, 2, 3, acc + per_column(this->view(bias.data(), 1, 1, 3)))), rows);
  EXPECT_EQ((this->template stored<float>(zero, 2, 3, acc + elem(this->view(this->input(full).data(), 2, 3)))), full);
}

// EPI-02: square, so that a swap is not caught by the shape.
TYPED_TEST(expressions, per_row_is_not_per_column) {
  const floats zero(9, 0.0f);
  auto& v = this->template input<float>({1, 2, 3});
  const auto view = this->view(v.data(), 3);
  const floats rows{1, 1, 1, 2, 2, 2, 3, 3, 3}, columns{1, 2, 3, 1, 2, 3, 1, 2, 3};
  EXPECT_EQ((this->template stored<float>(zero, 3, 3, acc + per_row(view))), rows);
  EXPECT_EQ((this->template stored<float>(zero, 3, 3, acc + per_column(view))), columns);
  // A view of stride 0 as C.
  EXPECT_EQ((this->template stored<float>(zero, 3, 3, axpby(1, acc, 1, broadcast<1>(view, 3)))), rows);
  EXPECT_EQ((this->template stored<float>(zero, 3, 3, axpby(1, acc, 1, broadcast<0>(view, 3)))), columns);
  EXPECT_EQ((this->template stored<float>(zero, 3, 3, acc + elem(broadcast<1>(view, 3)))), rows);
  EXPECT_EQ((this->template stored<float>(zero, 3, 3, acc * 5 + per_tensor(this->view(v.data() + 2, 1)))),
            floats(9, 3.0f));
}

// EPI-05: a float scale on integers gives floats, also behind relu.
TYPED_TEST(expressions, dequantised_values_are_not_truncated) {
  EXPECT_EQ((this->template stored<float>(ints{5}, 1, 1, relu(acc * 0.5f))), floats{2.5f});
  EXPECT_EQ((this->template stored<float>(ints{5}, 1, 1, relu(acc * -0.5))), floats{0.0f});
  EXPECT_EQ((this->template stored<float>(ints{5}, 1, 1, relu(acc) * 0.5f)), floats{2.5f});
}

// EPI-06: the range is the type's, from integers as from floats.
TYPED_TEST(expressions, stores_saturate_to_the_type) {
  using std::vector;
  EXPECT_EQ((this->template stored<std::uint8_t>(ints{-5, 100, 200, 300}, 1, 4, acc)),
            (vector<std::uint8_t>{0, 100, 200, 255}));
  EXPECT_EQ((this->template stored<std::uint8_t>(floats{-5, 100, 200, 300}, 1, 4, acc)),
            (vector<std::uint8_t>{0, 100, 200, 255}));
  EXPECT_EQ((this->template stored<std::int8_t>(ints{-129, -128, 127, 300}, 1, 4, acc)),
            (vector<std::int8_t>{-128, -128, 127, 127}));
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ((this->template stored<std::int8_t, 8>(floats{0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -129, nan, inf, 126.5f}, 1, 9,
                                                   acc)),
            (vector<std::int8_t>{0, 2, 2, 0, -2, -128, 0, 127, 126}));
  // The tail of a place rounds and saturates as a full one does.
  for (float x : {449.0f, 1e9f, -1e9f, inf}) {
    const auto y = this->template stored<e4m3, 8>(floats(13, x), 1, 13, acc);
    for (const auto& e : y) EXPECT_EQ(as_double(e), std::copysign(448.0, x));
  }
  EXPECT_TRUE(std::isnan(as_double(this->template stored<e4m3>(floats{nan}, 1, 1, acc)[0])));
  EXPECT_EQ(as_double(this->template stored<f16>(floats{70000}, 1, 1, acc)[0]),
            std::numeric_limits<double>::infinity());
}

// EPI-07, and the scaled-back int8 product of W8A8.
TYPED_TEST(expressions, large_sums_scale_down_exactly) {
  EXPECT_EQ((this->template stored<std::int8_t>(ints{5120000}, 1, 1, acc * (1.0f / 65536))),
            std::vector<std::int8_t>{78});
  auto& rows = this->template input<float>({0.5f, 2});
  auto& columns = this->template input<float>({1, 4, 8});
  const auto y = this->template stored<bf16>(
      ints{1, 2, 3, 4, 5, 6}, 2, 3,
      acc * per_row(this->view(rows.data(), 2)) * per_column(this->view(columns.data(), 3)));
  EXPECT_EQ(as_double(y), (std::vector<double>{0.5, 4, 12, 8, 40, 96}));
}

// GEMM-15's epilogue: integers beyond 24 bits never pass through a float.
TYPED_TEST(expressions, integers_stay_integers) {
  const ints a{16777217, 2147467264, -16777217, 7};
  EXPECT_EQ((this->template stored<std::int32_t>(a, 1, 4, acc)), a);
  EXPECT_EQ((this->template stored<std::int32_t>(a, 1, 4, acc * 1 + 0)), a);
  EXPECT_EQ((this->template stored<std::int32_t>(ints{16777217, -5}, 1, 2, max(-acc * 2 - 1, -100))), (ints{-100, 9}));
  auto& c = this->template input<std::int32_t>({16777217, 3});
  EXPECT_EQ((this->template stored<std::int32_t>(ints{0, 1}, 1, 2, axpby(1, acc, 1, this->view(c.data(), 1, 2)))),
            (ints{16777217, 4}));
  EXPECT_EQ((this->template stored<std::int32_t>(ints{5, 7}, 1, 2, round_to<std::int32_t>(acc * 0.5f))), (ints{2, 4}));
  EXPECT_EQ((this->template stored<float>(ints{5, 7}, 1, 2, acc / 2)), (floats{2.5f, 3.5f}));
  EXPECT_EQ((this->template stored<float>(ints{16777217}, 1, 1, as_float(acc) + 0.0f)), floats{16777216});
  // Sums wrap, as the products' do.
  EXPECT_EQ((this->template stored<std::int32_t>(ints{2147483647}, 1, 1, acc + 1)),
            ints{std::numeric_limits<std::int32_t>::min()});
}

// GEMM-10: beta = 0 reads no C.
TYPED_TEST(expressions, no_beta_no_read) {
  const floats nine(33 * 17, 9.0f);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto& c = this->input(floats(33 * 17, bad));
    EXPECT_EQ((this->template stored<float>(nine, 33, 17, axpby(1.0f, acc, 0.0f, this->view(c.data(), 33, 17)))), nine);
  }
  EXPECT_EQ((this->template stored<float>(nine, 33, 17,
                                          axpby(1, acc, 0, this->view(static_cast<const float*>(nullptr), 33, 17)))),
            nine);
  auto& c = this->input(floats(33 * 17, 2.0f));
  EXPECT_EQ((this->template stored<float>(nine, 33, 17, axpby(2, acc, -0.5f, this->view(c.data(), 33, 17)))),
            floats(33 * 17, 17.0f));
}

// EPI-15, the allowed half: the output is the residual.
TYPED_TEST(expressions, residual_in_place) {
  floats r(65 * 33);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = static_cast<float>(i % 33);
  auto& a = this->input(floats(65 * 33, 17.0f));
  guarded_output<float, typename TestFixture::space> d(r);
  const auto view = this->view(d.data(), 65, 33);
  const auto sink = store(view, acc + elem(view));
  ASSERT_TRUE(check_sinks(1, 65, 33, sink).ok());
  put_all<8>(this->executor(), given<float, 1>{a.data(), 1, 65, 33}, sink);
  const auto y = d.values();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 17 + r[i]) << i;
  EXPECT_TRUE(d.guards_intact());
}

/// Every leaf and the store, at one misalignment: guards show a read or a write outside.
template <class T, int N, class Test>
void mixed_access(Test& test, index_t batch, index_t m, index_t n, std::size_t shift) {
  const auto count = static_cast<std::size_t>(batch * m * n);
  const auto accs = small_integers<float>(count, 1),
             extra = small_integers<float>(static_cast<std::size_t>(batch * m), 2);
  auto& a = test.input(accs);
  auto& res = test.input(small_integers<T>(count, 3), shift);
  auto& bias = test.input(small_integers<T>(static_cast<std::size_t>(n), 4), shift);
  auto& rows = test.input(extra, shift);
  auto& out = test.template output<T>(count, std::is_integral_v<T> ? prefill::x55 : prefill::nan, shift);
  const auto sink = store(test.view(out.data(), batch, m, n), acc + elem(test.view(res.data(), batch, m, n)) +
                                                                  per_column(test.view(bias.data(), n)) +
                                                                  per_row(test.view(rows.data(), batch, m)));
  ASSERT_TRUE(check_sinks(batch, m, n, sink).ok());
  put_all<N>(test.executor(), given<float, 1>{a.data(), batch, m, n}, sink);
  const auto y = as_double(out.values()), r = as_double(res.values()), b = as_double(bias.values());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = i / static_cast<std::size_t>(n), col = i % static_cast<std::size_t>(n);
    const double expected =
        as_double(accs[i]) + r[i] + b[col] + as_double(extra[row]);  // at most 16, exact in every type
    ASSERT_EQ(y[i], expected) << "N " << N << ", shift " << shift << ", row " << row << ", column " << col;
  }
}
template <class T, class Test>
void every_misalignment(Test& test) {
  for (const index_t n : {index_t{1}, index_t{7}, index_t{16}, index_t{33}})
    for (std::size_t shift = 0; shift < 16 / sizeof(T) + 1; ++shift) {
      if constexpr (std::is_same_v<T, float>) {
        mixed_access<T, 1>(test, 1, 3, n, shift);
        mixed_access<T, 4>(test, 1, 3, n, shift);
      }
      mixed_access<T, 2>(test, 2, 3, n, shift);
      mixed_access<T, 8>(test, 2, 5, n, shift);
    }
}
TYPED_TEST(expressions, any_misalignment_f32) { every_misalignment<float>(*this); }
TYPED_TEST(expressions, any_misalignment_f16) { every_misalignment<f16>(*this); }
TYPED_TEST(expressions, any_misalignment_bf16) { every_misalignment<bf16>(*this); }
TYPED_TEST(expressions, any_misalignment_e4m3) { every_misalignment<e4m3>(*this); }
TYPED_TEST(expressions, any_misalignment_int8) { every_misalignment<std::int8_t>(*this); }

// Pitched, transposed, strided and interleaved views, in and out: nothing between the elements is touched.
template <int N, class Test>
void any_strides(Test& test) {
  using T = float;
  constexpr index_t batch = 2, m = 5, n = 11;
  const auto accs = small_integers<T>(batch * m * n, 5);
  auto& a = test.input(accs);
  const auto residual = small_integers<T>(1000, 6);
  auto& res = test.input(residual);
  const index_t layouts[][3] = {{80, 16, 1}, {55, 1, 5}, {200, 33, 3}, {70, 1, 6},
                              {0, 11, 1},  {0, 0, 1},  {0, 1, 0},    {11, 22, 1}};
  for (const auto& in : layouts)
    for (const auto& to : layouts) {
      if (to[0] == 0) continue;  // an output has one address for each element
      auto& out = test.template output<T>(1000);
      const index_t extents[3] = {batch, m, n};
      const auto make = [&](auto* p, const index_t(&s)[3]) {
        if constexpr (std::is_same_v<typename Test::space, host_space>)
          return host_view(p, extents, s);
        else
          return device_view(p, extents, s);
      };
      const auto sink = store(make(out.data(), to), acc + elem(make(res.data(), in)));
      ASSERT_TRUE(check_sinks(batch, m, n, sink).ok()) << check_sinks(batch, m, n, sink).message();
      put_all<N>(test.executor(), given<T, 1>{a.data(), batch, m, n}, sink);
      const auto y = out.values();
      std::vector<bool> mine(1000);
      for (index_t b = 0; b < batch; ++b)
        for (index_t i = 0; i < m; ++i)
          for (index_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(b * to[0] + i * to[1] + j * to[2]);
            mine[at] = true;
            const auto from = static_cast<std::size_t>(b * in[0] + i * in[1] + j * in[2]);
            ASSERT_EQ(y[at], accs[static_cast<std::size_t>((b * m + i) * n + j)] + residual[from]);
          }
      EXPECT_TRUE(out.wrote_only([&](std::size_t i) { return mine[i]; }));
    }
}
TYPED_TEST(expressions, any_strides) {
  any_strides<1>(*this);
  any_strides<4>(*this);
}

// The unit axis is in the type: row-major, column-major, and batch-major views.
TYPED_TEST(expressions, any_unit_axis) {
  constexpr index_t m = 4, n = 6;
  const auto accs = small_integers<float>(m * n, 7), values = small_integers<float>(m * n, 8);
  auto& res = this->input(values);
  const auto y = this->template stored<float>(accs, m, n, acc + elem(transposed(this->view(res.data(), n, m))));
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j)
      ASSERT_EQ(y[static_cast<std::size_t>(i * n + j)],
                accs[static_cast<std::size_t>(i * n + j)] + values[static_cast<std::size_t>(j * m + i)]);
  auto& a = this->input(accs);
  auto& out = this->template output<float>(m * n);
  const auto sink = store(transposed(this->view(out.data(), n, m)), acc);
  ASSERT_TRUE(check_sinks(1, m, n, sink).ok());
  put_all<4>(this->executor(), given<float, 1>{a.data(), 1, m, n}, sink);
  const auto z = out.values();
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j)
      ASSERT_EQ(z[static_cast<std::size_t>(j * m + i)], accs[static_cast<std::size_t>(i * n + j)]);
}

// Vectors with a batch axis, and cut from a matrix.
TYPED_TEST(expressions, vectors_of_any_stride_and_batch) {
  constexpr index_t batch = 3, m = 3, n = 5;
  const auto accs = small_integers<float>(batch * m * n, 9), data = small_integers<float>(64, 10, -50, 50);
  auto& v = this->input(data);
  const auto rows = this->view(v.data(), batch, m);
  const auto columns = pick<2>(this->view(v.data() + 1, batch, n, 4), 2);  // stride 4
  const auto shared = this->view(v.data() + 7, 1, n);
  const auto y = this->template stored<float, 2>(
      accs, m, n, acc + per_row(rows) + per_column(columns) * 2 + per_column(shared) * 3, batch);
  for (index_t b = 0; b < batch; ++b)
    for (index_t i = 0; i < m; ++i)
      for (index_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>((b * m + i) * n + j);
        const auto of = [&](index_t k) { return data[static_cast<std::size_t>(k)]; };
        ASSERT_EQ(y[at], accs[at] + of(b * m + i) + 2 * of(1 + (b * n + j) * 4 + 2) + 3 * of(7 + j));
      }
}

// Several types in one expression; a scalar of any type.
TYPED_TEST(expressions, operands_of_any_type) {
  const floats x{1, 2, 3, 4, 5};
  auto& half_precision = this->input(small_integers<f16>(5, 11));
  auto& bytes = this->input(small_integers<std::uint8_t>(5, 12, 0, 9));
  auto& doubles = this->input(small_integers<double>(5, 13));
  const auto h = as_double(half_precision.values()), u = as_double(bytes.values()), d = as_double(doubles.values());
  const auto y = this->template stored<double>(
      x, 1, 5,
      (acc - elem<f16>(this->view(half_precision.data(), 1, 5))) * elem(this->view(bytes.data(), 1, 5)) +
          per_column(this->view(doubles.data(), 5)) * f16(0.5f) + 2.0 - true);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(y[i], (x[i] - h[i]) * u[i] + d[i] * 0.5 + 1) << i;
  EXPECT_EQ((this->template stored<float>(x, 1, 5, 12 / acc)), (floats{12, 6, 4, 3, 12.0f / 5}));
  EXPECT_EQ((this->template stored<float>(x, 1, 5, 1 - acc)), (floats{0, -1, -2, -3, -4}));
  EXPECT_EQ(
      (this->template stored<float>(
          x, 1, 5, clamp(acc, per_column(this->view(this->template input<float>({2, 2, 2, 5, 5}).data(), 5)), 4.5f))),
      (floats{2, 2, 3, 4.5f, 4.5f}));
}

}  // namespace
}  // namespace kiln::test
