// The rotary embedding against float64, at long positions too, and the append to a cache.
#include <kiln/rotary.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(rotary_kernels);

struct shape {
  std::size_t tokens, heads, channels, width;
  pairing pairs;
};

struct reference {
  std::vector<double> value, bound;
};

template <class Y, class X>
reference rotary_reference(const std::vector<X>& x, const shape& s, const std::vector<std::int32_t>& positions,
                           double theta) {
  reference r{as_double(x), std::vector<double>(x.size())};
  for (std::size_t i = 0; i < x.size(); ++i) r.bound[i] = store_error<Y>(r.value[i]);
  for (std::size_t t = 0; t < s.tokens; ++t) {
    for (std::size_t h = 0; h < s.heads; ++h) {
      for (std::size_t j = 0; j < s.width / 2; ++j) {
        const std::size_t base = (t * s.heads + h) * s.channels;
        const std::size_t a = base + (s.pairs == pairing::interleaved ? 2 * j : j),
                          b = s.pairs == pairing::interleaved ? a + 1 : a + s.width / 2;
        const double f = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(s.width));
        const double angle = std::fmod(static_cast<double>(positions[t]) * f, 2 * M_PI);
        const double u = as_double(x[a]), v = as_double(x[b]), c = std::cos(angle), d = std::sin(angle);
        // Of the unreduced angle: the exponent log2(f) errs by 2.5 roundings of itself, 2^exponent by one, the products
        // up to the pair by 8, and this reference by 4. The float32 angle in half turns errs by a rounding, sine and
        // cosine by 2 ulp more. Then two products and a sum.
        const double angle_error = M_PI * unit + std::abs(static_cast<double>(positions[t]) * f) *
                                                     (13 + 2.5 * std::abs(std::log2(f))) * 0x1p-53;
        const double size = std::abs(u) + std::abs(v), error = size * (angle_error + 4 * unit + 2 * unit);
        r.value[a] = u * c - v * d, r.value[b] = v * c + u * d;
        r.bound[a] = error + store_error<Y>(r.value[a]), r.bound[b] = error + store_error<Y>(r.value[b]);
      }
    }
  }
  return r;
}

template <class X, class Y, class Test>
void check_shape(Test& test, const shape& s, std::uint64_t seed) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::string(name_of<X>()) + " " + std::to_string(s.tokens) + " x " + std::to_string(s.heads) + " x " +
               std::to_string(s.channels) + ", width " + std::to_string(s.width));
  const auto x = uniform<X>(s.tokens * s.heads * s.channels, seed);
  std::vector<std::int32_t> positions;
  for (std::size_t t = 0; t < s.tokens; ++t) positions.push_back(static_cast<std::int32_t>(hash(seed, t) % 131073));
  positions[0] = 131072;
  auto& out = test.template output<Y>(x.size());
  const rotary_options options{.theta = 500000, .width = static_cast<int>(s.width), .pairs = s.pairs};
  const status done = rotary(test.executor(), view_on<E>(test.input(x).data(), s.tokens, s.heads, s.channels),
                             view_on<E>(test.input(positions).data(), s.tokens),
                             view_on<E>(out.data(), s.tokens, s.heads, s.channels), options);
  ASSERT_TRUE(done.ok()) << done.message();
  const auto r = rotary_reference<Y>(x, s, positions, options.theta);
  EXPECT_TRUE(near(out.values(), r.value, r.bound));

  guarded_output<X, typename E::space> both(x);
  const auto view = view_on<E>(both.data(), s.tokens, s.heads, s.channels);
  ASSERT_TRUE(rotary(test.executor(), view, view_on<E>(test.input(positions).data(), s.tokens), view, options).ok());
  if constexpr (std::is_same_v<X, Y>) {
    EXPECT_EQ(as_double(both.values()), as_double(out.values()));
  }
}

TYPED_TEST(rotary_kernels, agree_with_float64_for_both_pairings_and_any_width) {
  std::uint64_t seed = 0;
  for (pairing pairs : {pairing::interleaved, pairing::half_split}) {
    for (const shape& s : {shape{5, 3, 128, 64, pairs},
                           {3, 1, 64, 64, pairs},
                           {2, 9, 8, 4, pairs},
                           {4, 2, 46, 22, pairs},
                           {1, 5, 7, 2, pairs},
                           {7, 4, 256, 256, pairs},
                           {2, 1, 1024, 1024, pairs}}) {
      check_shape<float, float>(*this, s, ++seed);
      check_shape<bf16, bf16>(*this, s, ++seed);
    }
  }
}

