// Histograms: counts, percentiles against sorted values, least squares against a search over the values themselves.
#include <algorithm>
#include <kiln/calibrate.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint8_t;

template <class E>
class calibration_histogram : public on_executor<E> {
 public:
  using space = typename E::space;
  guarded_output<int64_t, space>* counts = nullptr;
  guarded_output<float, space>* scale = nullptr;
  guarded_output<int32_t, space>* zero = nullptr;

  auto histogram_here() {
    counts = &this->template output<int64_t>(static_cast<std::size_t>(histogram_size), prefill::x55);
    low_ = &this->template output<float>(1), high_ = &this->template output<float>(1);
    ignored_ = &this->template output<int64_t>(1, prefill::x55);
    scale = &this->template output<float>(1), zero = &this->template output<int32_t>(1);
    const auto seen = histogram(
        view_on<E>(counts->data(), histogram_size),
        per_tensor_range(view_on<E>(low_->data(), 1), view_on<E>(high_->data(), 1), view_on<E>(ignored_->data(), 1)));
    EXPECT_TRUE(forget(this->executor(), seen).ok());
    return seen;
  }
  template <class X, class Seen>
  void add(const std::vector<X>& x, const Seen& seen) {
    const status s = observe(this->executor(), view_on<E>(this->input(x).data(), x.size()), seen);
    EXPECT_TRUE(s.ok()) << s.message();
  }
  template <class Q, class Seen, class Method>
  float symmetric(const Seen& seen, const Method& method) {
    const status s = make_scales<Q>(this->executor(), seen, per_tensor_scale(view_on<E>(scale->data(), 1)), method);
    EXPECT_TRUE(s.ok()) << s.message();
    return scale->values()[0];
  }
  template <class Q, class Seen, class Method>
  std::pair<float, int32_t> affine(const Seen& seen, const Method& method) {
    const auto set = per_tensor_scale(view_on<E>(scale->data(), 1)).with_zero_points(view_on<E>(zero->data(), 1));
    const status s = make_scales<Q>(this->executor(), seen, set, method);
    EXPECT_TRUE(s.ok()) << s.message();
    return {scale->values()[0], zero->values()[0]};
  }

 private:
  guarded_output<float, space>*low_ = nullptr, *high_ = nullptr;
  guarded_output<int64_t, space>* ignored_ = nullptr;
};
TYPED_TEST_SUITE(calibration_histogram, executors, executor_names);

/// Values of bf16; on the device in floats, which spares the compiler a second set of kernels.
template <class E>
using narrow = std::conditional_t<E::on_host, bf16, float>;

/// Bell-shaped, shifted, with a few far outliers and many zeros.
template <class X>
std::vector<X> values(std::size_t n, float shift, float outlier) {
  std::vector<X> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    double v = 0;
    for (std::uint64_t k = 0; k < 6; ++k) v += unit_interval(hash(k, i)) - 0.5;
    x[i] = value_of<X>(i % 10 == 0 ? 0 : v + static_cast<double>(shift));
  }
  x[n / 3] = value_of<X>(static_cast<double>(outlier)), x[n / 2] = value_of<X>(static_cast<double>(-outlier) / 7);
  return x;
}

template <class E>
std::vector<narrow<E>> narrow_values(std::size_t n, float shift, float outlier) {
  std::vector<narrow<E>> r;
  for (const bf16 v : values<bf16>(n, shift, outlier)) r.push_back(narrow<E>(static_cast<float>(v)));
  return r;
}

TYPED_TEST(calibration_histogram, counts_each_value_of_bf16) {
  const auto seen = this->histogram_here();
  auto x = narrow_values<TypeParam>(20001, 0, 9);
  for (const float v : {-0.0f, 0.0f, 0x1p-133f, -0x1p-133f, 3.38e38f, -3.38e38f})
    x.push_back(narrow<TypeParam>(static_cast<float>(bf16(v))));
  this->add(x, seen);
  this->add(x, seen);
  std::vector<int64_t> want(65536);
  for (const auto v : x) {
    const auto code = bf16(static_cast<float>(v)).bits;
    want[code == 0x8000 ? 0 : code] += 2;
  }
  auto got = this->counts->values();
  got.resize(65536);
  EXPECT_EQ(got, want);
}

// QNT-14: what is not finite is counted apart; the largest floats stay finite.
TYPED_TEST(calibration_histogram, extremes) {
  const auto seen = this->histogram_here();
  this->add(std::vector<float>{1, 2, INFINITY, -INFINITY, NAN, 3.4e38f, -1e-45f}, seen);
  auto got = this->counts->values();
  EXPECT_EQ(got[0x7f7f], 1);
  EXPECT_EQ(got[0], 1) << "what rounds to zero is zero";
  got.resize(65536);
  EXPECT_EQ(std::count(got.begin(), got.end(), 1), 4);
  EXPECT_EQ(this->template symmetric<int8_t>(seen, full_range{}), 3.4e38f / 127);
  EXPECT_EQ(this->template symmetric<int8_t>(seen, percentile{1}), 3.4e38f / 127);
  EXPECT_EQ(this->template symmetric<int8_t>(seen, percentile{0.7}), 2.0f / 127);
  EXPECT_TRUE(std::isfinite(this->template symmetric<int8_t>(seen, least_squares{})));
  const auto nothing = this->histogram_here();
  EXPECT_EQ(this->template symmetric<int8_t>(nothing, percentile{0.99}), 1);
  EXPECT_EQ(this->template symmetric<int8_t>(nothing, least_squares{}), 1);
  EXPECT_EQ(this->template affine<uint8_t>(nothing, least_squares{}), (std::pair{1.0f, 0}));
}

