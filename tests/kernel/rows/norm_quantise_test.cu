// Norms with codes as their result, against float64 and against quantise_rows of the float32 norm.
#include <array>
#include <kiln/core/trace.hpp>
#include <kiln/norm_quantise.hpp>

#include "tests/kernel/rows/norm_bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(norm_quantise);

constexpr float epsilon = 1e-5f;

template <class Q>
constexpr double largest = std::is_same_v<Q, std::int8_t> ? 127
                           : std::is_same_v<Q, e4m3>      ? 448
                                                          : 57344;

/// Half a step of Q around a scaled value.
template <class Q>
double half_step(double scaled) {
  if constexpr (std::is_same_v<Q, std::int8_t>) {
    return 0.5;
  } else {
    const int least = std::ilogb(as_double(limits<Q>::smallest_normal()));
    const int exponent = scaled == 0 ? least : std::max(std::ilogb(std::abs(scaled)), least);
    return std::ldexp(1.0, exponent - limits<Q>::digits);
  }
}

/// Scales within the norm's bound and one division, codes half a step from the quotient by that scale: a neighbour of
/// the right code passes only where the quotient is as near to a tie as the bound says. A norm that were rounded to 16
/// bits on its way would be off by a quarter of a step of int8.
template <class Q>
void expect_codes(const char* what, const std::vector<Q>& q, const std::vector<float>& scales, const reference& r) {
  const std::size_t cols = q.size() / scales.size();
  for (std::size_t row = 0; row < scales.size(); ++row) {
    double amax = 0, slack = 0;
    for (std::size_t i = row * cols; i < (row + 1) * cols; ++i)
      amax = std::max(amax, std::abs(r.value[i])), slack = std::max(slack, r.bound[i]);
    const double s = static_cast<double>(scales[row]);
    ASSERT_NEAR(s, amax / largest<Q>, slack / largest<Q> + unit * s) << what << ", row " << row;
    for (std::size_t i = row * cols; i < (row + 1) * cols; ++i) {
      const double v = r.value[i] / s;
      ASSERT_LE(std::abs(as_double(q[i]) - v), half_step<Q>(v) + r.bound[i] / s + 2 * unit * std::abs(v))
          << what << ", row " << row << ", column " << i - row * cols;
    }
  }
}

// On the device the sum with its residual takes the kernels that a public call chooses from. The choice does not depend
// on the norm or the types and each kernel costs its time to compile, so the others take one of two: a block holds the
// row, or reads it again element by element.
template <class Program, class Ex>
status run_one_of_two(const Ex& ex, const Program& program, index_t count, index_t length) {
  using namespace rows;
  constexpr int width = chunk_width<Program>;
  if (rows::detail::all_vectors(program, length, width) && length <= one_block::capacity(width))
    return run_pinned<one_block, width>(ex, "norm", program, count, length);
  return run_pinned<endless_single, 1>(ex, "norm", program, count, length);
}
template <class Ex, class X, class W, class Q, class Scales>
status rms_norm_of(const Ex& ex, const X& x, const W& w, const Q& q, const Scales& scales,
                   quantise_options options = {}) {
  if constexpr (Ex::on_host) {
    return rms_norm(ex, x, w, q, scales, epsilon, options);
  } else {
    using namespace rows;
    using code = typename Q::value_type;
    using kind = scales_argument<Scales>;
    const auto& set = kind::of(scales);
    const auto rest = [&](auto place) {
      using scale = std::remove_pointer_t<decltype(place.data)>;
      return norm_quantise_program<rows_of_one<typename X::value_type>, rms_values<typename W::value_type>, code,
                                   scale>{
          {input_of(x)}, {shared_line(w), epsilon}, operand_of(q), place, {codes_of<code>(options).rule}};
    };
    if constexpr (kind::computed)
      return run_one_of_two(ex, rest(place_of<kind::type::served>(set.scales)), count(x), length(x));
    else
      return run_pinned<one_block, 8>(ex, "norm", rest(place_of_const<kind::type::served>(set.scales)), count(x),
                                      length(x));
  }
}
template <class Ex, class X, class W, class Q, class Set>
status layer_norm_of(const Ex& ex, const X& x, const W& w, const W& b, const Q& q, const Set& set) {
  if constexpr (Ex::on_host) {
    return layer_norm(ex, x, w, b, q, set, epsilon);
  } else {
    using namespace rows;
    using code = typename Q::value_type;
    using weight = typename W::value_type;
    using program =
        norm_quantise_program<rows_of_one<typename X::value_type>, layer_values<weight, weight>, code, float>;
    return run_one_of_two(ex,
                          program{{input_of(x)},
                                  {shared_line(w), shared_line(b), epsilon},
                                  operand_of(q),
                                  place_of<Set::served>(set.scales),
                                  {codes_of<code>({}).rule}},
                          count(x), length(x));
  }
}

