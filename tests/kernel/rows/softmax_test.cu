// Softmax and log-softmax against float64, and the reports of others about them.
#include <array>
#include <kiln/softmax.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(softmax_rows);

struct reference {
  std::vector<double> value, bound;
};

/// Softmax of packed rows in float64, with the largest error that float32 statistics and one rounding to Y allow.
template <class Y, class X>
reference softmax_reference(const std::vector<X>& x, std::size_t rows, std::size_t cols, double scale,
                            bool logarithmic) {
  reference r;
  for (std::size_t i = 0; i < rows; ++i) {
    double top = -INFINITY, largest = 0, sum = 0;
    for (std::size_t c = 0; c < cols; ++c) top = std::max(top, scale * as_double(x[i * cols + c]));
    for (std::size_t c = 0; c < cols; ++c) {
      largest = std::max(largest, std::abs(scale * as_double(x[i * cols + c])));
      sum += std::exp(scale * as_double(x[i * cols + c]) - top);
    }
    for (std::size_t c = 0; c < cols; ++c) {
      const double z = scale * as_double(x[i * cols + c]) - top;
      // The argument is rounded as a product (twice: here and in the maximum), as a difference, and by the exponential
      // as a product with a constant that is rounded itself; the exponential then errs by up to 2 ulp.
      const double argument = unit * ((scale == 1 ? 0 : 2 * largest) + 2.5 * std::abs(z));
      const double terms = unit * ((scale == 1 ? 0 : 2 * largest) + 2.5 /* z e^z <= 1/e, summed over sum >= 1 */ + 4);
      const double whole = terms + unit * depth(static_cast<double>(cols));
      if (logarithmic) {
        const double y = z - std::log(sum);
        r.value.push_back(y);
        r.bound.push_back(argument + whole + unit * (4 * std::log(sum) + 2 * std::abs(y)) + store_error<Y>(y));
      } else {
        const double y = std::exp(z) / sum;
        r.value.push_back(y);
        r.bound.push_back(y * (argument + unit * 4 + whole + unit * 4) + store_error<Y>(y));
      }
    }
  }
  return r;
}

// Types beyond the first two take one kernel on the device instead of the seven that a public call chooses from: the
// choice does not depend on the type, and each kernel costs its time to compile. That one takes aligned rows of up to
// 4096 elements.
template <class E, class X, class Y>
status softmax_in(const E& ex, const X& x, const Y& y, softmax_options options, bool logarithmic = false) {
  using from = typename X::value_type;
  using to = typename Y::value_type;
  constexpr bool common = std::is_same_v<from, to> && !std::is_same_v<from, f16>;
  if constexpr (common || E::on_host) {
    return logarithmic ? log_softmax(ex, x, y, options) : softmax(ex, x, y, options);
  } else {
    using program = rows::softmax_program<from, to>;
    return rows::run_pinned<rows::one_block, rows::chunk_width<program>>(
        ex, "softmax", program{rows::input_of(x), rows::operand_of(y), options.scale, options.masked, logarithmic},
        rows::count(x), rows::length(x));
  }
}

template <class X, class Y, class Test>
void check_shape(Test& test, std::size_t rows, std::size_t cols, float scale, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of<X>()) + " to " + name_of<Y>() + ", " + std::to_string(rows) + " x " +
               std::to_string(cols));
  using E = std::decay_t<decltype(test.executor())>;
  std::vector<X> x = uniform<X>(rows * cols, seed);
  for (auto& v : x) v = value_of<X>(8 * as_double(v));
  const auto in = test.input(x).data();
  for (bool logarithmic : {false, true}) {
    auto& out = test.template output<Y>(rows * cols);
    const auto xv = view_on<E>(in, rows, cols);
    const auto yv = view_on<E>(out.data(), rows, cols);
    const status s = softmax_in(test.executor(), xv, yv, {.scale = scale}, logarithmic);
    ASSERT_TRUE(s.ok()) << s.message();
    const auto r = softmax_reference<Y>(x, rows, cols, static_cast<double>(scale), logarithmic);
    EXPECT_TRUE(near(out.values(), r.value, r.bound));
  }
}

