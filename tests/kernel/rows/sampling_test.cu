// Columns drawn from rows: the same as float64 finds for the same random number, and as often as their probability
// says.
#include <algorithm>
#include <kiln/argmax.hpp>
#include <kiln/sampling.hpp>
#include <numeric>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

// The known answers published with Random123 (kat_vectors: philox4x32 10).
TEST(philox, gives_the_known_answers) {
  const auto check = [](rows::philox counter, std::uint64_t key, rows::philox expected) {
    const rows::philox r = rows::philox_of(counter, key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(r.v[i], expected.v[i]);
  };
  const std::uint32_t ones = 0xffffffffu;
  check({{0, 0, 0, 0}}, 0, {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
  check({{ones, ones, ones, ones}}, 0xffffffffffffffffu, {{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
  check({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0x299f31d0a4093822u,
        {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
  static_assert(rows::philox_of({{0, 0, 0, 0}}, 0).v[0] == 0x6627e8d5u);
}

TEST(philox, scaled_numbers_are_the_high_half_of_the_product) {
  const std::uint64_t most = 0xffffffffffffffffu;
  EXPECT_EQ(rows::scaled_to(most, most), most - 1);
  EXPECT_EQ(rows::scaled_to(most, 1), 0u);
  EXPECT_EQ(rows::scaled_to(most, 10), 9u);
  EXPECT_EQ(rows::scaled_to(0, most), 0u);
  EXPECT_EQ(rows::scaled_to(std::uint64_t{1} << 63, 0x123456789abcdef0u), 0x091a2b3c4d5e6f78u);
  EXPECT_EQ(rows::scaled_to(0x00000001ffffffffu, 0x00000001ffffffffu), 3u);
  EXPECT_EQ(rows::scaled_to(0x0123456789abcdefu, 0xfedcba9876543210u), 0x0121fa00ad77d742u);
}

template <class X>
void check_keys() {
  const double values[] = {-INFINITY, -60000, -1.5, -1.25, -0x1p-14, -0x1p-24, 0, 0x1p-24, 0x1p-14, 1, 1.25, 3, 60000};
  std::uint32_t before = 0;
  for (double v : values) {
    const auto x = static_cast<float>(as_double(value_of<X>(v)));
    const std::uint32_t key = rows::compact_keys<X>::of(x);
    EXPECT_GT(key, before) << v;
    EXPECT_EQ(rows::compact_keys<X>::value_of(key), x) << v;
    before = key;
  }
  EXPECT_EQ(rows::compact_keys<X>::of(-0.0f), rows::compact_keys<X>::of(0.0f));
}
TEST(compact_keys, order_as_their_values_do_and_lead_back) {
  check_keys<float>();
  check_keys<f16>();
  check_keys<bf16>();
}

KILN_ON_EXECUTORS(sampled_rows);

template <class X, class E, class Test>
std::vector<std::int32_t> sampled(Test& test, const std::vector<X>& x, std::size_t rows, sampling_options options,
                                  int* flagged = nullptr) {
  auto& out = test.template output<std::int32_t>(rows, prefill::x55);
  guarded_output<std::int32_t, typename E::space> flag(std::vector<std::int32_t>{0});
  const status s = sample_rows(test.executor(), view_on<E>(test.input(x).data(), rows, x.size() / rows),
                               view_on<E>(out.data(), rows), options, flag.data());
  EXPECT_TRUE(s.ok()) << s.message();
  if (flagged != nullptr) *flagged = flag.values()[0];
  return out.values();
}

/// One row in float64: which columns may be drawn, and the interval of [0, 1) that draws each.
struct distribution {
  std::vector<std::size_t> column;  ///< ascending
  std::vector<double> end;
};

/// `p` is moved to the middle of an element's share, so that rounding does not decide which are left.
distribution distribution_of(const std::vector<double>& x, double temperature, std::size_t k, float& p) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  order.resize(std::min(k, order.size()));
  const auto weight = [&](std::size_t c) { return std::exp((x[c] - x[order[0]]) / temperature); };
  double all = 0, sum = 0;
  for (std::size_t c : order) all += weight(c);
  if (p < 1) {
    std::size_t left = 0;
    while (sum < static_cast<double>(p) * all) sum += weight(order[left++]);
    p = static_cast<float>((sum - 0.5 * weight(order[left - 1])) / all);
    order.resize(left);
  }
  std::sort(order.begin(), order.end());
  distribution d{order, {}};
  double total = 0, running = 0;
  for (std::size_t c : order) total += weight(c);
  for (std::size_t c : order) d.end.push_back((running += weight(c)) / total);
  return d;
}

template <class X, class Test>
void check_draws(Test& test, const std::vector<X>& row, sampling_options options, std::size_t rows) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::string(name_of<X>()) + ", " + std::to_string(row.size()) + " columns, k " +
               std::to_string(options.top_k) + ", p " + std::to_string(options.top_p));
  const std::size_t n = row.size();
  const std::size_t k = options.top_k < 1 ? n : static_cast<std::size_t>(options.top_k);
  const auto d = distribution_of(as_double(row), static_cast<double>(options.temperature), k, options.top_p);
  auto& out = test.template output<std::int32_t>(rows, prefill::x55);
  const index_t extents[] = {static_cast<index_t>(rows), static_cast<index_t>(n)}, strides[] = {0, 1};
  const auto x = strided_on<E>(test.input(row).data(), extents, strides);
  const auto to = view_on<E>(out.data(), rows);
  if constexpr (!std::is_same_v<X, f16> || E::on_host) {
    ASSERT_TRUE(sample_rows(test.executor(), x, to, options).ok());
  } else {  // one kernel is enough for another type, and costs less time to compile than all six
    rows::sampling_program<X> program{rows::input_of(x), rows::each_row(to), options.temperature, options.top_p,
                                      options.top_k,     options.seed,       options.draw,        nullptr};
    ASSERT_TRUE(
        (rows::run_pinned<rows::one_block, 8>(test.executor(), "sample_rows", program, rows::count(x), rows::length(x))
             .ok()));
  }
  const auto got = out.values();
  // Each weight is off by a few roundings of its exponential, its argument and the cut to an integer.
  double low = INFINITY, high = -INFINITY;
  for (std::size_t c : d.column) low = std::min(low, as_double(row[c])), high = std::max(high, as_double(row[c]));
  const double slack =
      2 * (unit * (8 + 2 * (high - low) / static_cast<double>(options.temperature)) + static_cast<double>(n) * 0x1p-40);
  for (std::size_t r = 0; r < rows; ++r) {
    const double u = static_cast<double>(rows::random_bits(options.seed, options.draw, r)) * 0x1p-64;
    const auto at = std::find(d.column.begin(), d.column.end(), static_cast<std::size_t>(got[r])) - d.column.begin();
    ASSERT_LT(static_cast<std::size_t>(at), d.column.size()) << "row " << r << " drew column " << got[r];
    const auto i = static_cast<std::size_t>(at);
    ASSERT_LE(u, d.end[i] + slack) << r;
    ASSERT_GE(u, (i == 0 ? 0 : d.end[i - 1]) - slack) << r;
  }
}

template <class X>
std::vector<X> logits(std::size_t n, std::uint64_t seed, double size) {
  auto x = uniform<X>(n, seed);
  for (auto& v : x) v = value_of<X>(size * as_double(v));
  return x;
}

TYPED_TEST(sampled_rows, follow_float64_for_the_same_random_number) {
  std::uint64_t seed = 300;
  for (std::size_t n : sizes{1, 7, 33, 1000, 9001}) {
    for (std::int64_t k : {0, 1, 5, 50}) {
      for (float p : {1.0f, 0.9f, 0.3f}) {
        const std::size_t rows = n > 100 ? 5 : 100;
        ++seed;
        check_draws<float>(*this, logits<float>(n, seed, 6), {1.3f, k, p, seed, 17}, rows);
        check_draws<bf16>(*this, logits<bf16>(n, seed, 6), {0.7f, k, p, seed, 18}, rows);
      }
    }
  }
  check_draws<f16>(*this, logits<f16>(500, seed, 4), {1, 40, 0.8f, seed, 0}, 50);
}

// A vocabulary, in which bf16 has many ties.
TYPED_TEST(sampled_rows, whole_vocabularies_follow_float64) {
  check_draws<bf16>(*this, logits<bf16>(151552, 401, 12), {1, 50, 0.95f, 402, 3}, 2);
  check_draws<bf16>(*this, logits<bf16>(151552, 403, 12), {1, 0, 1, 404, 4}, 2);
  check_draws<float>(*this, logits<float>(151552, 405, 12), {0.8f, 0, 0.9f, 406, 5}, 2);
}

// Of 200 equal logits the 5 first are left, also where the tie is the whole row; larger ones are always in.
TYPED_TEST(sampled_rows, ties_at_the_limit_go_to_the_lowest_columns) {
  std::vector<float> x(200, 1.0f);
  const auto among = [&](std::int64_t k, float p) {
    const index_t extents[] = {400, 200}, strides[] = {0, 1};
    auto& out = this->template output<std::int32_t>(400, prefill::x55);
    EXPECT_TRUE(sample_rows(this->executor(), strided_on<TypeParam>(this->input(x).data(), extents, strides),
                            view_on<TypeParam>(out.data(), 400), {.top_k = k, .top_p = p, .seed = 9})
                    .ok());
    auto seen = out.values();
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    return seen;
  };
  using columns = std::vector<std::int32_t>;
  EXPECT_EQ(among(5, 1), (columns{0, 1, 2, 3, 4}));
  EXPECT_EQ(among(0, 0.0149f), (columns{0, 1, 2}));
  EXPECT_EQ(among(5, 0.5f), (columns{0, 1, 2}));
  x[150] = 1.5f;
  EXPECT_EQ(among(3, 1), (columns{0, 1, 150}));
  x[0] = 0.5f;
  EXPECT_EQ(among(3, 1), (columns{1, 2, 150}));
}

TYPED_TEST(sampled_rows, limits_of_one_are_the_argmax) {
  for (std::size_t n : sizes{1, 7, 33, 1000, 9001}) {
    const std::size_t rows = 7;
    const auto x = small_integers<bf16>(rows * n, 500 + n, -20, 20);  // many ties
    auto& out = this->template output<std::int32_t>(rows);
    ASSERT_TRUE(argmax(this->executor(), view_on<TypeParam>(this->input(x).data(), rows, n),
                       view_on<TypeParam>(out.data(), rows))
                    .ok());
    const auto expected = out.values();
    EXPECT_EQ((sampled<bf16, TypeParam>(*this, x, rows, {.top_k = 1})), expected);
    EXPECT_EQ((sampled<bf16, TypeParam>(*this, x, rows, {.temperature = 0})), expected);
    EXPECT_EQ((sampled<bf16, TypeParam>(*this, x, rows, {.top_p = 0})), expected);
    // Next to nothing is left of the others; equal ones share.
    const auto cold = sampled<bf16, TypeParam>(*this, x, rows, {.temperature = 1e-38f, .top_p = 0.5f});
    for (std::size_t r = 0; r < rows; ++r)
      EXPECT_EQ(as_double(x[r * n + static_cast<std::size_t>(cold[r])]),
                as_double(x[r * n + static_cast<std::size_t>(expected[r])]));
  }
}

// Chi-square of 40,000 draws from 12 columns: 11 degrees of freedom exceed 31.26 once in a thousand times, and the
// seeds are fixed.
TYPED_TEST(sampled_rows, frequencies_are_the_probabilities) {
  const std::size_t rows = 40000, n = 12;
  const auto row = logits<float>(n, 600, 1.5);
  double all = 0;
  for (float v : row) all += std::exp(static_cast<double>(v) / 0.9);
  for (std::uint64_t seed : {1u, 2u, 3u}) {
    std::vector<double> seen(n, 0.0);
    auto& out = this->template output<std::int32_t>(rows, prefill::x55);
    const index_t extents[] = {rows, n}, strides[] = {0, 1};
    ASSERT_TRUE(sample_rows(this->executor(), strided_on<TypeParam>(this->input(row).data(), extents, strides),
                            view_on<TypeParam>(out.data(), rows), {.temperature = 0.9f, .seed = seed})
                    .ok());
    for (std::int32_t c : out.values()) seen.at(static_cast<std::size_t>(c)) += 1;
    double chi_square = 0;
    for (std::size_t c = 0; c < n; ++c) {
      const double expected = static_cast<double>(rows) * std::exp(static_cast<double>(row[c]) / 0.9) / all;
      chi_square += (seen[c] - expected) * (seen[c] - expected) / expected;
    }
    EXPECT_LT(chi_square, 31.26) << seed;
  }
}

// The difference of two logits is more than a float holds; over the temperature it is 2.
TYPED_TEST(sampled_rows, logits_at_the_ends_of_float_have_their_probabilities) {
  using E = TypeParam;
  const auto& x = this->input(std::vector<float>{3e38f, -3e38f, 3e38f, 0});
  auto& ids = this->template output<std::int32_t>(1, prefill::x55);
  constexpr int draws = 2000;
  int seen[4] = {};
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    ASSERT_TRUE(sample_rows(this->executor(), view_on<E>(x.data(), 1, 4), view_on<E>(ids.data(), 1),
                            {.temperature = 3e38f, .seed = 1, .draw = draw})
                    .ok());
    ++seen[ids.values()[0]];
  }
  const double all = 2 + std::exp(-2.0) + std::exp(-1.0), expected[] = {1, std::exp(-2.0), 1, std::exp(-1.0)};
  for (int c = 0; c < 4; ++c) {
    const double p = expected[c] / all;
    EXPECT_NEAR(seen[c], draws * p, 5 * std::sqrt(draws * p * (1 - p))) << "column " << c;
  }
}

TYPED_TEST(sampled_rows, seed_and_draw_decide) {
  const auto x = logits<float>(64 * 100, 610, 0.1);
  const auto first = sampled<float, TypeParam>(*this, x, 64, {.seed = 5, .draw = 1});
  EXPECT_EQ((sampled<float, TypeParam>(*this, x, 64, {.seed = 5, .draw = 1})), first);
  EXPECT_NE((sampled<float, TypeParam>(*this, x, 64, {.seed = 6, .draw = 1})), first);
  EXPECT_NE((sampled<float, TypeParam>(*this, x, 64, {.seed = 5, .draw = 2})), first);
  EXPECT_NE((sampled<float, TypeParam>(*this, x, 64, {.seed = std::uint64_t{1} << 32 | 5, .draw = 1})), first);
  EXPECT_NE((sampled<float, TypeParam>(*this, x, 64, {.seed = 5, .draw = std::uint64_t{1} << 32 | 1})), first);
}

TYPED_TEST(sampled_rows, broken_rows_give_the_argmax_and_are_flagged) {
  const float nan = NAN, inf = INFINITY;
  int flagged = 0;
  EXPECT_EQ((sampled<float, TypeParam>(*this, {1, 2, nan, inf}, 1, {}, &flagged)), std::vector<std::int32_t>{2});
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((sampled<float, TypeParam>(*this, {1, inf, 5, inf}, 1, {}, &flagged)), std::vector<std::int32_t>{1});
  EXPECT_EQ(flagged, 1);
  EXPECT_EQ((sampled<float, TypeParam>(*this, {-inf, -inf}, 1, {}, &flagged)), std::vector<std::int32_t>{0});
  EXPECT_EQ(flagged, 1);
  // What is -inf is never drawn, whatever k; the largest finite numbers have a distribution.
  std::vector<float> x;
  for (int r = 0; r < 300; ++r) x.insert(x.end(), {-inf, 3, -inf, 3, -3.4028235e38f, 3.4028235e38f * 0, -inf});
  for (std::int64_t k : {0, 2, 6}) {
    for (std::int32_t c : sampled<float, TypeParam>(*this, x, 300, {.top_k = k}, &flagged))
      ASSERT_TRUE(c == 1 || c == 3 || (c == 5 && k != 2)) << c;
    EXPECT_EQ(flagged, 0);
  }
  EXPECT_EQ((sampled<float, TypeParam>(*this, {-3.4028235e38f, 3.4028235e38f}, 1, {}, &flagged)),
            std::vector<std::int32_t>{1});
  EXPECT_EQ(flagged, 0);
}

TYPED_TEST(sampled_rows, any_strides_equal_the_packed_copy) {
  const auto x = logits<bf16>(3 * 2 * 64, 620, 3);
  std::vector<bf16> packed, apart(3 * 2 * 64 * 3);
  for (std::size_t i = 0; i < apart.size(); ++i) apart[i] = i % 3 == 0 ? x[i / 3] : limits<bf16>::quiet_nan();
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t c = 0; c < 46; ++c) packed.push_back(x[r * 64 + 1 + c]);
  const sampling_options options{.top_k = 20, .top_p = 0.9f, .seed = 3};
  const auto expected = sampled<bf16, TypeParam>(*this, packed, 6, options);
  const index_t extents[] = {3, 2, 46}, six[] = {6}, two[] = {2};
  for (index_t step : {1, 3}) {
    const index_t strides[] = {128 * step, 64 * step, step};
    auto& out = this->template output<std::int32_t>(12, prefill::x55);
    const auto* from = step == 1 ? this->input(x).data() : this->input(apart).data();
    ASSERT_TRUE(sample_rows(this->executor(), strided_on<TypeParam>(from + step, extents, strides),
                            strided_on<TypeParam>(out.data(), six, two), options)
                    .ok());
    EXPECT_TRUE(out.wrote_only([](std::size_t i) { return i % 2 == 0; }));
    for (std::size_t r = 0; r < 6; ++r) EXPECT_EQ(out.values()[2 * r], expected[r]);
  }
}

/// Draws by the program of long rows and by the plain search over the row.
template <int Width, class X, class Test>
void check_long(Test& test, const std::vector<X>& x, std::size_t rows, sampling_options o) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::string(name_of<X>()) + ", k " + std::to_string(o.top_k) + ", p " + std::to_string(o.top_p));
  const auto xv = view_on<E>(test.input(x).data(), rows, x.size() / rows);
  auto& one = test.template output<std::int32_t>(rows, prefill::x55);
  auto& two = test.template output<std::int32_t>(rows, prefill::x55);
  const auto program = [&](auto& out) {
    return rows::sampling_program<X>{rows::input_of(xv),
                                     rows::each_row(view_on<E>(out.data(), rows)),
                                     o.temperature,
                                     o.top_p,
                                     o.top_k,
                                     o.seed,
                                     o.draw,
                                     nullptr};
  };
  const auto count = rows::count(xv), length = rows::length(xv);
  ASSERT_TRUE(
      (rows::run_pinned<rows::endless_single, 1>(test.executor(), "sample_rows", program(one), count, length).ok()));
  const rows::long_sampling_program<rows::where_of<E>, Width, X> by_list{program(two),
                                                                         static_cast<std::uint32_t>(length)};
  ASSERT_TRUE(rows::run_blocks(test.executor(), {.program = "sample_rows"}, by_list, count).ok());
  EXPECT_EQ(one.values(), two.values());
}

// Rows of which the list has all that may be drawn, and rows of which it has too few or too many.
TYPED_TEST(sampled_rows, long_rows_draw_the_columns_of_the_plain_search) {
  const std::size_t rows = 2, n = 6000;
  const auto made = [&](auto f) {
    std::vector<float> x(rows * n);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(f(i));
    return x;
  };
  const auto even = logits<float>(rows * n, 630, 8);
  const std::vector<float> all[] = {
      even,
      made([](std::size_t) { return 1.5; }),                                          // one tie
      made([](std::size_t i) { return static_cast<double>(hash(631, i) % 5) - 2; }),  // five, with a zero
      made([](std::size_t i) { return i % 2 == 0               ? -0.0
                                      : hash(632, i) % 40 == 0 ? 0.25
                                                               : 0.0; }),
      made([](std::size_t i) { return i % 6000 % 100 == 7 ? 3.0 : -INFINITY; }),  // most are impossible
      made([](std::size_t i) { return i % 6000 == 5999 ? 30.0 : 0.001 * static_cast<double>(hash(633, i) % 1000); }),
      made([](std::size_t i) { return -1e-3 * static_cast<double>(i % 6000); })};  // sorted
  std::uint64_t draw = 0;
  for (const auto& x : all)
    for (const std::int64_t k : {0, 2, 50, 700, 4500})
      for (const float p : {1.0f, 0.9f, 0.05f}) {
        const sampling_options o{.temperature = 0.8f, .top_k = k, .top_p = p, .seed = 634, .draw = ++draw};
        check_long<4>(*this, x, rows, o);
        if (k != 50) continue;
        std::vector<bf16> narrow;
        for (float v : x) narrow.push_back(bf16(v));
        check_long<8>(*this, narrow, rows, o);
        std::vector<f16> half;
        for (float v : x) half.push_back(f16(v));
        check_long<1>(*this, half, rows, o);
      }
}

// ROW-07
TYPED_TEST(sampled_rows, counts_beyond_65535_are_all_done) {
  const std::size_t rows = 65537;
  std::vector<float> x(rows * 2, 0.0f);
  for (std::size_t r = 0; r < rows; ++r) x[2 * r + r % 2] = 200;  // the other has weight exp(-200)
  const auto got = sampled<float, TypeParam>(*this, x, rows, {});
  for (std::size_t r = 0; r < rows; ++r) ASSERT_EQ(got[r], static_cast<std::int32_t>(r % 2)) << r;
}

TYPED_TEST(sampled_rows, wrong_arguments_are_named_and_empty_ones_succeed) {
  auto& out = this->template output<std::int32_t>(4, prefill::x55);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(12, 630)).data(), 4, 3);
  const auto y = view_on<TypeParam>(out.data(), 4);
  const auto with = [&](sampling_options options) { return sample_rows(this->executor(), x, y, options); };
  for (float bad : {-1.0f, NAN, INFINITY}) EXPECT_EQ(with({.temperature = bad}).code(), errc::bad_option);
  for (float bad : {-0.5f, NAN}) EXPECT_EQ(with({.top_p = bad}).code(), errc::bad_option);
  EXPECT_NE(with({.top_p = -0.5f}).message().find("`top_p`: saw -0.5"), std::string::npos);
  EXPECT_EQ(sample_rows(this->executor(), x, view_on<TypeParam>(out.data(), 3)).message(),
            "bad shape: sample_rows: operand `out`: has 3 elements, needs 4 (the rows of `logits`)");
  EXPECT_EQ(sample_rows(this->executor(), view_on<TypeParam>(x.data, 4, 0), y).message(),
            "bad shape: sample_rows: operand `logits`: has 0 columns, needs 1 to 2147483647");
  EXPECT_EQ(sample_rows(this->executor(), view_on<TypeParam>(static_cast<const float*>(nullptr), 4, 3), y).code(),
            errc::null_pointer);
  for (index_t cols : {0, 3})
    EXPECT_TRUE(
        sample_rows(this->executor(), view_on<TypeParam>(x.data, 0, cols), view_on<TypeParam>(out.data(), 0)).ok());
  EXPECT_TRUE(out.untouched());
  for (std::int64_t k : {std::int64_t{-5}, std::int64_t{1} << 40}) EXPECT_TRUE(with({.top_k = k, .top_p = 7}).ok());
}

}  // namespace
}  // namespace kiln::test
