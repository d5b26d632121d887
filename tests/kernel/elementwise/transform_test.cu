// transform, copy and fill over tensors: any rank, strides, alignment and type, on both executors.
#include <kiln/copy.hpp>
#include <kiln/transform.hpp>

#include <cmath>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace {

using namespace kiln;
using kiln::test::prefill;
using kiln::test::small_integers;

struct axpy {
  float a;
  KILN_FN float operator()(float x, float y) const { return a * x + y; }
};
struct times {
  KILN_FN float operator()(float x, float y) const { return x * y; }
};
struct plus_one {
  template <class T>
  KILN_FN T operator()(T x) const {
    return x + T{1};
  }
};
struct three_of {
  KILN_FN float operator()(float a, std::int32_t b, float c) const { return a + static_cast<float>(b) * c; }
};

KILN_ON_EXECUTORS(transform_tensors);

TYPED_TEST(transform_tensors, every_length_and_misalignment) {
  using E = TypeParam;
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 7u, 33u, 65u, 255u, 256u, 257u, 1025u, 4099u})
    for (const std::size_t misalign : {0u, 1u, 3u}) {
      const auto xs = test::small_integers<float>(n, 1), ys = test::small_integers<float>(n, 2);
      const auto& x = this->input(xs, misalign);
      const auto& y = this->input(ys, misalign);
      auto& out = this->template output<float>(n, prefill::nan, misalign);
      ASSERT_TRUE(transform(this->executor(), view_on<E>(x.data(), n), view_on<E>(y.data(), n),
                            view_on<E>(out.data(), n), axpy{3})
                      .ok());
      const auto result = out.values();
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], 3 * xs[i] + ys[i]) << "element " << i << " of " << n;
    }
}

TYPED_TEST(transform_tensors, operands_misaligned_differently) {
  using E = TypeParam;
  const std::size_t n = 1031;
  const auto xs = test::small_integers<float>(n, 1), ys = test::small_integers<float>(n, 2);
  const auto& x = this->input(xs, 1);
  const auto& y = this->input(ys, 2);
  auto& out = this->template output<float>(n, prefill::nan, 3);
  ASSERT_TRUE(
      transform(this->executor(), view_on<E>(x.data(), n), view_on<E>(y.data(), n), view_on<E>(out.data(), n), axpy{-2})
          .ok());
  const auto result = out.values();
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], -2 * xs[i] + ys[i]);
}

TYPED_TEST(transform_tensors, mixed_types_are_computed_in_float_and_rounded_once) {
  using E = TypeParam;
  for (const std::size_t n : {7u, 65u, 2049u}) {
    const auto as = test::uniform<bf16>(n, 3);
    const auto bs = test::small_integers<std::int32_t>(n, 4, -1000, 1000);
    const auto cs = test::uniform<e4m3>(n, 5);
    const auto& a = this->input(as);
    const auto& b = this->input(bs);
    const auto& c = this->input(cs);
    auto& out = this->template output<f16>(n);
    ASSERT_TRUE(transform(this->executor(), view_on<E>(a.data(), n), view_on<E>(b.data(), n), view_on<E>(c.data(), n),
                          view_on<E>(out.data(), n), three_of{}).ok());
    const auto result = out.values();
    for (std::size_t i = 0; i < n; ++i) {
      // The product of an integer below 2^10 and a significand of 4 bits is exact; the sum is one float rounding, or
      // none of a fused multiply-add, and both round the same exact value.
      const float expected = three_of{}(as[i], bs[i], cs[i]);
      ASSERT_EQ(result[i].bits, f16(expected).bits) << i;
    }
  }
}