TYPED_TEST(softmax_rows, agree_with_float64_at_every_length) {
  std::uint64_t seed = 0;
  for (std::size_t cols :
       sizes{1, 2, 7, 8, 31, 33, 64, 65, 127, 128, 129, 1000, 1024, 1025, 4096, 8191, 8200, 32768, 40001}) {
    const std::size_t rows = cols > 2000 ? 2 : 35;
    check_shape<float, float>(*this, rows, cols, 1.0f, ++seed);
    check_shape<bf16, bf16>(*this, rows, cols, 1.0f, ++seed);
    if (!TypeParam::on_host && (cols % 8 != 0 || cols > 4096)) continue;
    check_shape<f16, float>(*this, rows, cols, 0.3f, ++seed);
    check_shape<float, bf16>(*this, rows, cols, -1.7f, ++seed);
  }
}

template <class T, class E, class Test>
std::vector<double> softmax_of(Test& test, const std::vector<double>& row, std::size_t rows = 1,
                               softmax_options options = {}) {
  std::vector<T> x;
  for (double v : row) x.push_back(value_of<T>(v));
  auto& out = test.template output<T>(x.size());
  const status s = softmax_in(test.executor(), view_on<E>(test.input(x).data(), rows, x.size() / rows),
                              view_on<E>(out.data(), rows, x.size() / rows), options);
  EXPECT_TRUE(s.ok()) << s.message();
  return as_double(out.values());
}

// ROW-02: a fully masked row is NaN, or 0 where asked for; its neighbours do not notice.
TYPED_TEST(softmax_rows, fully_masked_row_follows_the_policy) {
  std::vector<double> x(24);
  for (std::size_t i = 0; i < 24; ++i) x[i] = i / 8 == 1 ? -INFINITY : 0.25 * static_cast<double>(i % 5);
  for (bool masked : {false, true}) {
    const auto y = softmax_of<float, TypeParam>(*this, x, 3, {.masked = masked});
    for (std::size_t r : sizes{0u, 2u}) {
      double sum = 0;
      for (std::size_t c = 0; c < 8; ++c) sum += y[8 * r + c];
      EXPECT_NEAR(sum, 1, 16 * unit);
    }
    for (std::size_t c = 8; c < 16; ++c) {
      if (masked)
        EXPECT_EQ(y[c], 0);
      else
        EXPECT_TRUE(std::isnan(y[c]));
    }
  }
  auto& out = this->template output<float>(8);
  const auto in = view_on<TypeParam>(this->input(std::vector<float>(8, -INFINITY)).data(), 1, 8);
  ASSERT_TRUE(log_softmax(this->executor(), in, view_on<TypeParam>(out.data(), 1, 8), {.masked = true}).ok());
  for (float v : out.values()) EXPECT_EQ(v, -INFINITY);
}

// ROW-03
TYPED_TEST(softmax_rows, large_logits_do_not_overflow) {
  const auto a = softmax_of<float, TypeParam>(*this, {1000, 1001, 1002});
  EXPECT_NEAR(a[0], 0.090031, 1e-6);
  EXPECT_NEAR(a[1], 0.244728, 1e-6);
  EXPECT_NEAR(a[2], 0.665241, 1e-6);
  for (double v : softmax_of<f16, TypeParam>(*this, {60000, 60001, 60002})) EXPECT_NEAR(v, 1.0 / 3, 0x1p-12);
  for (double v : softmax_of<f16, TypeParam>(*this, std::vector<double>(5, -60000))) EXPECT_NEAR(v, 0.2, 0x1p-12);
}

// ROW-04
TYPED_TEST(softmax_rows, equal_very_negative_values_share_evenly) {
  for (double v : softmax_of<float, TypeParam>(*this, std::vector<double>(512, -1000))) EXPECT_EQ(v, 1.0 / 512);
}