/// The value of that rank, rounded to bf16; of float values the largest is exact.
TYPED_TEST(calibration_histogram, percentiles_are_ranks_of_the_sorted_values) {
  const auto seen = this->histogram_here();
  const auto x = values<float>(30000, 0.25f, 40);
  this->add(std::vector<float>(x.begin(), x.begin() + 7777), seen);
  this->add(std::vector<float>(x.begin() + 7777, x.end()), seen);
  auto sorted = x, sizes = x;
  for (float& v : sizes) v = std::abs(v);
  std::sort(sorted.begin(), sorted.end()), std::sort(sizes.begin(), sizes.end());
  const auto as_bin = [](float v) { return static_cast<float>(bf16(v)); };
  for (const double p : {0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(p * 30000)) - 1;
    EXPECT_EQ(this->template symmetric<int8_t>(seen, percentile{p}), as_bin(sizes[rank]) / 127) << p;
    EXPECT_LE(std::abs(as_bin(sizes[rank]) - sizes[rank]), sizes[rank] * 0x1p-9f);
    const float high = std::max(as_bin(sorted[rank]), 0.0f), low = std::min(as_bin(sorted[29999 - rank]), 0.0f);
    const auto [s, z] = this->template affine<uint8_t>(seen, percentile{p});
    EXPECT_FLOAT_EQ(s, high / 255 - low / 255) << p;
    EXPECT_NEAR(static_cast<float>(z), -low / s, 0.5001f) << p;
  }
  EXPECT_EQ(this->template symmetric<int8_t>(seen, percentile{1}), sizes.back() / 127);
  EXPECT_EQ(this->template symmetric<int8_t>(seen, percentile{0}), 1);
}

template <class Q>
double squared_error(const std::vector<float>& x, float scale, int32_t zero) {
  double sum = 0;
  for (const float v : x) {
    double code;
    if constexpr (std::is_integral_v<Q>)
      code = std::clamp(std::nearbyint(static_cast<double>(v / scale)) + zero, static_cast<double>(limits<Q>::lowest()),
                        static_cast<double>((limits<Q>::max)())) -
             zero;
    else
      code = as_double(convert<Q>(v / scale));
    const double e = as_double(v) - as_double(scale) * code;
    sum += e * e;
  }
  return sum;
}

/// No clipping that the reference tries, 16 steps an octave, has a smaller error; and clipping helps.
template <class Q, class Fixture>
void check_least_squares(Fixture& test, float outlier, bool clips) {
  const auto seen = test.histogram_here();
  const auto x = narrow_values<std::decay_t<decltype(test.executor())>>(8000, 0, outlier);
  test.add(x, seen);
  std::vector<float> exact;
  for (const auto v : x) exact.push_back(static_cast<float>(v));
  const float s = test.template symmetric<Q>(seen, least_squares{});
  const double error = squared_error<Q>(exact, s, 0);
  const auto amax = static_cast<float>(bf16(outlier));
  double least = squared_error<Q>(exact, amax / static_cast<float>((limits<Q>::max)()), 0);
  if (clips) {
    EXPECT_LT(error, 0.98 * least);
  }
  for (int i = 1; i < 256; i += 3)
    least = std::min(
        least, squared_error<Q>(
                   exact, amax * std::exp2(-static_cast<float>(i) / 16) / static_cast<float>((limits<Q>::max)()), 0));
  EXPECT_LE(error, least * (1 + 1e-3)) << "the reference's scales differ from the candidates in their last bits";
}
TYPED_TEST(calibration_histogram, least_squares_of_int8) { check_least_squares<int8_t>(*this, 20, true); }
TYPED_TEST(calibration_histogram, least_squares_of_e4m3) { check_least_squares<e4m3>(*this, 3000, false); }

TYPED_TEST(calibration_histogram, least_squares_shrinks_each_end_by_itself) {
  const auto seen = this->histogram_here();
  const auto x = narrow_values<TypeParam>(4000, 1.5f, 30);
  this->add(x, seen);
  std::vector<float> exact;
  for (const auto v : x) exact.push_back(static_cast<float>(v));
  const auto [s, z] = this->template affine<uint8_t>(seen, least_squares{});
  const double error = squared_error<uint8_t>(exact, s, z);
  double least = 1e300;
  for (float low = -30.0f / 7; low < -0.02f; low *= 0.84f)
    for (float high = 30; high > 0.2f; high *= 0.84f) {
      const float scale = (high - low) / 255;
      least = std::min(least, squared_error<uint8_t>(exact, scale, static_cast<int32_t>(std::nearbyint(-low / scale))));
    }
  EXPECT_LE(error, 1.05 * least) << "the reference's grid lies between the candidates";
  EXPECT_LT(error, squared_error<uint8_t>(exact, 240.0f / 7 / 255, 32));
}

TYPED_TEST(calibration_histogram, wrong_arguments_are_refused) {
  const auto seen = this->histogram_here();
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    const status s = make_scales<int8_t>(this->executor(), seen,
                                         per_tensor_scale(view_on<TypeParam>(this->scale->data(), 1)), percentile{p});
    EXPECT_EQ(s.code(), errc::bad_option) << s.message();
  }
  auto shorter = seen;
  shorter.counts.extents[0] = 65536;
  const status s = observe(this->executor(), view_on<TypeParam>(this->input(std::vector<float>{1}).data(), 1), shorter);
  EXPECT_EQ(s.code(), errc::bad_shape);
  EXPECT_NE(s.message().find("operand `counts`: has 65536 elements"), std::string::npos) << s.message();
  EXPECT_TRUE(this->scale->untouched());
}

}  // namespace
}  // namespace kiln::test
