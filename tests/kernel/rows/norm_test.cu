// RMSNorm, its sum with a residual, and LayerNorm against float64, and the reports of others about their numbers.
#include <array>
#include <kiln/norm.hpp>

#include "tests/kernel/rows/norm_bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(norm_rows);

constexpr float epsilon = 1e-5f;

// Types beyond the first few take one kernel on the device instead of the seven that a public call chooses from: the
// choice does not depend on the type, and each kernel costs its time to compile. That one takes aligned rows of up to
// 8192 elements.
template <bool Public, class Policy = round_at_store, class E, class X, class W, class Y>
status rms_norm_of(const E& ex, const X& x, const W& w, const Y& y, float eps) {
  if constexpr (Public || E::on_host) {
    return rms_norm<Policy>(ex, x, w, y, eps);
  } else {
    using program =
        rows::rms_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type, Policy::when>;
    return rows::run_pinned<rows::one_block, 8>(
        ex, "rms_norm", program{rows::input_of(x), rows::shared_line(w), rows::operand_of(y), eps}, rows::count(x),
        rows::length(x));
  }
}
template <bool Public, class Policy = round_at_store, class E, class X, class W, class T, class Y>
status add_rms_norm_of(const E& ex, const X& x, const X& residual, const W& w, const T& sum, const Y& y, float eps) {
  if constexpr (Public || E::on_host) {
    return add_rms_norm<Policy>(ex, x, residual, w, sum, y, eps);
  } else {
    using element = typename X::value_type;
    using program = rows::add_rms_norm_program<element, element, typename W::value_type, typename T::value_type,
                                               typename Y::value_type, Policy::when>;
    return rows::run_pinned<rows::one_block, 8>(
        ex, "add_rms_norm",
        program{rows::input_of(x), rows::input_of(residual), rows::shared_line(w), rows::operand_of(sum),
                rows::operand_of(y), eps},
        rows::count(x), rows::length(x));
  }
}
template <bool Public, class E, class X, class W, class Y>
status layer_norm_of(const E& ex, const X& x, const W& w, const W& b, const Y& y, float eps) {
  if constexpr (Public || E::on_host) {
    return layer_norm(ex, x, w, b, y, eps);
  } else {
    using weight = typename W::value_type;
    using program = rows::layer_norm_program<typename X::value_type, weight, weight, typename Y::value_type>;
    return rows::run_pinned<rows::one_block, 8>(
        ex, "layer_norm",
        program{rows::input_of(x), rows::shared_line(w), rows::shared_line(b), rows::operand_of(y), eps},
        rows::count(x), rows::length(x));
  }
}
template <class T>
inline constexpr bool is_float = std::is_same_v<T, float>;
template <class T>
inline constexpr bool is_f16 = std::is_same_v<T, f16>;