// VEW-01's and VEW-07's kind: strides of views are honoured on every side.
TYPED_TEST(transform_tensors, transposed_pitched_sliced_and_broadcast_operands) {
  using E = TypeParam;
  for (const int m : {1, 3, 33})
    for (const int n : {1, 5, 65}) {
      const int pitch = n + 3;
      const auto xs = test::small_integers<float>(static_cast<std::size_t>(n * m), 6);
      const auto rows = test::small_integers<float>(static_cast<std::size_t>(m), 7);
      const auto& x = this->input(xs);
      const auto& r = this->input(rows);
      auto& out = this->template output<float>(static_cast<std::size_t>(m * pitch));
      const auto xt = transposed(view_on<E>(x.data(), n, m));  // m x n, column-major
      const auto per_row = broadcast<1>(view_on<E>(r.data(), m), n);
      const auto d = pitched(view_on<E>(out.data(), m, n), pitch);
      ASSERT_TRUE(transform(this->executor(), xt, per_row, d, axpy{10}).ok());
      const auto result = out.values();
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          ASSERT_EQ(result[static_cast<std::size_t>(i * pitch + j)],
                    10 * xs[static_cast<std::size_t>(j * m + i)] + rows[static_cast<std::size_t>(i)]);
      EXPECT_TRUE(out.wrote_only([&](std::size_t i) { return static_cast<int>(i) % pitch < n; }));
    }
}

TYPED_TEST(transform_tensors, rank_four_with_every_axis_strided) {
  using E = TypeParam;
  constexpr int e[4] = {3, 2, 5, 7};
  const std::size_t n = 3 * 2 * 5 * 7;
  const auto xs = test::small_integers<float>(n * 16, 8);
  const auto& x = this->input(xs);
  auto& out = this->template output<float>(n);
  const auto big = view_on<E>(x.data(), 6, 4, 10, 14);
  const auto v = strided<0>(strided<1>(strided<2>(strided<3>(big, 2), 2), 2), 2);
  const auto d = permuted<3, 0, 2, 1>(view_on<E>(out.data(), e[1], e[3], e[2], e[0]));
  ASSERT_EQ(d.extent(0), 3);
  ASSERT_TRUE(transform(this->executor(), v, d, plus_one{}).ok());
  const auto result = out.values();
  for (int a = 0; a < e[0]; ++a)
    for (int b = 0; b < e[1]; ++b)
      for (int c = 0; c < e[2]; ++c)
        for (int k = 0; k < e[3]; ++k)
          ASSERT_EQ(result[static_cast<std::size_t>(d.offset(a, b, c, k))],
                    xs[static_cast<std::size_t>(big.offset(2 * a, 2 * b, 2 * c, 2 * k))] + 1);
}

TYPED_TEST(transform_tensors, in_place) {
  using E = TypeParam;
  const auto xs = test::small_integers<float>(1000, 9);
  kiln::test::guarded_output<float, typename E::space> x(xs);
  const auto v = view_on<E>(x.data(), 1000);
  ASSERT_TRUE(transform(this->executor(), v, v, v, axpy{2}).ok());
  const auto result = x.values();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(result[i], 3 * xs[i]);
  EXPECT_TRUE(x.intact());
}

// VEW-10
TYPED_TEST(transform_tensors, fill_and_copy_keep_the_gaps_of_a_strided_view) {
  using E = TypeParam;
  kiln::test::guarded_output<float, typename E::space> buffer(std::vector<float>(20, 9));
  const auto v = pitched(view_on<E>(buffer.data(), 4, 3), 5);
  ASSERT_TRUE(fill(this->executor(), v, 1).ok());
  auto result = buffer.values();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(result[i], i % 5 < 3 ? 1.0f : 9.0f);

  const auto xs = test::small_integers<float>(12, 10);
  const auto& x = this->input(xs);
  auto& back = this->template output<float>(12);
  ASSERT_TRUE(copy(this->executor(), view_on<E>(x.data(), 4, 3), v).ok());
  ASSERT_TRUE(copy(this->executor(), v, view_on<E>(back.data(), 4, 3)).ok());
  EXPECT_EQ(back.values(), xs);
  result = buffer.values();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(result[i], i % 5 < 3 ? xs[i / 5 * 3 + i % 5] : 9.0f);
  EXPECT_TRUE(buffer.intact());
}