template <class Test>
void check_norms(Test& test, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
  using E = std::decay_t<decltype(test.executor())>;
  const auto x = uniform<bf16>(rows * cols, seed), residual = uniform<bf16>(rows * cols, seed + 1000),
             w = uniform<bf16>(cols, seed + 2000), b = uniform<bf16>(cols, seed + 3000);
  const auto xf = uniform<float>(rows * cols, seed + 4000);
  std::vector<double> sum = as_double(residual), sum_bound;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += as_double(x[i]);
    sum_bound.push_back(store_error<bf16>(sum[i]) + unit * std::abs(sum[i]));
  }
  const auto on = [&](const auto* p) { return view_on<E>(p, rows, cols); };
  const auto wv = view_on<E>(test.input(w).data(), cols), bv = view_on<E>(test.input(b).data(), cols);
  const auto xv = on(test.input(x).data()), rv = on(test.input(residual).data());
  const auto fv = on(test.input(xf).data());
  auto &rms = test.template output<std::int8_t>(rows * cols), &layer = test.template output<std::int8_t>(rows * cols);
  auto& added = test.template output<e4m3>(rows * cols);
  auto& stored = test.template output<bf16>(rows * cols);
  auto &rms_scales = test.template output<float>(rows), &layer_scales = test.template output<float>(rows),
       &added_scales = test.template output<float>(rows);
  const auto scales = [&](auto& o) { return per_row_scales(view_on<E>(o.data(), rows)); };
  ASSERT_TRUE(rms_norm_of(test.executor(), xv, wv, view_on<E>(rms.data(), rows, cols), scales(rms_scales)).ok());
  ASSERT_TRUE(add_rms_norm(test.executor(), xv, rv, wv, view_on<E>(stored.data(), rows, cols),
                           view_on<E>(added.data(), rows, cols), scales(added_scales), epsilon)
                  .ok());
  ASSERT_TRUE(
      layer_norm_of(test.executor(), fv, wv, bv, view_on<E>(layer.data(), rows, cols), scales(layer_scales)).ok());
  const double e = static_cast<double>(epsilon);
  const auto wd = as_double(w);
  expect_codes("rms_norm", rms.values(), rms_scales.values(), rms_reference<float>(as_double(x), wd, e, 0));
  EXPECT_TRUE(near(stored.values(), sum, sum_bound)) << "sum";
  expect_codes("add_rms_norm", added.values(), added_scales.values(), rms_reference<float>(sum, wd, e, unit));
  expect_codes("layer_norm", layer.values(), layer_scales.values(),
               layer_reference<float>(as_double(xf), wd, as_double(b), e));
}

TYPED_TEST(norm_quantise, agrees_with_float64_at_every_length) {
  std::uint64_t seed = 0;
  for (std::size_t cols : sizes{1, 7, 8, 33, 128, 1000, 3584, 8192, 8193, 33000})
    check_norms(*this, cols > 2000 ? 2 : 19, cols, ++seed);
}