/// LayerNorm by one configuration: statistics in one exchange between warps and blocks. The second row begins with a
/// value far from all others, which takes an exchange more.
template <class Config, int Width = 4, class Test>
void check_layer_norm(Test& test, std::size_t rows, std::size_t cols, index_t most_blocks = 0) {
  SCOPED_TRACE(std::to_string(Config::threads) + " threads, " + std::to_string(cols) + " columns");
  using E = std::decay_t<decltype(test.executor())>;
  auto x = uniform<float>(rows * cols, 400 + cols);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<float>(i / cols) * 100 + (i % 977 == 5 ? 50.0f : 0.0f);
  x[cols] += 3000;
  const auto w = uniform<float>(cols, 401), b = uniform<float>(cols, 402);
  auto& out = test.template output<float>(rows * cols);
  const auto xv = view_on<E>(test.input(x).data(), rows, cols);
  const auto wv = view_on<E>(test.input(w).data(), cols), bv = view_on<E>(test.input(b).data(), cols);
  using program = rows::layer_norm_program<float, float, float, float>;
  const program p{rows::input_of(xv), rows::shared_line(wv), rows::shared_line(bv),
                  rows::operand_of(view_on<E>(out.data(), rows, cols)), 1e-5f};
  ASSERT_TRUE((rows::run_pinned<Config, Width>(test.executor(), "layer_norm", p, static_cast<index_t>(rows),
                                           static_cast<index_t>(cols), most_blocks)
                   .ok()));
  const auto r = layer_reference<float>(as_double(x), as_double(w), as_double(b), static_cast<double>(1e-5f));
  EXPECT_TRUE(near(out.values(), r.value, r.bound));
}
TYPED_TEST(norm_rows, statistics_join_in_every_configuration) {
  using namespace rows;
  check_layer_norm<whole_chunks<config<8, 4, 2>>>(*this, 5, 64);
  check_layer_norm<whole_chunks<config<8, 4, 2>>>(*this, 5, 36);
  check_layer_norm<whole_chunks<one_warp>>(*this, 5, 512);
  check_layer_norm<whole_chunks<one_warp>>(*this, 5, 300);
  check_layer_norm<whole_chunks<blocks_of<128, 4>>>(*this, 3, 2048);
  check_layer_norm<whole_chunks<blocks_of<128, 4>>>(*this, 3, 1300);
  check_layer_norm<whole_chunks<blocks_of<128, 4>>>(*this, 3, 8);
  check_layer_norm<whole_chunks<blocks_of<64, 4, 1, keep::beside>>>(*this, 7, 1024, 2);
  check_layer_norm<whole_chunks<blocks_of<64, 4, 1, keep::beside>>>(*this, 7, 900, 3);
  check_layer_norm<whole_chunks<blocks_of<64, 4, 1, keep::next_row>>>(*this, 7, 1024, 2);
  check_layer_norm<whole_chunks<blocks_of<64, 4, 1, keep::next_row>>>(*this, 7, 900, 3);
  check_layer_norm<config<96, 1, 11>, 1>(*this, 3, 1001);
  check_layer_norm<config<100, 1, 8>, 1>(*this, 3, 701);
  bool clusters = true;
#if defined(__CUDACC__)
  using program = layer_norm_program<float, float, float, float>;
  if constexpr (!TypeParam::on_host)
    clusters = runs_hopper_code(row_kernel<whole_chunks<blocks_of<64, 8, 4>>, 4, program>);
#endif
  if (!clusters) return;
  check_layer_norm<whole_chunks<blocks_of<64, 8, 4>>>(*this, 5, 8192);
  check_layer_norm<whole_chunks<blocks_of<64, 8, 4>>>(*this, 5, 5000);
  check_layer_norm<whole_chunks<blocks_of<64, 8, 4, keep::beside>>>(*this, 5, 5000, 8);
  check_layer_norm<whole_chunks<blocks_of<64, 8, 4, keep::next_row>>>(*this, 5, 8192, 8);
  check_layer_norm<whole_chunks<blocks_of<64, 8, 4, keep::next_row>>>(*this, 5, 5000);
}