// ROW-05
TYPED_TEST(softmax_rows, maximum_of_negative_values_is_negative) {
  const double expected[] = {0.636409, 0.234122, 0.086129, 0.031685, 0.011656};
  const auto h = softmax_of<f16, TypeParam>(*this, {-200, -201, -202, -203, -204});
  const auto b = softmax_of<bf16, TypeParam>(*this, {-200, -201, -202, -203, -204});
  for (std::size_t c = 0; c < 5; ++c) {
    EXPECT_NEAR(h[c], expected[c], expected[c] * 0x1p-11 + 1e-6);
    EXPECT_NEAR(b[c], expected[c], expected[c] * 0x1p-8 + 1e-6);
  }
}

TYPED_TEST(softmax_rows, nan_and_infinity_make_their_row_nan) {
  const auto y = softmax_of<float, TypeParam>(*this, {1, NAN, 2, 1, INFINITY, 2, 1, -INFINITY, 1}, 3);
  for (std::size_t c : sizes{0u, 1u, 2u, 4u}) EXPECT_TRUE(std::isnan(y[c])) << c;
  EXPECT_EQ(y[6], 0.5);
  EXPECT_EQ(y[7], 0);
}

// ROW-07: row counts around the limit of a grid's y and z, as matrices and as 3-D shapes.
TYPED_TEST(softmax_rows, counts_beyond_65535_are_all_done) {
  const double expected[] = {0.032059, 0.087144, 0.236883, 0.643914};
  for (index_t rows : {65535, 65536, 65537, 1000003}) {
    if (TypeParam::on_host && rows > 70000) continue;
    const auto n = static_cast<std::size_t>(rows * 4);
    const auto in = this->input(values_of<float>(n, [](std::size_t i) { return static_cast<double>(i % 4); })).data();
    auto& out = this->template output<float>(n);
    ASSERT_TRUE(
        softmax(this->executor(), view_on<TypeParam>(in, rows, 4), view_on<TypeParam>(out.data(), rows, 4)).ok());
    const auto y = out.values();
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(static_cast<double>(y[i]), expected[i % 4], 1e-6) << i;
  }
  const index_t n = 65536;
  const auto in = this->input(values_of<float>(static_cast<std::size_t>(n * 4),
                                               [](std::size_t i) { return static_cast<double>(i % 4); }))
                      .data();
  for (bool batch_first : {false, true}) {
    auto& out = this->template output<float>(static_cast<std::size_t>(n * 4));
    const index_t a = batch_first ? n : 1, b = batch_first ? 1 : n;
    ASSERT_TRUE(
        softmax(this->executor(), view_on<TypeParam>(in, a, b, 4), view_on<TypeParam>(out.data(), a, b, 4)).ok());
    const auto y = out.values();
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(static_cast<double>(y[i]), expected[i % 4], 1e-6) << i;
  }
}

// ROW-10
TYPED_TEST(softmax_rows, single_columns_are_one) {
  auto& out = this->template output<bf16>(70000);
  const auto in = this->input(uniform<bf16>(70000, 3)).data();
  ASSERT_TRUE(
      softmax(this->executor(), view_on<TypeParam>(in, 70000, 1), view_on<TypeParam>(out.data(), 70000, 1)).ok());
  for (bf16 v : out.values()) ASSERT_EQ(as_double(v), 1);
}