/// By one configuration: rows that registers hold take norm and scale from one pass, but for those whose squares or
/// products with the weight might overflow or vanish.
template <class Config, class Q, class Test>
void check_configuration(Test& test, std::size_t cols, index_t most_blocks = 0) {
  SCOPED_TRACE(std::to_string(Config::threads) + " threads, " + std::to_string(cols) + " columns");
  using E = std::decay_t<decltype(test.executor())>;
  const std::vector<int> scales{0, 110, -110, 40, -40, 0};
  const std::size_t rows = scales.size();
  auto x = uniform<bf16>(rows * cols, 70 + cols);
  const auto w = uniform<bf16>(cols, 71);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = value_of<bf16>(std::ldexp(as_double(x[i]) + 2, scales[i / cols]));
  auto& q = test.template output<Q>(x.size());
  auto& s = test.template output<float>(rows);
  using program = rows::norm_quantise_program<rows::rows_of_one<bf16>, rows::rms_values<bf16>, Q, float>;
  const program p{{rows::input_of(view_on<E>(test.input(x).data(), rows, cols))},
                  {rows::shared_line(view_on<E>(test.input(w).data(), cols)), epsilon},
                  rows::operand_of(view_on<E>(q.data(), rows, cols)),
                  {s.data(), 1, 0},
                  {rows::codes_of<Q>({}).rule}};
  ASSERT_TRUE((rows::run_pinned<Config, 8>(test.executor(), "norm", p, static_cast<index_t>(rows),
                                           static_cast<index_t>(cols), most_blocks)
                   .ok()));
  expect_codes("rms_norm", q.values(), s.values(),
               rms_reference<float>(as_double(x), as_double(w), static_cast<double>(epsilon), 0));
}
TYPED_TEST(norm_quantise, held_rows_take_norm_and_scale_from_one_pass) {
  using namespace rows;
  check_configuration<whole_chunks<one_warp>, std::int8_t>(*this, 1024);
  check_configuration<whole_chunks<one_warp>, e4m3>(*this, 520);
  check_configuration<whole_chunks<blocks_of<128, 2>>, std::int8_t>(*this, 2048);
  check_configuration<whole_chunks<blocks_of<128, 2>>, std::int8_t>(*this, 1032);
  // Several rows a block, with the weights in shared memory, and with the next row there.
  check_configuration<whole_chunks<blocks_of<64, 4, 1, keep::beside>>, std::int8_t>(*this, 2000, 2);
  check_configuration<whole_chunks<blocks_of<64, 4, 1, keep::next_row>>, e4m3>(*this, 2048, 2);
}