template <class T, class Test>
void check_norms(Test& test, std::size_t rows, std::size_t cols, std::uint64_t seed, double offset) {
  SCOPED_TRACE(std::string(name_of<T>()) + ", " + std::to_string(rows) + " x " + std::to_string(cols));
  using E = std::decay_t<decltype(test.executor())>;
  std::vector<T> x = uniform<T>(rows * cols, seed);
  for (auto& v : x) v = value_of<T>(as_double(v) + offset);
  const auto residual = uniform<T>(rows * cols, seed + 1000), w = uniform<T>(cols, seed + 2000),
             b = uniform<T>(cols, seed + 3000);
  const auto xd = as_double(x), wd = as_double(w), bd = as_double(b);
  std::vector<double> sum = as_double(residual), sum_bound;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += xd[i];
    sum_bound.push_back(store_error<T>(sum[i]) + unit * std::abs(sum[i]));
  }
  const auto xv = view_on<E>(test.input(x).data(), rows, cols),
             rv = view_on<E>(test.input(residual).data(), rows, cols);
  const auto wv = view_on<E>(test.input(w).data(), cols), bv = view_on<E>(test.input(b).data(), cols);
  auto &rms = test.template output<T>(rows * cols), &stored = test.template output<T>(rows * cols);
  auto &added = test.template output<T>(rows * cols), &layer = test.template output<T>(rows * cols);
  const auto on = [&](auto& o) { return view_on<E>(o.data(), rows, cols); };
  ASSERT_TRUE(rms_norm_of<!is_f16<T>>(test.executor(), xv, wv, on(rms), epsilon).ok());
  ASSERT_TRUE(add_rms_norm_of<!is_f16<T>>(test.executor(), xv, rv, wv, on(stored), on(added), epsilon).ok());
  const bool layer_too = is_float<T> || E::on_host || (cols % 8 == 0 && cols <= 8192);
  if (layer_too) {
    ASSERT_TRUE(layer_norm_of<is_float<T>>(test.executor(), xv, wv, bv, on(layer), epsilon).ok());
  }
  const double e = static_cast<double>(epsilon);
  const auto r1 = rms_reference<T>(xd, wd, e, 0), r2 = rms_reference<T>(sum, wd, e, unit),
             r3 = layer_reference<T>(xd, wd, bd, e);
  EXPECT_TRUE(near(rms.values(), r1.value, r1.bound)) << "rms_norm";
  EXPECT_TRUE(near(stored.values(), sum, sum_bound)) << "sum";
  EXPECT_TRUE(near(added.values(), r2.value, r2.bound)) << "add_rms_norm";
  if (layer_too) {
    EXPECT_TRUE(near(layer.values(), r3.value, r3.bound)) << "layer_norm";
  }
}

TYPED_TEST(norm_rows, agree_with_float64_at_every_length) {
  std::uint64_t seed = 0;
  for (std::size_t cols :
       sizes{1, 2, 7, 8, 33, 46, 64, 65, 128, 180, 1000, 1024, 3584, 4096, 5120, 8192, 13696, 33000}) {
    const std::size_t rows = cols > 2000 ? 2 : 19;
    check_norms<float>(*this, rows, cols, ++seed, 0);
    if (TypeParam::on_host || (cols % 8 == 0 && cols <= 8192)) check_norms<f16>(*this, rows, cols, ++seed, 0);
    check_norms<bf16>(*this, rows, cols, ++seed, 0);
  }
}

// A mean far above the spread costs LayerNorm no digits beyond those of the input.
TYPED_TEST(norm_rows, large_mean_keeps_its_digits) {
  for (std::size_t cols : sizes{33, 1000, 9000}) check_norms<float>(*this, 3, cols, 50 + cols, 4096);
}

template <class T, class E, class Test>
std::vector<double> rms_of(Test& test, const std::vector<double>& row, float eps) {
  std::vector<T> x;
  for (double v : row) x.push_back(value_of<T>(v));
  auto& out = test.template output<T>(x.size());
  const status s =
      rms_norm_of<!is_f16<T>>(test.executor(), view_on<E>(test.input(x).data(), 1, x.size()),
                              view_on<E>(test.input(std::vector<T>(x.size(), value_of<T>(1))).data(), x.size()),
                              view_on<E>(out.data(), 1, x.size()), eps);
  EXPECT_TRUE(s.ok()) << s.message();
  return as_double(out.values());
}
template <class T, class E, class Test>
std::vector<double> layer_of(Test& test, const std::vector<double>& row, float eps, double bias) {
  std::vector<T> x;
  for (double v : row) x.push_back(value_of<T>(v));
  auto& out = test.template output<T>(x.size());
  const status s =
      layer_norm_of<is_float<T>>(test.executor(), view_on<E>(test.input(x).data(), 1, x.size()),
                                 view_on<E>(test.input(std::vector<T>(x.size(), value_of<T>(1))).data(), x.size()),
                                 view_on<E>(test.input(std::vector<T>(x.size(), value_of<T>(bias))).data(), x.size()),
                                 view_on<E>(out.data(), 1, x.size()), eps);
  EXPECT_TRUE(s.ok()) << s.message();
  return as_double(out.values());
}