// ROW-19: rank 4 with padding between the outermost slices, and heads inside a fused qkv row.
TYPED_TEST(softmax_rows, any_strides_equal_the_packed_copy) {
  const index_t extents[] = {2, 4, 2, 2}, strides[] = {32, 4, 2, 1}, packed[] = {16, 4, 2, 1};
  const auto x = uniform<float>(64, 4);
  std::vector<float> copy;
  for (std::size_t b = 0; b < 2; ++b)
    copy.insert(copy.end(), x.begin() + 32 * static_cast<std::ptrdiff_t>(b),
                x.begin() + 32 * static_cast<std::ptrdiff_t>(b) + 16);
  auto& out = this->template output<float>(64);
  auto& expected = this->template output<float>(32);
  ASSERT_TRUE(softmax(this->executor(), strided_on<TypeParam>(this->input(x).data(), extents, strides),
                      strided_on<TypeParam>(out.data(), extents, strides))
                  .ok());
  ASSERT_TRUE(softmax(this->executor(), strided_on<TypeParam>(this->input(copy).data(), extents, packed),
                      strided_on<TypeParam>(expected.data(), extents, packed))
                  .ok());
  EXPECT_TRUE(out.wrote_only([](std::size_t i) { return i % 32 < 16; }));
  const auto y = out.values(), z = expected.values();
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i / 16 * 32 + i % 16], z[i]);
}

// ROW-18: rows of 92 bytes on either side, and views that start off by one element.
TYPED_TEST(softmax_rows, misaligned_rows_are_written_right) {
  const std::size_t rows = 5, cols = 46;
  for (auto [in_pitch, out_pitch, in_first, out_first] :
       {std::array<std::size_t, 4>{48, 46, 0, 0}, {46, 48, 0, 0}, {48, 48, 1, 0}, {48, 48, 0, 1}}) {
    const auto x = uniform<bf16>(rows * in_pitch, 9);
    std::vector<bf16> packed, got;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) packed.push_back(x[r * in_pitch + c]);
    auto& out = this->template output<bf16>(rows * out_pitch, prefill::nan, out_first);
    ASSERT_TRUE(
        softmax(this->executor(),
                pitched_on<TypeParam>(this->input(x, in_first).data(), rows, cols, static_cast<index_t>(in_pitch)),
                pitched_on<TypeParam>(out.data(), rows, cols, static_cast<index_t>(out_pitch)))
            .ok());
    EXPECT_TRUE(out.wrote_only([&, pitch = out_pitch](std::size_t i) { return i % pitch < cols; }));
    const auto y = out.values();
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) got.push_back(y[r * out_pitch + c]);
    const auto expected = softmax_reference<bf16>(packed, rows, cols, 1, false);
    EXPECT_TRUE(near(got, expected.value, expected.bound));
  }
}

TYPED_TEST(softmax_rows, columns_of_a_transposed_view_are_rows) {
  const std::size_t m = 33, n = 70;
  const auto x = uniform<float>(m * n, 5);
  std::vector<float> flipped(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) flipped[j * m + i] = x[i * n + j];
  auto& out = this->template output<float>(m * n);
  const index_t extents[] = {m, n}, strides[] = {1, m};
  ASSERT_TRUE(softmax(this->executor(), strided_on<TypeParam>(this->input(flipped).data(), extents, strides),
                      view_on<TypeParam>(out.data(), m, n))
                  .ok());
  const auto r = softmax_reference<float>(x, m, n, 1, false);
  EXPECT_TRUE(near(out.values(), r.value, r.bound));
}

TYPED_TEST(softmax_rows, in_place_equals_out_of_place_held_or_read_again) {
  for (std::size_t cols : sizes{5, 300, 40000, 40001}) {
    const auto x = uniform<float>(2 * cols, 6);
    auto& out = this->template output<float>(2 * cols);
    guarded_output<float, typename TypeParam::space> both(x);
    const auto view = view_on<TypeParam>(both.data(), 2, cols);
    ASSERT_TRUE(softmax(this->executor(), view_on<TypeParam>(this->input(x).data(), 2, cols),
                        view_on<TypeParam>(out.data(), 2, cols))
                    .ok());
    ASSERT_TRUE(softmax(this->executor(), view, view).ok());
    EXPECT_EQ(both.values(), out.values());
    EXPECT_TRUE(both.intact());
  }
}