/// `norm(y)` makes the float32 norm, which quantise_rows makes codes of; `fused(q, scales)` makes them at once.
template <class Q, class Norm, class Fused>
void check_two_steps(index_t rows, index_t cols, quantise_options options, Norm norm, Fused fused) {
  const auto n = static_cast<std::size_t>(rows * cols), count = static_cast<std::size_t>(rows);
  std::vector<float> y(n), s(count), t(count);
  std::vector<Q> p(n), q(n);
  const auto yv = host_view(y.data(), rows, cols);
  const auto pv = host_view(p.data(), rows, cols);
  ASSERT_TRUE(norm(yv).ok());
  ASSERT_TRUE(fused(host_view(q.data(), rows, cols), per_row_scales(host_view(t.data(), rows))).ok());
  ASSERT_TRUE(quantise_rows(host, yv, pv, host_view(s.data(), rows), options).ok());
  EXPECT_EQ(s, t);
  EXPECT_EQ(as_double(p), as_double(q));
  // A norm that is rounded to the input's type on its way would give other codes.
  for (float& v : y) v = static_cast<float>(bf16(v));
  ASSERT_TRUE(quantise_rows(host, yv, pv, host_view(s.data(), rows), options).ok());
  EXPECT_NE(as_double(p), as_double(q));
}
TEST(norm_quantise_on_host, equals_quantise_rows_of_the_float32_norm) {
  const index_t rows = 3, cols = 1001;
  const auto x = uniform<bf16>(3 * 1001, 1), residual = uniform<bf16>(3 * 1001, 2), w = uniform<bf16>(1001, 3),
             b = uniform<bf16>(1001, 4);
  const auto xf = uniform<float>(3 * 1001, 5);
  std::vector<bf16> sum(3 * 1001);
  const auto xv = host_view(x.data(), rows, cols), rv = host_view(residual.data(), rows, cols);
  const auto fv = host_view(xf.data(), rows, cols);
  const auto sv = host_view(sum.data(), rows, cols);
  const auto wv = host_view(w.data(), cols), bv = host_view(b.data(), cols);
  const auto norm = [&](const auto& y) { return rms_norm(host, xv, wv, y, epsilon); };
  const quantise_options symmetric{.range = int8_range::symmetric};
  check_two_steps<std::int8_t>(rows, cols, symmetric, norm, [&](const auto& q, const auto& s) {
    return rms_norm(host, xv, wv, q, s, epsilon, symmetric);
  });
  check_two_steps<e5m2>(rows, cols, {}, norm,
                        [&](const auto& q, const auto& s) { return rms_norm(host, xv, wv, q, s, epsilon); });
  check_two_steps<e4m3>(
      rows, cols, {}, [&](const auto& y) { return add_rms_norm(host, xv, rv, wv, sv, y, epsilon); },
      [&](const auto& q, const auto& s) { return add_rms_norm(host, xv, rv, wv, sv, q, s, epsilon); });
  check_two_steps<std::int8_t>(
      rows, cols, {}, [&](const auto& y) { return layer_norm(host, fv, wv, bv, y, epsilon); },
      [&](const auto& q, const auto& s) { return layer_norm(host, fv, wv, bv, q, s, epsilon); });
}

// Rows of equal magnitudes are +-1 after the norm, and 1000 drowns epsilon, so codes are those of weight / scale, none
// of them near a tie. The guarded input fails the test if the scales change.
TYPED_TEST(norm_quantise, given_scales_are_only_read) {
  const std::size_t cols = 8;
  std::vector<bf16> x(3 * cols), w;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = bf16(i / cols == 1 ? -1000.0f : 1000.0f);
  for (float v : {1.0f, 2.0f, 0.375f, 100.0f, -200.0f, 0.0f, 63.0f, -3.0f}) w.push_back(bf16(v));
  const auto xv = view_on<TypeParam>(this->input(x).data(), 3, 8);
  const auto wv = view_on<TypeParam>(this->input(w).data(), 8);
  const std::vector<float> steps{0.5f, 2.5f, 0.0625f};
  const auto sv = view_on<TypeParam>(this->input(steps).data(), 3);
  auto& q = this->template output<std::int8_t>(24, prefill::x55);
  const auto qv = view_on<TypeParam>(q.data(), 3, 8);
  const auto expect = [&](bool one, int lowest) {
    const auto got = q.values();
    for (std::size_t i = 0; i < 24; ++i) {
      const double y = as_double(w[i % cols]) * (i / cols == 1 ? -1 : 1);
      const double v = std::nearbyint(y / static_cast<double>(steps[one ? 0 : i / cols]));
      EXPECT_EQ(int{got[i]}, std::clamp(v, static_cast<double>(lowest), 127.0)) << i;
    }
  };
  ASSERT_TRUE(rms_norm_of(this->executor(), xv, wv, qv, given(per_row_scales(sv))).ok());
  expect(false, -128);
  ASSERT_TRUE(
      rms_norm_of(this->executor(), xv, wv, qv, given(per_row_scales(sv)), {.range = int8_range::symmetric}).ok());
  expect(false, -127);
  ASSERT_TRUE(rms_norm_of(this->executor(), xv, wv, qv, given(per_tensor_scale(view_on<TypeParam>(sv.data, 1)))).ok());
  expect(true, -128);
  auto& f = this->template output<e4m3>(24);
  const auto fv = view_on<TypeParam>(f.data(), 3, 8);
  ASSERT_TRUE(rms_norm_of(this->executor(), xv, wv, fv, given(per_row_scales(sv))).ok());
  EXPECT_EQ(as_double(f.values()[16 + 3]), 448);
  EXPECT_EQ(as_double(f.values()[16 + 4]), -448);
  ASSERT_TRUE(rms_norm_of(this->executor(), xv, wv, fv, given(per_row_scales(sv)), {.beyond = overflow::to_nan}).ok());
  EXPECT_TRUE(std::isnan(as_double(f.values()[16 + 3])));
  EXPECT_EQ(as_double(f.values()[16 + 5]), 0);
}