// ROW-11: squares beyond the range of f16.
TYPED_TEST(norm_rows, f16_squares_do_not_overflow) {
  for (double v : rms_of<f16, TypeParam>(*this, std::vector<double>(2048, 1000), epsilon)) EXPECT_EQ(v, 1);
  std::vector<double> large(4096);
  for (std::size_t c = 0; c < large.size(); ++c) large[c] = c % 3 == 0 ? -60000 : 60000;
  const auto y = rms_of<f16, TypeParam>(*this, large, epsilon);
  for (std::size_t c = 0; c < large.size(); ++c) EXPECT_EQ(y[c], c % 3 == 0 ? -1 : 1);

  const auto half = this->input(std::vector<f16>(2048, f16(500.0f))).data();
  const auto residual = this->input(std::vector<f16>(2048, f16(500.0f))).data();
  auto &sum = this->template output<f16>(2048), &out = this->template output<f16>(2048);
  ASSERT_TRUE(
      add_rms_norm_of<false>(this->executor(), view_on<TypeParam>(half, 1, 2048), view_on<TypeParam>(residual, 1, 2048),
                             view_on<TypeParam>(this->input(std::vector<f16>(2048, f16(1.0f))).data(), 2048),
                             view_on<TypeParam>(sum.data(), 1, 2048), view_on<TypeParam>(out.data(), 1, 2048), epsilon)
          .ok());
  for (f16 v : sum.values()) EXPECT_EQ(as_double(v), 1000);
  for (f16 v : out.values()) EXPECT_EQ(as_double(v), 1);
}

// ROW-12: an epsilon that f16 cannot hold still counts.
TYPED_TEST(norm_rows, tiny_epsilon_is_not_lost) {
  for (double x : {0.0, 7.0}) {
    for (double v : layer_of<f16, TypeParam>(*this, std::vector<double>(10, x), 1e-12f, 0.25)) EXPECT_EQ(v, 0.25);
    for (double v : rms_of<f16, TypeParam>(*this, std::vector<double>(10, x), 1e-12f)) EXPECT_EQ(v, x == 0 ? 0 : 1);
  }
}

// ROW-14, and the same at the other end of the range.
TYPED_TEST(norm_rows, float_magnitudes_near_the_ends_of_the_range) {
  for (double m : {1e30, 3e38, 1e20}) {
    const std::vector<double> row{m, -m, m, -m};
    const auto layer = layer_of<float, TypeParam>(*this, row, epsilon, 0),
               rms = rms_of<float, TypeParam>(*this, row, epsilon);
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(layer[c], c % 2 == 0 ? 1 : -1, 8 * unit) << m;
      EXPECT_NEAR(rms[c], c % 2 == 0 ? 1 : -1, 8 * unit) << m;
    }
  }
  for (double m : {1e-30, 1e-38, 3e-39, 1e-20}) {
    const std::vector<double> row{m, -m, m, -m};
    const auto layer = layer_of<float, TypeParam>(*this, row, 0.0f, 0),
               rms = rms_of<float, TypeParam>(*this, row, 0.0f);
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(layer[c], c % 2 == 0 ? 1 : -1, 16 * unit) << m;
      EXPECT_NEAR(rms[c], c % 2 == 0 ? 1 : -1, 16 * unit) << m;
    }
  }
  // Equal values have no variance, wherever they lie; epsilon makes them 0.
  for (double m : {0.0, 1e-30, 1e30, -3e38})
    for (float e : {1e-12f, 1e-20f, 1e-30f})
      for (double v : layer_of<float, TypeParam>(*this, std::vector<double>(5, m), e, 0.25))
        EXPECT_EQ(v, 0.25) << m << " " << e;
  for (double v : rms_of<float, TypeParam>(*this, {1, INFINITY, 2}, epsilon)) EXPECT_TRUE(std::isnan(v) || v == 0);
  for (double v : rms_of<float, TypeParam>(*this, {1, NAN, 2}, epsilon)) EXPECT_TRUE(std::isnan(v));
  for (double v : layer_of<float, TypeParam>(*this, {1, NAN, 2}, epsilon, 0)) EXPECT_TRUE(std::isnan(v));
}

