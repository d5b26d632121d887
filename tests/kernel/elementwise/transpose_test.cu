// Transposition and other permutations by tiles, with accesses of 16 bytes and element by element.
#include <kiln/copy.hpp>
#include <kiln/core/trace.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace {

using namespace kiln;

/// The schedules of the launches while this lives.
class schedules {
 public:
  schedules() : sink_{&schedules::finished, this}, before_(trace::set_sink(&sink_)) {}
  schedules(const schedules&) = delete;
  schedules& operator=(const schedules&) = delete;
  ~schedules() { (void)trace::set_sink(before_); }
  std::string seen;

 private:
  static void finished(void* self, const trace::launch_record& r) { static_cast<schedules*>(self)->seen = r.schedule; }
  trace::sink sink_;
  const trace::sink* before_;
};

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// out[n, m] = x[m, n] transposed; the rows of x begin `pitch` apart, those of the result `out_pitch`.
template <class From, class To, class Test>
void check(Test& test, std::size_t m, std::size_t n, std::size_t pitch, std::size_t out_pitch, const char* schedule,
           std::size_t misalign = 0) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::to_string(sizeof(From)) + " to " + std::to_string(sizeof(To)) + " bytes, " + std::to_string(m) +
               " x " + std::to_string(n) + ", pitches " + std::to_string(pitch) + " and " + std::to_string(out_pitch));
  const auto xs = test::small_integers<From>(m * pitch, 11, -100, 100);
  const auto& x = test.input(xs, misalign);
  auto& out = test.template output<To>(n * out_pitch, test::prefill::x55, misalign);
  const auto untouched = out.values();
  const auto from = transposed(pitched(view_on<E>(x.data(), m, n), static_cast<index_t>(pitch)));
  const auto to = pitched(view_on<E>(out.data(), n, m), static_cast<index_t>(out_pitch));
  schedules ran;
  ASSERT_TRUE(copy(test.executor(), from, to).ok());
  EXPECT_EQ(ran.seen, schedule);
  const auto result = out.values();
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < out_pitch; ++i) {
      const To got = result[j * out_pitch + i];
      if (i >= m)
        ASSERT_TRUE(same_bits(got, untouched[j * out_pitch + i])) << "behind row " << j;
      else
        ASSERT_TRUE(same_bits(got, convert<To>(static_cast<float>(xs[i * pitch + j])))) << i << ", " << j;
    }
}

KILN_ON_EXECUTORS(transpositions);

constexpr const char *wide = "transposed tiles", *words = "transposed tiles, words",
                     *single = "transposed tiles, elements";

template <class From, class To, class Test>
void check_all(Test& test) {
  constexpr std::size_t v = 16 / sizeof(To);
  for (const std::size_t m : {2 * v < 16 ? 16 : 2 * v, 5 * v + 32, 128 / sizeof(To), 384 / sizeof(To) + v})
    for (const std::size_t n : {2 * v < 16 ? 16 : 2 * v, 9 * v + 32, 256 / sizeof(To)}) {
      check<From, To>(test, m, n, n, m, wide);
      check<From, To>(test, m, n, n + v, m + 3 * v, wide);
    }
  check<From, To>(test, 6 * v, 10 * v, 10 * v + 1, 6 * v, single);
  check<From, To>(test, 6 * v, 10 * v, 10 * v, 6 * v + 1, single);
  check<From, To>(test, 6 * v + 1, 10 * v, 10 * v, 6 * v + 1, single);
  check<From, To>(test, 6 * v, 10 * v + 1, 10 * v + 1, 6 * v, single);
  check<From, To>(test, 6 * v, 10 * v, 10 * v, 6 * v, single, 1);
  check<From, To>(test, 130, 97, 97, 130, single);
  if constexpr (sizeof(To) < 4) {
    constexpr std::size_t w = 4 / sizeof(To);
    check<From, To>(test, 6 * v, 10 * v + w, 10 * v + w, 6 * v, words);
    check<From, To>(test, 26 * w, 67 * w, 69 * w, 27 * w, words);
    check<From, To>(test, 6 * v, 10 * v, 10 * v, 6 * v, words, w);
  }
}

TYPED_TEST(transpositions, of_every_width_by_chunks_and_singles) {
  check_all<std::int8_t, std::int8_t>(*this);
  check_all<bf16, bf16>(*this);
  check_all<float, float>(*this);
  check_all<std::int32_t, std::int32_t>(*this);
}

TYPED_TEST(transpositions, convert_on_the_way) {
  check_all<float, bf16>(*this);
  check_all<bf16, float>(*this);
  check_all<float, std::int8_t>(*this);
}