// GLM-09: positions that bf16 cannot hold; pair 0 turns by its position in radians.
TYPED_TEST(rotary_kernels, long_positions_keep_their_phase) {
  const std::vector<std::int32_t> positions{257, 1001, 15962};
  const double expected[] = {0.819306, -0.573357, -0.391940, 0.919991, -0.908016, 0.418936};
  std::vector<bf16> x;
  for (int t = 0; t < 3; ++t) x.push_back(bf16(1.0f)), x.push_back(bf16(0.0f));
  auto& out = this->template output<bf16>(6);
  ASSERT_TRUE(rotary(this->executor(), view_on<TypeParam>(this->input(x).data(), 3, 1, 2),
                     view_on<TypeParam>(this->input(positions).data(), 3), view_on<TypeParam>(out.data(), 3, 1, 2))
                  .ok());
  const auto y = out.values();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(as_double(y[i]), expected[i], std::abs(expected[i]) * 0x1p-8 + 1e-6);
}

TYPED_TEST(rotary_kernels, positions_near_the_end_of_int32_are_exact) {
  const std::vector<std::int32_t> positions{2147483647, -3, 0};
  auto& out = this->template output<float>(6);
  ASSERT_TRUE(rotary(this->executor(),
                     view_on<TypeParam>(this->input(std::vector<float>{1, 0, 1, 0, 1, 0}).data(), 3, 1, 2),
                     view_on<TypeParam>(this->input(positions).data(), 3), view_on<TypeParam>(out.data(), 3, 1, 2))
                  .ok());
  const auto y = out.values();
  for (std::size_t t = 0; t < 3; ++t) {
    // The frequency 1 / (2 pi) as float64 errs by 2^-56 turn, times the position.
    const double bound = 8 * unit + std::abs(static_cast<double>(positions[t])) * 0x1p-54 * 2 * M_PI;
    EXPECT_NEAR(static_cast<double>(y[2 * t]), std::cos(static_cast<double>(positions[t])), bound);
    EXPECT_NEAR(static_cast<double>(y[2 * t + 1]), std::sin(static_cast<double>(positions[t])), bound);
  }
}

TYPED_TEST(rotary_kernels, start_counts_along_each_sequence) {
  const index_t batch = 2, tokens = 3, heads = 5, channels = 16;
  const auto x = uniform<float>(batch * tokens * heads * channels, 31);
  auto &a = this->template output<float>(x.size()), &b = this->template output<float>(x.size());
  const auto in = this->input(x).data();
  ASSERT_TRUE(rotary(this->executor(), view_on<TypeParam>(in, batch, tokens, heads, channels), positions_from{7},
                     view_on<TypeParam>(a.data(), batch, tokens, heads, channels))
                  .ok());
  ASSERT_TRUE(rotary(this->executor(), view_on<TypeParam>(in, batch * tokens, heads, channels),
                     view_on<TypeParam>(this->input(std::vector<std::int32_t>{7, 8, 9, 7, 8, 9}).data(), 6),
                     view_on<TypeParam>(b.data(), batch * tokens, heads, channels))
                  .ok());
  EXPECT_EQ(a.values(), b.values());
}

TYPED_TEST(rotary_kernels, start_leaves_every_token_a_position) {
  auto& out = this->template output<float>(16);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(16, 32)).data(), 2, 1, 8);
  const auto y = view_on<TypeParam>(out.data(), 2, 1, 8);
  const index_t last = (limits<index_t>::max)();
  const status s = rotary(this->executor(), x, positions_from{last}, y);
  EXPECT_EQ(s.message(),
            "bad option: rotary: operand `positions`: starts at 9223372036854775807, needs at most "
            "9223372036854775806, for the "
            "last of 2 tokens has a position of 64 bits, too");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(rotary(this->executor(), x, positions_from{last - 1}, y).ok());
  EXPECT_TRUE(rotary(this->executor(), x, positions_from{limits<index_t>::lowest()}, y).ok());
}