// VEW-10's kind: gaps along both axes, and results that lie across, element by element and through tiles.
TYPED_TEST(transform_tensors, copies_into_views_with_gaps_on_every_axis_come_back) {
  using E = TypeParam;
  for (const int m : {3, 20})
    for (const bool across : {false, true}) {
      const int n = m + 4, pitch = 2 * (m + n) + 1;
      const auto ys = small_integers<float>(static_cast<std::size_t>(m * n), 12);
      auto& buffer = this->template output<float>(static_cast<std::size_t>(2 * (m + n) * pitch), prefill::x55);
      auto& back = this->template output<float>(ys.size());
      const auto packed = view_on<E>(this->input(ys).data(), m, n);
      const auto check = [&](const auto& v) {
        ASSERT_TRUE(copy(this->executor(), packed, v).ok());
        ASSERT_TRUE(copy(this->executor(), v, view_on<E>(back.data(), m, n)).ok());
        EXPECT_EQ(back.values(), ys);
        std::vector<bool> mine(buffer.size(), false);
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) mine[static_cast<std::size_t>(v.offset(i, j))] = true;
        EXPECT_TRUE(buffer.wrote_only([&](std::size_t i) { return mine[i]; }));
      };
      if (across)
        check(transposed(pitched(view_on<E>(buffer.data(), n, m), pitch)));
      else
        check(strided<0>(strided<1>(pitched(view_on<E>(buffer.data(), 2 * m - 1, 2 * n - 1), pitch), 2), 2));
    }
}

// VEW-09: no square anywhere, each batch with scales of its own.
TYPED_TEST(transform_tensors, batches_and_their_scales_step_by_their_own_strides) {
  using E = TypeParam;
  constexpr int batch = 3, m = 2, n = 5;
  std::vector<float> xs(batch * m * n), scales(batch * n);
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i + 1);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(100 + i);
  const auto x = view_on<E>(this->input(xs).data(), batch, m, n);
  const auto& s = this->input(scales);
  const auto each = broadcast<1>(broadcast<1>(view_on<E>(s.data(), batch), n), m);
  const auto rows = broadcast<2>(view_on<E>(s.data(), batch, m), n);
  const auto columns = broadcast<1>(view_on<E>(s.data(), batch, n), m);
  auto& out = this->template output<float>(xs.size());
  auto& flipped = this->template output<float>(xs.size());
  const auto check = [&](const auto& scale, const auto& index) {
    ASSERT_TRUE(transform(this->executor(), x, scale, view_on<E>(out.data(), batch, m, n), times{}).ok());
    ASSERT_TRUE(
        transform(this->executor(), x, scale, transposed(view_on<E>(flipped.data(), batch, n, m)), times{}).ok());
    const auto a = out.values(), b = flipped.values();
    for (int q = 0; q < batch; ++q)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>((q * m + i) * n + j);
          ASSERT_EQ(a[at], xs[at] * scales[static_cast<std::size_t>(index(q, i, j))]);
          ASSERT_EQ(b[static_cast<std::size_t>((q * n + j) * m + i)], a[at]);
        }
  };
  check(each, [](int q, int, int) { return q; });
  check(rows, [](int q, int i, int) { return q * m + i; });
  check(columns, [](int q, int, int j) { return q * n + j; });
}

TYPED_TEST(transform_tensors, copies_of_one_type_keep_every_bit) {
  using E = TypeParam;
  std::vector<f16> every(65536);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = f16::from_bits(static_cast<std::uint16_t>(i));
  const auto& x = this->input(every);
  auto& out = this->template output<f16>(every.size());
  ASSERT_TRUE(copy(this->executor(), view_on<E>(x.data(), every.size()), view_on<E>(out.data(), every.size())).ok());
  auto result = out.values();
  for (std::size_t i = 0; i < every.size(); ++i) ASSERT_EQ(result[i].bits, every[i].bits);
  // Transposed, through shared tiles.
  const auto square = view_on<E>(x.data(), 1, 256, 256);
  ASSERT_TRUE(copy(this->executor(), transposed(square), view_on<E>(out.data(), 1, 256, 256)).ok());
  result = out.values();
  for (std::size_t i = 0; i < 256; ++i)
    for (std::size_t j = 0; j < 256; ++j) ASSERT_EQ(result[i * 256 + j].bits, every[j * 256 + i].bits);
}

TYPED_TEST(transform_tensors, copies_convert_and_saturate) {
  using E = TypeParam;
  const std::vector<float> xs{0.5f, 1.5f, 2.5f, -0.5f, 127.5f, 300, -300, -128.5f};
  const auto& x = this->input(xs);
  auto& out = this->template output<std::int8_t>(8);
  ASSERT_TRUE(copy(this->executor(), view_on<E>(x.data(), 8), view_on<E>(out.data(), 8)).ok());
  EXPECT_EQ(out.values(), (std::vector<std::int8_t>{0, 2, 2, 0, 127, 127, -128, -128}));
}