TYPED_TEST(transpositions, of_eight_bytes) {
  using E = TypeParam;
  for (const std::size_t m : {16u, 34u, 130u})
    for (const std::size_t n : {16u, 50u, 131u}) {
      std::vector<double> xs(m * n);
      for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<double>(i) + 0.1;
      auto& out = this->template output<double>(m * n);
      ASSERT_TRUE(
          copy(this->executor(), transposed(view_on<E>(this->input(xs).data(), m, n)), view_on<E>(out.data(), n, m))
              .ok());
      const auto result = out.values();
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(result[j * m + i], xs[i * n + j]) << m << " x " << n;
    }
}

// The axis that is contiguous in the source may be any of the others, and the rest walks beside the tiles.
TYPED_TEST(transpositions, permutations_of_three_and_four_axes) {
  using E = TypeParam;
  const auto run = [&]<class T>(T, index_t a, index_t b, index_t c, index_t d) {
    const auto count = static_cast<std::size_t>(a * b * c * d);
    const auto xs = test::uniform<T>(count, 12);
    const auto& x = this->input(xs);
    const auto v = view_on<E>(x.data(), a, b, c, d);
    const auto move = [&](const auto& from, const char* schedule, auto index) {
      auto& out = this->template output<T>(count);
      schedules ran;
      ASSERT_TRUE(copy(this->executor(), from,
                       view_on<E>(out.data(), from.extent(0), from.extent(1), from.extent(2), from.extent(3)))
                      .ok());
      EXPECT_EQ(ran.seen, schedule);
      const auto result = out.values();
      std::size_t at = 0;
      for (index_t i = 0; i < from.extent(0); ++i)
        for (index_t j = 0; j < from.extent(1); ++j)
          for (index_t k = 0; k < from.extent(2); ++k)
            for (index_t l = 0; l < from.extent(3); ++l, ++at)
              ASSERT_TRUE(same_bits(result[at], xs[static_cast<std::size_t>(index(i, j, k, l))]))
                  << i << ", " << j << ", " << k << ", " << l;
    };
    const auto place = [=](index_t i, index_t j, index_t k, index_t l) { return ((i * b + j) * c + k) * d + l; };
    const auto how = [](index_t rows, index_t columns) {
      const auto both = [=](index_t bytes) {
        return rows * static_cast<index_t>(sizeof(T)) % bytes == 0 &&
               columns * static_cast<index_t>(sizeof(T)) % bytes == 0;
      };
      return both(16) ? wide : both(4) && sizeof(T) < 4 ? words : single;
    };
    move(permuted<0, 3, 2, 1>(v), how(b, d),
         [=](index_t i, index_t j, index_t k, index_t l) { return place(i, l, k, j); });
    move(permuted<3, 0, 2, 1>(v), how(b, d),
         [=](index_t i, index_t j, index_t k, index_t l) { return place(j, l, k, i); });
    move(permuted<2, 3, 0, 1>(v), how(a * b, c * d),
         [=](index_t i, index_t j, index_t k, index_t l) { return place(k, l, i, j); });
  };
  run(bf16{}, 2, 40, 3, 72);
  run(bf16{}, 2, 41, 3, 70);
  run(bf16{}, 2, 42, 3, 70);
  run(0.0f, 3, 36, 2, 20);
  run(std::int8_t{}, 2, 48, 2, 144);
}

template <int Bytes>
struct pixel {
  std::uint8_t part[Bytes];
};

/// Elements that are no words of memory go one by one.
TYPED_TEST(transpositions, structs_of_any_size) {
  using E = TypeParam;
  const auto run = [&]<int Bytes>(std::integral_constant<int, Bytes>) {
    constexpr std::size_t m = 40, n = 24;
    std::vector<pixel<Bytes>> xs(m * n);
    for (std::size_t i = 0; i < xs.size(); ++i)
      for (int b = 0; b < Bytes; ++b) xs[i].part[b] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(b));
    const auto& x = this->input(xs);
    auto& out = this->template output<pixel<Bytes>>(m * n, test::prefill::x55);
    ASSERT_TRUE(copy(this->executor(), transposed(view_on<E>(x.data(), m, n)), view_on<E>(out.data(), n, m)).ok());
    const auto result = out.values();
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < m; ++i)
        ASSERT_TRUE(same_bits(result[j * m + i], xs[i * n + j])) << Bytes << " bytes, " << i << ", " << j;
  };
  run(std::integral_constant<int, 3>{});
  run(std::integral_constant<int, 6>{});
  run(std::integral_constant<int, 7>{});
  run(std::integral_constant<int, 12>{});
}

}  // namespace