// q and k inside a fused qkv row, turned in place; v and the gaps stay.
TYPED_TEST(rotary_kernels, slices_of_a_fused_projection_turn_in_place) {
  const std::size_t tokens = 3, heads = 2, channels = 8, pitch = 40;
  const auto x = uniform<bf16>(tokens * pitch, 32);
  std::vector<bf16> q;
  for (std::size_t t = 0; t < tokens; ++t)
    q.insert(q.end(), x.begin() + static_cast<std::ptrdiff_t>(t * pitch),
             x.begin() + static_cast<std::ptrdiff_t>(t * pitch + heads * channels));
  guarded_output<bf16, typename TypeParam::space> fused(x);
  const index_t extents[] = {3, 2, 8}, strides[] = {40, 8, 1};
  const auto view = strided_on<TypeParam>(fused.data(), extents, strides);
  auto& expected = this->template output<bf16>(q.size());
  ASSERT_TRUE(rotary(this->executor(), view, positions_from{100}, view, {.width = 4}).ok());
  ASSERT_TRUE(rotary(this->executor(), view_on<TypeParam>(this->input(q).data(), tokens, heads, channels),
                     positions_from{100}, view_on<TypeParam>(expected.data(), tokens, heads, channels), {.width = 4})
                  .ok());
  const auto y = fused.values(), z = expected.values();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t c = i % pitch;
    EXPECT_EQ(as_double(y[i]), as_double(c < heads * channels ? z[i / pitch * heads * channels + c] : x[i])) << i;
  }
  EXPECT_TRUE(fused.intact());
}

/// Three sequences of a batch, each with tokens of its own behind those that the cache holds, and a token without a
/// place.
struct ragged {
  std::vector<std::int32_t> positions, places;
  static constexpr std::size_t tokens = 7, batch = 3, capacity = 10;
  ragged() {
    const int past[] = {5, 0, 8}, fresh[] = {3, 1, 2};
    for (int b = 0; b < 3; ++b)
      for (int i = 0; i < fresh[b]; ++i)
        positions.push_back(past[b] + i), places.push_back(b * static_cast<int>(capacity) + past[b] + i);
    positions.insert(positions.begin() + 4, 123456), places.insert(places.begin() + 4, -1);
  }
};

/// Rows of `cache` that a token goes to hold that token, and no other was written.
template <class Cache>
void expect_rows(const Cache& cache, const ragged& where, std::size_t row, const reference& r) {
  std::vector<bool> written(ragged::batch * ragged::capacity, false);
  const auto got = as_double(cache.values());
  for (std::size_t t = 0; t < ragged::tokens; ++t) {
    if (where.places[t] < 0) continue;
    const auto place = static_cast<std::size_t>(where.places[t]);
    written[place] = true;
    for (std::size_t i = 0; i < row; ++i)
      ASSERT_NEAR(got[place * row + i], r.value[t * row + i], r.bound[t * row + i]) << "token " << t << ", " << i;
  }
  EXPECT_TRUE(cache.wrote_only([&](std::size_t i) { return written[i / row]; }));
}