// Beside zeros, NaN and infinity stand rows that these leave alone.
TYPED_TEST(norm_quantise, zeros_have_scale_1_and_nan_shows_in_the_scale) {
  for (std::size_t cols : sizes{1, 20, 1025}) {
    std::vector<bf16> x = uniform<bf16>(5 * cols, 31);
    std::vector<float> xf(5 * cols);
    for (std::size_t r = 0; r < 5; ++r) x[r * cols] = bf16(1.5f);
    for (std::size_t c = 0; c < cols; ++c) x[cols + c] = bf16(0.0f);
    x[3 * cols - 1] = value_of<bf16>(NAN), x[4 * cols - 1] = value_of<bf16>(-INFINITY);
    for (std::size_t i = 0; i < x.size(); ++i) xf[i] = static_cast<float>(x[i]);
    const auto w = view_on<TypeParam>(this->input(std::vector<bf16>(cols, bf16(0.5f))).data(), cols);
    const auto b = view_on<TypeParam>(this->input(std::vector<bf16>(cols, bf16(0.0f))).data(), cols);
    auto &q = this->template output<std::int8_t>(5 * cols), &p = this->template output<std::int8_t>(5 * cols);
    auto &s = this->template output<float>(5), &t = this->template output<float>(5);
    ASSERT_TRUE(rms_norm_of(this->executor(), view_on<TypeParam>(this->input(x).data(), 5, cols), w,
                            view_on<TypeParam>(q.data(), 5, cols), per_row_scales(view_on<TypeParam>(s.data(), 5)))
                    .ok());
    ASSERT_TRUE(layer_norm_of(this->executor(), view_on<TypeParam>(this->input(xf).data(), 5, cols), w, b,
                              view_on<TypeParam>(p.data(), 5, cols), per_row_scales(view_on<TypeParam>(t.data(), 5)))
                    .ok());
    for (const auto& found : {s.values(), t.values()}) {
      EXPECT_TRUE(std::isfinite(found[0]) && found[0] > 0) << cols;
      EXPECT_EQ(found[1], 1) << cols;
      EXPECT_TRUE(std::isnan(found[2])) << cols;
      EXPECT_TRUE(!std::isfinite(found[3])) << cols;
      EXPECT_TRUE(std::isfinite(found[4]) && found[4] > 0) << cols;
    }
    for (const auto& found : {q.values(), p.values()})
      for (std::size_t c = 0; c < cols; ++c) {
        EXPECT_EQ(found[cols + c], 0);
        EXPECT_EQ(found[2 * cols + c], 0) << "NaN is 0 in an integer";
      }
    if (cols == 1) {
      EXPECT_EQ(q.values()[0], 127);
    }
  }
}