template <class To, class From>
void expect_copies(auto& test, auto executor, const std::vector<From>& xs, const std::vector<To>& expected) {
  using E = decltype(executor);
  const auto& x = test.input(xs);
  auto& out = test.template output<To>(xs.size());
  ASSERT_TRUE(copy(executor, view_on<E>(x.data(), xs.size()), view_on<E>(out.data(), xs.size())).ok());
  EXPECT_EQ(out.values(), expected);
}

TYPED_TEST(transform_tensors, copies_into_every_integer_round_and_saturate) {
  const auto ex = this->executor();
  const std::vector<float> xs{0.5f, 1.5f, -2.5f, 1e10f, -1e10f, 1e30f, -1e30f, std::nanf("")};
  expect_copies<std::int16_t>(*this, ex, xs, {0, 2, -2, 32767, -32768, 32767, -32768, 0});
  expect_copies<std::uint16_t>(*this, ex, xs, {0, 2, 0, 65535, 0, 65535, 0, 0});
  expect_copies<std::uint32_t>(*this, ex, xs, {0, 2, 0, UINT32_MAX, 0, UINT32_MAX, 0, 0});
  expect_copies<std::int64_t>(*this, ex, xs, {0, 2, -2, 10000000000, -10000000000, INT64_MAX, INT64_MIN, 0});
  expect_copies<std::uint64_t>(*this, ex, xs, {0, 2, 0, 10000000000, 0, UINT64_MAX, 0, 0});
  const std::vector<std::int64_t> wide{300, -300, INT64_MAX, INT64_MIN, -1, 40000};
  expect_copies<std::uint8_t>(*this, ex, wide, {255, 0, 255, 0, 0, 255});
  expect_copies<std::int16_t>(*this, ex, wide, {300, -300, 32767, -32768, -1, 32767});
  expect_copies<std::int32_t>(*this, ex, wide, {300, -300, INT32_MAX, INT32_MIN, -1, 40000});
  expect_copies<std::uint64_t>(*this, ex, wide, {300, 0, INT64_MAX, 0, 0, 40000});
  expect_copies<std::int64_t>(*this, ex, std::vector<std::uint64_t>{UINT64_MAX, 7}, {INT64_MAX, 7});
}

template <class T>
void expect_transposes(auto& test, auto executor, int batches, int m, int n) {
  using E = decltype(executor);
  const auto count = static_cast<std::size_t>(batches * m * n);
  const auto xs = test::uniform<T>(count, 11);
  const auto& x = test.input(xs);
  auto& out = test.template output<T>(count);
  ASSERT_TRUE(
      copy(executor, transposed(view_on<E>(x.data(), batches, m, n)), view_on<E>(out.data(), batches, n, m)).ok());
  const auto result = out.values();
  for (int b = 0; b < batches; ++b)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const T got = result[static_cast<std::size_t>((b * n + j) * m + i)],
                want = xs[static_cast<std::size_t>((b * m + i) * n + j)];
        ASSERT_EQ(std::memcmp(&got, &want, sizeof(T)), 0)
            << b << ", " << i << ", " << j << " of " << batches << " x " << m << " x " << n;
      }
}

TYPED_TEST(transform_tensors, transposition_by_tiles_of_every_width) {
  for (const int m : {1, 15, 16, 33, 65, 130})
    for (const int n : {1, 16, 31, 64, 129}) {
      expect_transposes<double>(*this, this->executor(), 1, m, n);
      expect_transposes<bf16>(*this, this->executor(), 3, m, n);
    }
  expect_transposes<std::int8_t>(*this, this->executor(), 2, 70, 90);
}

TYPED_TEST(transform_tensors, nothing_to_do_is_a_success) {
  using E = TypeParam;
  float* const none = nullptr;
  EXPECT_TRUE(
      transform(this->executor(), view_on<E>(none, 0, 5), view_on<E>(none, 0, 5), view_on<E>(none, 0, 5), axpy{1})
          .ok());
  EXPECT_TRUE(fill(this->executor(), view_on<E>(none, 5, 0), 1.0f).ok());
}