/// The two halves of an append against float64; with `queries` also the third.
template <class X, class Q, class Y, class Test>
void check_append(Test& test, std::size_t channels, std::size_t width, pairing pairs, bool queries) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::to_string(channels) + (queries ? ", with queries" : ""));
  const ragged where;
  const std::size_t tokens = ragged::tokens, heads = 5, kv_heads = 2;
  const auto q = uniform<X>(tokens * heads * channels, 32), k = uniform<X>(tokens * kv_heads * channels, 33),
             v = uniform<X>(tokens * kv_heads * channels, 34);
  auto& turned = test.template output<Q>(q.size());
  auto& keys = test.template output<Y>(ragged::batch * ragged::capacity * kv_heads * channels);
  auto& values = test.template output<Y>(keys.size());
  const auto qv = view_on<E>(test.input(q).data(), tokens, heads, channels);
  const auto kv = view_on<E>(test.input(k).data(), tokens, kv_heads, channels),
             vv = view_on<E>(test.input(v).data(), tokens, kv_heads, channels);
  const auto positions = view_on<E>(test.input(where.positions).data(), tokens),
             places = view_on<E>(test.input(where.places).data(), tokens);
  const auto key_cache = view_on<E>(keys.data(), ragged::batch, ragged::capacity, kv_heads, channels),
             value_cache = view_on<E>(values.data(), ragged::batch, ragged::capacity, kv_heads, channels);
  const rotary_options options{.width = static_cast<int>(width), .pairs = pairs};
  status s;
  if (queries)
    s = rotary_append(test.executor(), qv, view_on<E>(turned.data(), tokens, heads, channels), kv, vv, positions,
                      places, key_cache, value_cache, options);
  else if constexpr (std::is_same_v<Q, Y>)
    s = rotary_append(test.executor(), kv, vv, positions, places, key_cache, value_cache, options);
  ASSERT_TRUE(s.ok()) << s.message();
  expect_rows(keys, where, kv_heads * channels,
              rotary_reference<Y>(k, {tokens, kv_heads, channels, width, pairs}, where.positions, options.theta));
  expect_rows(values, where, kv_heads * channels,
              rotary_reference<Y>(v, {tokens, kv_heads, channels, 0, pairs}, where.positions, options.theta));
  if (!queries) return;
  const auto r = rotary_reference<Q>(q, {tokens, heads, channels, width, pairs}, where.positions, options.theta);
  EXPECT_TRUE(near(turned.values(), r.value, r.bound)) << "also of the token without a place";
}

TYPED_TEST(rotary_kernels, append_writes_ragged_sequences_where_told_in_one_launch) {
  for (pairing pairs : {pairing::interleaved, pairing::half_split})
    for (std::size_t channels : sizes{64, 10}) {
      const std::size_t width = channels / 2 / 2 * 2;
      check_append<float, float, float>(*this, channels, width, pairs, false);
      check_append<float, float, float>(*this, channels, width, pairs, true);
      check_append<f16, float, f16>(*this, channels, width, pairs, true);
    }
}

// As a layer does it: q, k and v side by side in the rows of one projection, q turned in place.
TYPED_TEST(rotary_kernels, append_turns_the_queries_of_a_fused_projection_in_place) {
  using E = TypeParam;
  const ragged where;
  const std::size_t tokens = ragged::tokens, heads = 4, kv_heads = 1, channels = 16, all = heads + 2 * kv_heads;
  const auto x = uniform<bf16>(tokens * all * channels, 35);
  guarded_output<bf16, typename E::space> fused(x);
  auto &keys = this->template output<bf16>(ragged::batch * ragged::capacity * channels),
       &values = this->template output<bf16>(keys.size());
  const auto qkv = view_on<E>(fused.data(), tokens, all, channels);
  const auto q = slice(qkv, 1, 0, 4), k = slice(qkv, 1, 4, 5), v = slice(qkv, 1, 5, 6);
  const status s =
      rotary_append(this->executor(), q, q, k, v, view_on<E>(this->input(where.positions).data(), tokens),
                    view_on<E>(this->input(where.places).data(), tokens),
                    view_on<E>(keys.data(), ragged::batch * ragged::capacity, kv_heads, channels),
                    view_on<E>(values.data(), ragged::batch * ragged::capacity, kv_heads, channels), {.width = 8});
  ASSERT_TRUE(s.ok()) << s.message();
  const auto r = rotary_reference<bf16>(x, {tokens, all, channels, 8, pairing::interleaved}, where.positions, 10000);
  const auto y = as_double(fused.values()), kc = as_double(keys.values()), vc = as_double(values.values());
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < all * channels; ++i) {
      const std::size_t at = t * all * channels + i, c = i % channels;
      if (i < heads * channels)
        ASSERT_NEAR(y[at], r.value[at], r.bound[at]);
      else
        ASSERT_EQ(y[at], as_double(x[at])) << "keys and values are only read";
      if (where.places[t] < 0 || i < heads * channels) continue;
      const auto place = static_cast<std::size_t>(where.places[t]) * channels + c;
      if (i < (heads + kv_heads) * channels)
        ASSERT_NEAR(kc[place], r.value[at], r.bound[at]);
      else
        ASSERT_EQ(vc[place], as_double(x[at]));
    }
  EXPECT_TRUE(fused.intact());
}