// Pitches of 46 and 48 on either side, a weight that starts off by one, scales two apart.
TYPED_TEST(norm_quantise, every_operand_keeps_its_strides) {
  const std::size_t rows = 5, cols = 46;
  for (auto [in_pitch, out_pitch] : {std::array<std::size_t, 2>{48, 46}, {46, 48}, {46, 46}}) {
    const auto x = uniform<bf16>(rows * in_pitch, 9), residual = uniform<bf16>(rows * out_pitch, 10),
               w = uniform<bf16>(cols, 11);
    std::vector<double> xd, sum;
    for (std::size_t i = 0; i < rows * cols; ++i) {
      xd.push_back(as_double(x[i / cols * in_pitch + i % cols]));
      sum.push_back(xd.back() + as_double(residual[i / cols * out_pitch + i % cols]));
    }
    auto& q = this->template output<std::int8_t>(rows * out_pitch);
    auto& added = this->template output<e4m3>(rows * in_pitch);
    auto& stored = this->template output<bf16>(rows * 50);
    auto &s = this->template output<float>(2 * rows), &t = this->template output<float>(rows);
    const index_t extents[] = {rows}, strides[] = {2};
    const auto in = static_cast<index_t>(in_pitch), out = static_cast<index_t>(out_pitch);
    const auto xv = pitched_on<TypeParam>(this->input(x).data(), rows, cols, in);
    const auto wv = view_on<TypeParam>(this->input(w, 1).data(), cols);
    ASSERT_TRUE(rms_norm_of(this->executor(), xv, wv, pitched_on<TypeParam>(q.data(), rows, cols, out),
                            per_row_scales(strided_on<TypeParam>(s.data(), extents, strides)))
                    .ok());
    ASSERT_TRUE(add_rms_norm(this->executor(), xv, pitched_on<TypeParam>(this->input(residual).data(), rows, cols, out),
                             wv, pitched_on<TypeParam>(stored.data(), rows, cols, 50),
                             pitched_on<TypeParam>(added.data(), rows, cols, in),
                             per_row_scales(view_on<TypeParam>(t.data(), rows)), epsilon)
                    .ok());
    std::vector<std::int8_t> packed;
    std::vector<e4m3> packed_sum;
    std::vector<float> scales;
    for (std::size_t i = 0; i < rows * cols; ++i) {
      packed.push_back(q.values()[i / cols * out_pitch + i % cols]);
      packed_sum.push_back(added.values()[i / cols * in_pitch + i % cols]);
      ASSERT_NEAR(as_double(stored.values()[i / cols * 50 + i % cols]), sum[i], store_error<bf16>(sum[i]));
    }
    for (std::size_t r = 0; r < rows; ++r) scales.push_back(s.values()[2 * r]);
    const double e = static_cast<double>(epsilon);
    expect_codes("rms_norm", packed, scales, rms_reference<float>(xd, as_double(w), e, 0));
    expect_codes("add_rms_norm", packed_sum, t.values(), rms_reference<float>(sum, as_double(w), e, unit));
    EXPECT_TRUE(q.wrote_only([&, p = out_pitch](std::size_t i) { return i % p < cols; }));
    EXPECT_TRUE(added.wrote_only([&, p = in_pitch](std::size_t i) { return i % p < cols; }));
    EXPECT_TRUE(stored.wrote_only([](std::size_t i) { return i % 50 < cols; }));
    EXPECT_TRUE(s.wrote_only([](std::size_t i) { return i % 2 == 0; }));
  }
}