TYPED_TEST(transform_tensors, wrong_arguments_are_named_and_nothing_is_written) {
  using E = TypeParam;
  const auto& x = this->input(test::small_integers<float>(30, 1));
  auto& out = this->template output<float>(30);
  const auto in = view_on<E>(x.data(), 5, 6);
  const auto d = view_on<E>(out.data(), 5, 6);
  const auto ex = this->executor();
  const auto expect = [&](const status& s, errc code, const char* text) {
    EXPECT_EQ(s.code(), code);
    EXPECT_NE(s.message().find(text), std::string::npos) << s.message();
  };
  expect(transform(ex, in, view_on<E>(x.data(), 6, 5), d, axpy{1}), errc::bad_shape,
         "input 2 has extents [6, 5], needs [5, 6], those of the result");
  expect(transform(ex, slice(in, 0, 4, 2), in, d, axpy{1}), errc::bad_shape, "input 1 has extents [-1, 6]");
  expect(transform(ex, in, in, slice(d, 1, 0, 7), axpy{1}), errc::bad_shape, "the result has extents [5, -1]");
  float* const none = nullptr;
  expect(transform(ex, view_on<E>(none, 5, 6), in, d, axpy{1}), errc::null_pointer,
         "input 1 has extents [5, 6] and null data");
  expect(transform(ex, in, in, view_on<E>(none, 5, 6), axpy{1}), errc::null_pointer, "the result");
  expect(transform(ex, in, in, broadcast<0>(view_on<E>(out.data(), 6), 5), axpy{1}), errc::bad_stride,
         "the result has extents [5, 6] and strides [0, 1]");
  expect(fill(ex, pitched(d, 5), 1.0f), errc::bad_stride, "[5, 1]");
  const auto ten = view_on<E>(out.data(), 10);
  expect(transform(ex, slice(ten, 0, 0, 9), slice(ten, 0, 1, 10), slice(ten, 0, 1, 10), axpy{1}), errc::overlap,
         "input 1 shares memory with the result");
  const auto square = view_on<E>(out.data(), 5, 5);
  expect(copy(ex, transposed(square), square), errc::overlap, "input 1 shares memory with the result");
  EXPECT_TRUE(out.untouched());
  // The next good call works.
  EXPECT_TRUE(transform(ex, in, in, d, axpy{1}).ok());
}

TYPED_TEST(transform_tensors, refused_and_null_views_are_named_whatever_was_made_of_them) {
  using E = TypeParam;
  const auto ex = this->executor();
  auto& out = this->template output<float>(12);
  const auto to = view_on<E>(out.data(), 3, 4);
  EXPECT_EQ(fill(ex, strided<0>(slice(to, 0, 3, 99), 2), 1.0f).code(), errc::bad_shape);
  EXPECT_EQ(fill(ex, pick<0>(slice(to, 1, 3, 99), 0), 1.0f).code(), errc::bad_shape);
  float* const none = nullptr;
  const auto huge = view_on<E>(none, index_t{1} << 32, index_t{1} << 32);
  EXPECT_EQ(fill(ex, huge, 1.0f).code(), errc::null_pointer);
  EXPECT_EQ(fill(ex, slice(huge, 0, 5, 9), 1.0f).code(), errc::null_pointer);
  EXPECT_EQ(copy(ex, transposed(huge), huge).code(), errc::null_pointer);
  EXPECT_TRUE(out.untouched());
}

TYPED_TEST(transform_tensors, interleaved_columns_of_one_buffer_do_not_overlap) {
  using E = TypeParam;
  auto& out = this->template output<float>(40);
  const auto all = view_on<E>(out.data(), 5, 8);
  ASSERT_TRUE(fill(this->executor(), all, 1).ok());
  ASSERT_TRUE(transform(this->executor(), slice(all, 1, 0, 3), slice(all, 1, 0, 3), slice(all, 1, 3, 6), axpy{1}).ok());
  const auto result = out.values();
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(result[i], i % 8 >= 3 && i % 8 < 6 ? 2.0f : 1.0f);
}

}  // namespace