// ROW-15: within one unit in the last place of the float64 result rounded to the type.
template <class T, class E, class Test>
void check_ulps(Test& test) {
  for (std::size_t cols : sizes{128, 1000, 8192}) {
    std::vector<double> row;
    for (std::size_t c = 0; c < cols; ++c) row.push_back(as_double(value_of<T>(0.1 * unit_interval(hash(7, c)))));
    const auto y = layer_of<T, E>(test, row, epsilon, 0);
    const auto r = layer_reference<T>(row, std::vector<double>(cols, 1), std::vector<double>(cols, 0),
                                      static_cast<double>(epsilon));
    for (std::size_t c = 0; c < cols; ++c) {
      const double expected = as_double(value_of<T>(r.value[c]));
      const double ulp = std::ldexp(1.0, std::ilogb(std::max(std::abs(expected), 1e-4)) - limits<T>::digits + 1);
      EXPECT_LE(std::abs(y[c] - expected), ulp) << name_of<T>() << " " << cols << " " << c;
    }
  }
}
TYPED_TEST(norm_rows, narrow_types_are_within_an_ulp_of_float64) {
  check_ulps<f16, TypeParam>(*this);
  check_ulps<bf16, TypeParam>(*this);
}

// ROW-16: hidden sizes that no plan of threads and vectors likes.
template <class T, class E, class Test>
void check_odd_hidden(Test& test) {
  for (std::size_t cols : sizes{1, 2, 7, 8, 46, 63, 64, 96, 180, 1000, 3584, 3585, 5120, 8192, 13696}) {
    if (is_f16<T> && !E::on_host && (cols % 8 != 0 || cols > 8192)) continue;
    const auto one = value_of<T>(1);
    const auto in = test.input(std::vector<T>(3 * cols, one)).data(),
               residual = test.input(std::vector<T>(3 * cols, one)).data();
    auto &sum = test.template output<T>(3 * cols), &out = test.template output<T>(3 * cols);
    ASSERT_TRUE(add_rms_norm_of<!is_f16<T>>(test.executor(), view_on<E>(in, 3, cols), view_on<E>(residual, 3, cols),
                                            view_on<E>(test.input(std::vector<T>(cols, one)).data(), cols),
                                            view_on<E>(sum.data(), 3, cols), view_on<E>(out.data(), 3, cols), 0.0f)
                    .ok());
    for (T v : sum.values()) ASSERT_EQ(as_double(v), 2) << cols;
    for (T v : out.values()) ASSERT_NEAR(as_double(v), 1, 4 * unit) << cols;
  }
}
TYPED_TEST(norm_rows, any_hidden_size_works) {
  check_odd_hidden<float, TypeParam>(*this);
  check_odd_hidden<f16, TypeParam>(*this);
  check_odd_hidden<bf16, TypeParam>(*this);
}

// ROW-18: rows of 92 bytes on either side, and a weight that starts off by one.
TYPED_TEST(norm_rows, misaligned_rows_are_written_right) {
  const std::size_t rows = 5, cols = 46;
  for (auto [in_pitch, out_pitch] : {std::array<std::size_t, 2>{48, 46}, {46, 48}}) {
    const auto x = uniform<bf16>(rows * in_pitch, 9), w = uniform<bf16>(cols, 10);
    std::vector<double> xd;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) xd.push_back(as_double(x[r * in_pitch + c]));
    auto& out = this->template output<bf16>(rows * out_pitch);
    ASSERT_TRUE(rms_norm(this->executor(),
                         pitched_on<TypeParam>(this->input(x).data(), rows, cols, static_cast<index_t>(in_pitch)),
                         view_on<TypeParam>(this->input(w, 1).data(), cols),
                         pitched_on<TypeParam>(out.data(), rows, cols, static_cast<index_t>(out_pitch)), epsilon)
                    .ok());
    const auto y = out.values();
    std::vector<bf16> packed;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) packed.push_back(y[r * out_pitch + c]);
    const auto r = rms_reference<bf16>(xd, as_double(w), static_cast<double>(epsilon), 0);
    EXPECT_TRUE(near(packed, r.value, r.bound));
    EXPECT_TRUE(out.wrote_only([&, pitch = out_pitch](std::size_t i) { return i % pitch < cols; }));
  }
}