TYPED_TEST(norm_quantise, residual_stream_may_be_updated_in_place) {
  for (std::size_t cols : sizes{40, 5000, 33001}) {
    const auto x = uniform<bf16>(2 * cols, 11), residual = uniform<bf16>(2 * cols, 12);
    const auto wv = view_on<TypeParam>(this->input(uniform<bf16>(cols, 13)).data(), cols);
    const auto xv = view_on<TypeParam>(this->input(x).data(), 2, cols);
    auto& sum = this->template output<bf16>(2 * cols);
    auto &q = this->template output<e4m3>(2 * cols), &p = this->template output<e4m3>(2 * cols);
    auto &s = this->template output<float>(2), &t = this->template output<float>(2);
    guarded_output<bf16, typename TypeParam::space> stream(residual);
    const auto rv = view_on<TypeParam>(stream.data(), 2, cols);
    ASSERT_TRUE(add_rms_norm(this->executor(), xv, view_on<TypeParam>(this->input(residual).data(), 2, cols), wv,
                             view_on<TypeParam>(sum.data(), 2, cols), view_on<TypeParam>(q.data(), 2, cols),
                             per_row_scales(view_on<TypeParam>(s.data(), 2)), epsilon)
                    .ok());
    ASSERT_TRUE(add_rms_norm(this->executor(), xv, rv, wv, rv, view_on<TypeParam>(p.data(), 2, cols),
                             per_row_scales(view_on<TypeParam>(t.data(), 2)), epsilon)
                    .ok());
    EXPECT_EQ(as_double(stream.values()), as_double(sum.values()));
    EXPECT_EQ(as_double(q.values()), as_double(p.values()));
    EXPECT_EQ(s.values(), t.values());
    EXPECT_TRUE(stream.intact());
  }
}

TYPED_TEST(norm_quantise, empty_shapes_succeed) {
  auto& q = this->template output<e4m3>(8);
  auto& sum = this->template output<bf16>(8);
  auto &none = this->template output<float>(4), &scales = this->template output<float>(4);
  const auto in = this->input(std::vector<bf16>(8, bf16(2.0f))).data();
  const auto w = this->input(std::vector<bf16>(128, bf16(1.0f))).data();
  const auto run = [&](index_t m, index_t n, float* s) {
    const auto x = view_on<TypeParam>(in, m, n);
    return add_rms_norm(this->executor(), x, x, view_on<TypeParam>(w, n), view_on<TypeParam>(sum.data(), m, n),
                        view_on<TypeParam>(q.data(), m, n), per_row_scales(view_on<TypeParam>(s, m)), epsilon);
  };
  ASSERT_TRUE(run(0, 128, none.data()).ok());
  EXPECT_TRUE(none.untouched());
  ASSERT_TRUE(run(4, 0, scales.data()).ok());
  for (float s : scales.values()) EXPECT_EQ(s, 1);  // as quantise_rows has it
  EXPECT_TRUE(q.untouched());
  EXPECT_TRUE(sum.untouched());
}

/// What is told of the arguments before anything runs, which no executor changes.
template <class E>
class norm_quantise_arguments : public on_executor<E> {};
TYPED_TEST_SUITE(norm_quantise_arguments, host_only, executor_names);