// ROW-23
TYPED_TEST(softmax_rows, empty_shapes_succeed_and_the_next_call_works) {
  auto& out = this->template output<float>(8);
  const auto in = this->input(std::vector<float>(8, 1.0f)).data();
  for (auto [m, n] : {std::array<index_t, 2>{0, 128}, {4, 0}, {0, 0}}) {
    EXPECT_TRUE(softmax(this->executor(), view_on<TypeParam>(in, m, n), view_on<TypeParam>(out.data(), m, n)).ok());
    EXPECT_TRUE(softmax(this->executor(), view_on<TypeParam>(static_cast<const float*>(nullptr), m, n),
                        view_on<TypeParam>(static_cast<float*>(nullptr), m, n))
                    .ok());
  }
  EXPECT_TRUE(out.untouched());
  ASSERT_TRUE(softmax(this->executor(), view_on<TypeParam>(in, 1, 8), view_on<TypeParam>(out.data(), 1, 8)).ok());
  for (float v : out.values()) EXPECT_EQ(v, 0.125f);
}

TYPED_TEST(softmax_rows, two_runs_give_the_same_bits) {
  const auto in = this->input(uniform<float>(7 * 5000, 8)).data();
  auto &a = this->template output<float>(7 * 5000), &b = this->template output<float>(7 * 5000);
  ASSERT_TRUE(softmax(this->executor(), view_on<TypeParam>(in, 7, 5000), view_on<TypeParam>(a.data(), 7, 5000)).ok());
  ASSERT_TRUE(softmax(this->executor(), view_on<TypeParam>(in, 7, 5000), view_on<TypeParam>(b.data(), 7, 5000)).ok());
  EXPECT_EQ(a.values(), b.values());
}

TYPED_TEST(softmax_rows, wrong_arguments_are_named) {
  auto& out = this->template output<float>(24);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(24, 1)).data(), 4, 6);
  const auto y = view_on<TypeParam>(out.data(), 4, 6);
  EXPECT_EQ(softmax(this->executor(), x, view_on<TypeParam>(out.data(), 4, 5)).message(),
            "bad shape: softmax: operand `out`: axis 1 has extent 5, needs 6 as in `x`");
  EXPECT_EQ(softmax(this->executor(), view_on<TypeParam>(x.data, -4, 6), y).message(),
            "bad shape: softmax: operand `x`: axis 0 has extent -4, needs at least 0");
  EXPECT_EQ(softmax(this->executor(), x, y, {.scale = NAN}).code(), errc::bad_option);
  const index_t extents[] = {4, 6};
  for (const auto& strides : {std::array<index_t, 2>{0, 1}, {6, 0}, {5, 1}}) {
    const index_t s[] = {strides[0], strides[1]};
    const status done = softmax(this->executor(), x, strided_on<TypeParam>(out.data(), extents, s));
    EXPECT_EQ(done.code(), errc::bad_stride) << done.message();
    EXPECT_NE(done.message().find("operand `out`"), std::string::npos) << done.message();
  }
  EXPECT_TRUE(out.untouched());
}

TYPED_TEST(softmax_rows, outputs_that_share_memory_are_refused) {
  guarded_output<float, typename TypeParam::space> buffer(uniform<float>(100, 4));
  float* p = buffer.data();
  const auto x = view_on<TypeParam>(p, 4, 6);
  for (index_t at : {6, 23}) {
    const status s = softmax(this->executor(), x, view_on<TypeParam>(p + at, 4, 6));
    EXPECT_EQ(s.code(), errc::overlap) << s.message();
    EXPECT_NE(s.message().find("`out`: shares memory with `x`"), std::string::npos) << s.message();
  }
  EXPECT_TRUE(buffer.untouched());
  // Columns that interleave in one buffer are apart.
  EXPECT_TRUE(
      softmax(this->executor(), pitched_on<TypeParam>(p, 4, 6, 20), pitched_on<TypeParam>(p + 6, 4, 6, 20)).ok());
}

}  // namespace
}  // namespace kiln::test