// ROW-19: q normalised in place inside a fused qkv row; k and v stay.
TYPED_TEST(norm_rows, in_place_on_a_slice_leaves_its_neighbours) {
  std::vector<float> x(72), packed;
  for (std::size_t i = 0; i < 72; ++i) x[i] = static_cast<float>(100 * (i / 24) + i % 24);
  for (std::size_t t = 0; t < 3; ++t)
    packed.insert(packed.end(), x.begin() + 24 * static_cast<std::ptrdiff_t>(t),
                  x.begin() + 24 * static_cast<std::ptrdiff_t>(t) + 8);
  guarded_output<float, typename TypeParam::space> qkv(x);
  const auto w = view_on<TypeParam>(this->input(std::vector<float>{1, 2, 3, 4}).data(), 4);
  const index_t extents[] = {3, 2, 4}, strides[] = {24, 4, 1};
  const auto q = strided_on<TypeParam>(qkv.data(), extents, strides);
  auto& expected = this->template output<float>(24);
  ASSERT_TRUE(rms_norm(this->executor(), q, w, q, epsilon).ok());
  ASSERT_TRUE(rms_norm(this->executor(), view_on<TypeParam>(this->input(packed).data(), 3, 2, 4), w,
                       view_on<TypeParam>(expected.data(), 3, 2, 4), epsilon)
                  .ok());
  const auto y = qkv.values(), z = expected.values();
  for (std::size_t i = 0; i < 72; ++i) {
    if (i % 24 < 8)
      EXPECT_NEAR(static_cast<double>(y[i]), static_cast<double>(z[i / 24 * 8 + i % 24]), 1e-6);
    else
      EXPECT_EQ(y[i], x[i]);
  }
  EXPECT_TRUE(qkv.intact());
}

// ROW-20: every operand has strides of its own.
TYPED_TEST(norm_rows, residual_and_outputs_keep_their_own_strides) {
  std::vector<float> x(24), residual(12);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      x[8 * r + c] = static_cast<float>(r), residual[4 * r + c] = static_cast<float>(10 * r);
  auto &sum = this->template output<float>(15), &out = this->template output<float>(18);
  ASSERT_TRUE(add_rms_norm(this->executor(), pitched_on<TypeParam>(this->input(x).data(), 3, 4, 8),
                           view_on<TypeParam>(this->input(residual).data(), 3, 4),
                           view_on<TypeParam>(this->input(std::vector<float>(4, 1.0f)).data(), 4),
                           pitched_on<TypeParam>(sum.data(), 3, 4, 5), pitched_on<TypeParam>(out.data(), 3, 4, 6),
                           1e-6f)
                  .ok());
  const auto s = sum.values(), y = out.values();
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(s[5 * r + c], static_cast<float>(11 * r));
      EXPECT_NEAR(static_cast<double>(y[6 * r + c]), r == 0 ? 0 : 1, 8 * unit);
    }
  }
  EXPECT_TRUE(sum.wrote_only([](std::size_t i) { return i % 5 < 4; }));
  EXPECT_TRUE(out.wrote_only([](std::size_t i) { return i % 6 < 4; }));
}

TYPED_TEST(norm_rows, residual_stream_may_be_updated_in_place) {
  for (std::size_t cols : sizes{40, 5000, 33001}) {
    const auto x = uniform<bf16>(2 * cols, 11), residual = uniform<bf16>(2 * cols, 12), w = uniform<bf16>(cols, 13);
    auto &sum = this->template output<bf16>(2 * cols), &out = this->template output<bf16>(2 * cols);
    guarded_output<bf16, typename TypeParam::space> stream(residual), branch(x);
    const auto wv = view_on<TypeParam>(this->input(w).data(), cols);
    const auto xv = view_on<TypeParam>(branch.data(), 2, cols), rv = view_on<TypeParam>(stream.data(), 2, cols);
    ASSERT_TRUE(add_rms_norm(this->executor(), view_on<TypeParam>(this->input(x).data(), 2, cols),
                             view_on<TypeParam>(this->input(residual).data(), 2, cols), wv,
                             view_on<TypeParam>(sum.data(), 2, cols), view_on<TypeParam>(out.data(), 2, cols), epsilon)
                    .ok());
    ASSERT_TRUE(add_rms_norm(this->executor(), xv, rv, wv, rv, xv, epsilon).ok());
    EXPECT_EQ(as_double(stream.values()), as_double(sum.values()));
    EXPECT_EQ(as_double(branch.values()), as_double(out.values()));
  }
}