TYPED_TEST(norm_quantise_arguments, wrong_ones_are_named) {
  guarded_output<bf16, typename TypeParam::space> buffer(uniform<bf16>(100, 4));
  auto& q = this->template output<std::int8_t>(24);
  auto& f = this->template output<e4m3>(24);
  auto& scale = this->template output<float>(4);
  bf16* p = buffer.data();
  const auto ex = this->executor();
  const auto x = view_on<TypeParam>(static_cast<const bf16*>(p), 4, 6);
  const auto w = view_on<TypeParam>(static_cast<const bf16*>(p + 60), 6);
  const auto sum = view_on<TypeParam>(p + 30, 4, 6);
  const auto qv = view_on<TypeParam>(q.data(), 4, 6);
  const auto fv = view_on<TypeParam>(f.data(), 4, 6);
  const auto sv = view_on<TypeParam>(scale.data(), 4);
  const auto scales = per_row_scales(sv);
  const auto is = [](const status& s, errc code, const char* what) {
    EXPECT_EQ(s.code(), code) << s.message();
    EXPECT_NE(s.message().find(what), std::string::npos) << s.message();
  };
  is(rms_norm(ex, x, view_on<TypeParam>(w.data, 5), qv, scales, epsilon), errc::bad_shape,
     "operand `weight`: has 5 elements, needs 6 (the columns of `x`)");
  is(rms_norm(ex, x, view_on<TypeParam>(static_cast<const bf16*>(nullptr), 6), qv, scales, epsilon), errc::null_pointer,
     "`weight`");
  is(rms_norm(ex, x, w, view_on<TypeParam>(q.data(), 3, 6), scales, epsilon), errc::bad_shape,
     "operand `q`: axis 0 has extent 3, needs 4 as in `x`");
  is(rms_norm(ex, x, w, pitched_on<TypeParam>(q.data(), 4, 6, 5), scales, epsilon), errc::bad_stride, "`q`");
  is(rms_norm(ex, x, w, qv, per_row_scales(view_on<TypeParam>(scale.data(), 3)), epsilon), errc::bad_shape,
     "operand `scales`: has 3 elements, needs 4 (one for each row)");
  is(add_rms_norm(ex, x, view_on<TypeParam>(x.data, 3, 6), w, sum, fv, scales, epsilon), errc::bad_shape,
     "operand `residual`: axis 0 has extent 3, needs 4 as in `x`");
  is(add_rms_norm(ex, x, x, w, view_on<TypeParam>(p + 50, 4, 6), fv, scales, epsilon), errc::overlap,
     "`sum`: shares memory with `weight`");
  is(add_rms_norm(ex, x, x, w, view_on<TypeParam>(p + 12, 4, 6), fv, scales, epsilon), errc::overlap,
     "`sum`: shares memory with `x`");
  is(add_rms_norm(ex, x, x, w, sum, view_on<TypeParam>(reinterpret_cast<e4m3*>(p + 40), 4, 6), scales, epsilon),
     errc::overlap, "`q`: shares memory with `sum`");
  is(rms_norm(ex, x, w, view_on<TypeParam>(reinterpret_cast<std::int8_t*>(p + 62), 4, 6), scales, epsilon),
     errc::overlap, "`q`: shares memory with `weight`");
  is(rms_norm(ex, x, w, qv, per_row_scales(view_on<TypeParam>(reinterpret_cast<float*>(p + 2), 4)), epsilon),
     errc::overlap, "`scales`: shares memory with `x`");
  is(rms_norm(ex, x, w, qv, per_row_scales(view_on<TypeParam>(reinterpret_cast<float*>(q.data()), 4)), epsilon),
     errc::overlap, "`q`: shares memory with `scales`");
  for (float bad : {-1e-5f, NAN, INFINITY})
    is(rms_norm(ex, x, w, qv, scales, bad), errc::bad_option, "option `epsilon`");
  EXPECT_TRUE(buffer.untouched());
  EXPECT_TRUE(q.untouched());
  EXPECT_TRUE(scale.untouched());
}

TYPED_TEST(norm_quantise, trace_sees_one_launch) {
  std::vector<trace::launch_record> seen;
  const trace::sink sink{[](void* to, const trace::launch_record& r) {
                           static_cast<std::vector<trace::launch_record>*>(to)->push_back(r);
                         },
                         &seen};
  auto& sum = this->template output<bf16>(20);
  auto& q = this->template output<e4m3>(20);
  auto& scales = this->template output<float>(4);
  const auto x = view_on<TypeParam>(this->input(uniform<bf16>(20, 1)).data(), 4, 5);
  const auto w = view_on<TypeParam>(this->input(uniform<bf16>(5, 2)).data(), 5);
  ASSERT_EQ(trace::set_sink(&sink), nullptr);
  const status s =
      add_rms_norm(this->executor(), x, x, w, view_on<TypeParam>(sum.data(), 4, 5), view_on<TypeParam>(q.data(), 4, 5),
                   per_row_scales(view_on<TypeParam>(scales.data(), 4)), epsilon);
  EXPECT_EQ(trace::set_sink(nullptr), &sink);
  EXPECT_TRUE(s.ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_STREQ(seen[0].program, "add_rms_norm");
  EXPECT_STREQ(seen[0].fused, "residual add, quantise");
  EXPECT_EQ(seen[0].bytes, (3 * 20 + 5) * 2.0 + 20 + 4 * 4);
}

}  // namespace
}  // namespace kiln::test