TYPED_TEST(rotary_kernels, a_place_outside_the_cache_is_reported) {
  const auto k = view_on<TypeParam>(this->input(uniform<float>(16, 35)).data(), 2, 1, 8);
  const auto positions = view_on<TypeParam>(this->input(std::vector<std::int32_t>{0, 1}).data(), 2);
  const auto places = view_on<TypeParam>(this->input(std::vector<std::int32_t>{0, 4}).data(), 2);
  auto &keys = this->template output<float>(32), &values = this->template output<float>(32);
  guarded_output<std::int32_t, typename TypeParam::space> flag(std::vector<std::int32_t>{0});
  const status s = rotary_append(this->executor(), k, k, positions, places, view_on<TypeParam>(keys.data(), 4, 1, 8),
                                 view_on<TypeParam>(values.data(), 4, 1, 8), {}, flag.data());
  if (TypeParam::on_host) {
    EXPECT_EQ(s.code(), errc::bad_option);
    EXPECT_NE(s.message().find("element 1 is 4"), std::string::npos) << s.message();
    EXPECT_TRUE(keys.untouched());
  } else {
    EXPECT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(flag.values()[0], 1);
    EXPECT_TRUE(keys.wrote_only([](std::size_t i) { return i < 8; }));
  }
}

TYPED_TEST(rotary_kernels, wrong_options_are_named) {
  auto& out = this->template output<float>(24);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(24, 36)).data(), 3, 1, 8);
  const auto y = view_on<TypeParam>(out.data(), 3, 1, 8);
  for (int width : {3, 10, -2}) {
    const status s = rotary(this->executor(), x, positions_from{}, y, {.width = width});
    EXPECT_EQ(s.code(), errc::bad_option);
    EXPECT_NE(s.message().find("`width`: saw " + std::to_string(width)), std::string::npos) << s.message();
  }
  for (const double theta : {0.0, -1.0, 1e-320, 1e300, std::nan("")})  // 1e-320: its powers would pass float64's range
    EXPECT_EQ(rotary(this->executor(), x, positions_from{}, y, {.theta = theta}).code(), errc::bad_option);
  const auto few = view_on<TypeParam>(this->input(std::vector<std::int32_t>{1, 2}).data(), 2);
  EXPECT_EQ(rotary(this->executor(), x, few, y).code(), errc::bad_shape);

  const auto at = view_on<TypeParam>(this->input(std::vector<std::int32_t>{0, 1, 2}).data(), 3);
  auto &keys = this->template output<float>(40), &values = this->template output<float>(40);
  const auto kc = view_on<TypeParam>(keys.data(), 5, 1, 8), vc = view_on<TypeParam>(values.data(), 5, 1, 8);
  const auto append = [&](const auto& q, const auto& to, const auto& v, const auto& cache) {
    return rotary_append(this->executor(), q, to, x, v, at, at, cache, vc).message();
  };
  EXPECT_EQ(append(slice(x, 0, 0, 2), slice(y, 0, 0, 2), x, kc),
            "bad shape: rotary_append: operand `q`: axis 0 has extent 2, needs 3 as in `k`");
  EXPECT_EQ(append(x, slice(y, 2, 0, 4), x, kc),
            "bad shape: rotary_append: operand `q_out`: axis 2 has extent 4, needs 8 as in `q`");
  EXPECT_EQ(append(x, slice(kc, 0, 0, 3), x, kc),
            "overlap: rotary_append: operand `key_cache`: shares memory with `q_out`, needs memory of its own");
  EXPECT_EQ(append(x, y, x, vc),
            "overlap: rotary_append: operand `value_cache`: shares memory with `key_cache`, needs memory of its own");
  EXPECT_EQ(append(x, y, slice(x, 0, 0, 2), kc),
            "bad shape: rotary_append: operand `v`: axis 0 has extent 2, needs 3 as in `k`");
  EXPECT_TRUE(out.untouched() && keys.untouched() && values.untouched());
  const auto no_tokens = slice(x, 0, 0, 0);
  EXPECT_TRUE(rotary_append(this->executor(), no_tokens, slice(y, 0, 0, 0), no_tokens, no_tokens, slice(at, 0, 0, 0),
                            slice(at, 0, 0, 0), kc, vc)
                  .ok());
}

}  // namespace
}  // namespace kiln::test