/// The same where a block brings the next row to shared memory while it writes this one.
TYPED_TEST(norm_rows, rows_on_their_way_are_not_those_being_written) {
  using namespace rows;
  constexpr std::size_t rows = 7, cols = 1000;
  const auto x = uniform<bf16>(rows * cols, 90), residual = uniform<bf16>(rows * cols, 91), w = uniform<bf16>(cols, 92);
  const auto wv = view_on<TypeParam>(this->input(w).data(), cols);
  using program = add_rms_norm_program<bf16, bf16, bf16, bf16, bf16, rounding::at_store>;
  const auto add = [&](const auto& a, const auto& b, const auto& sum, const auto& out) {
    return run_pinned<whole_chunks<blocks_of<64, 4, 1, keep::next_row>>, 8>(
        this->executor(), "add_rms_norm",
        program{input_of(a), input_of(b), shared_line(wv), operand_of(sum), operand_of(out), epsilon}, rows, cols, 2);
  };
  auto &sum = this->template output<bf16>(rows * cols), &out = this->template output<bf16>(rows * cols);
  guarded_output<bf16, typename TypeParam::space> stream(residual), branch(x);
  const auto on = [&](auto& o) { return view_on<TypeParam>(o.data(), rows, cols); };
  ASSERT_TRUE(add(on(this->input(x)), on(this->input(residual)), on(sum), on(out)).ok());
  ASSERT_TRUE(add(on(branch), on(stream), on(stream), on(branch)).ok());
  EXPECT_EQ(as_double(stream.values()), as_double(sum.values()));
  EXPECT_EQ(as_double(branch.values()), as_double(out.values()));
  std::vector<double> exact = as_double(residual);
  const auto added = as_double(x);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += added[i];
  const auto want = rms_reference<bf16>(exact, as_double(w), static_cast<double>(epsilon), unit);
  EXPECT_TRUE(near(out.values(), want.value, want.bound));
}

// ROW-21: where the rounding stands changes the result; both orders can be had.
TYPED_TEST(norm_rows, weight_follows_the_rounding_policy) {
  const auto x = view_on<TypeParam>(this->input(std::vector<bf16>{bf16(-0.63671875f), bf16(1.0f)}).data(), 1, 2);
  const auto w = view_on<TypeParam>(this->input(std::vector<bf16>{bf16(1.109375f), bf16(1.0f)}).data(), 2);
  auto& out = this->template output<bf16>(2);
  ASSERT_TRUE(rms_norm(this->executor(), x, w, view_on<TypeParam>(out.data(), 1, 2), 1e-6f).ok());
  EXPECT_EQ(as_double(out.values()[0]), -0.84375);
  ASSERT_TRUE(
      (rms_norm_of<false, round_before_weight>(this->executor(), x, w, view_on<TypeParam>(out.data(), 1, 2), 1e-6f)
           .ok()));
  EXPECT_EQ(as_double(out.values()[0]), -0.83984375);
  const auto zero = view_on<TypeParam>(this->input(std::vector<bf16>(2, bf16(0.0f))).data(), 1, 2);
  auto& sum = this->template output<bf16>(2);
  ASSERT_TRUE(
      (add_rms_norm_of<false, round_before_weight>(this->executor(), x, zero, w, view_on<TypeParam>(sum.data(), 1, 2),
                                                   view_on<TypeParam>(out.data(), 1, 2), 1e-6f)
           .ok()));
  EXPECT_EQ(as_double(out.values()[0]), -0.83984375);
}

}  // namespace
}  // namespace kiln::test
