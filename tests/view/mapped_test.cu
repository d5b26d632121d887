// Functions of views as views: they know their rank and extents before anything is computed, and are computed by who
// reads.
#include <kiln/concatenate.hpp>
#include <kiln/transform.hpp>
#include <kiln/view/mapped.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(mapped_views);

struct times {
  KILN_FN float operator()(float x, float y) const { return x * y; }
};
struct plus {
  KILN_FN float operator()(float x, float y) const { return x + y; }
};
struct square {
  KILN_FN double operator()(float x) const { return static_cast<double>(x) * static_cast<double>(x); }
};
struct nearest {
  KILN_FN bf16 operator()(float x) const { return bf16(x); }
};
struct minus_row {
  KILN_FN float operator()(float x, float y, coordinates<2> at) const { return x - y - static_cast<float>(at[0]); }
};

// VEW-11
TYPED_TEST(mapped_views, rank_and_extents_are_known_before_anything_is_computed) {
  using E = TypeParam;
  float* const none = nullptr;
  const auto a = view_on<E>(none, 3, 5);
  const auto b = transposed(view_on<E>(none, 5, 3));
  const auto product = mapped(times{}, a, b);
  using type = std::remove_const_t<decltype(product)>;
  static_assert(type::rank == 2 && std::is_same_v<typename type::value_type, float> &&
                std::is_same_v<typename type::space, typename E::space>);
  EXPECT_EQ(product.extent(0), 3);
  EXPECT_EQ(product.extent(1), 5);
  EXPECT_EQ(product.size(), 15);
  const auto flipped = permuted<1, 0>(product);
  EXPECT_TRUE(flipped.extent(0) == 5 && flipped.extent(1) == 3);
  const auto nested = mapped(square{}, mapped(plus{}, transposed(product), transposed(a)));
  static_assert(decltype(nested)::rank == 2 && std::is_same_v<typename decltype(nested)::value_type, double>);
  EXPECT_TRUE(nested.extent(0) == 5 && nested.extent(1) == 3);
  const auto row = pick<0>(product, -1);
  const auto repeated = broadcast<1>(pick<1>(product, 2), 7);
  static_assert(decltype(row)::rank == 1 && decltype(repeated)::rank == 2);
  EXPECT_EQ(row.extent(0), 5);
  EXPECT_TRUE(repeated.extent(0) == 3 && repeated.extent(1) == 7);
  EXPECT_EQ(slice(product, 1, 1, -1).extent(1), 3);
  EXPECT_EQ(strided<1>(product, 2).extent(1), 3);
  EXPECT_TRUE(slice(product, 0, 1, 1).empty());
  // Another number of axes does not compile: tests/compile_fail/view_mapped_rank.cpp. Other extents, and slices
  // outside, leave a view that calls refuse.
  EXPECT_EQ(mapped(times{}, a, view_on<E>(none, 3, 4)).extent(1), -1);
  EXPECT_EQ(slice(product, 0, 2, 1).extent(0), -1);
}

// VEW-11: a permuted product into the addition of a bias, in one pass.
TYPED_TEST(mapped_views, feed_other_expressions) {
  using E = TypeParam;
  const std::size_t m = 9, n = 37;
  const auto xs = small_integers<float>(m * n, 1), ys = small_integers<float>(m * n, 2),
             bs = small_integers<float>(m, 3);
  const auto a = view_on<E>(this->input(xs).data(), 9, 37), b = view_on<E>(this->input(ys).data(), 9, 37);
  const auto bias = broadcast<0>(view_on<E>(this->input(bs).data(), 9), 37);
  auto &sums = this->template output<float>(m * n), &rows = this->template output<float>(m * n);
  auto& squares = this->template output<double>(m * n);
  const auto product = permuted<1, 0>(mapped(times{}, a, b));
  ASSERT_TRUE(transform(this->executor(), product, bias, view_on<E>(sums.data(), 37, 9), plus{}).ok());
  ASSERT_TRUE(
      copy(this->executor(), mapped(square{}, mapped(plus{}, product, bias)), view_on<E>(squares.data(), 37, 9)).ok());
  ASSERT_TRUE(transform(this->executor(), bias, product, view_on<E>(rows.data(), 37, 9), minus_row{}).ok());
  const auto d = sums.values(), r = rows.values();
  const auto q = squares.values();
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < m; ++i) {
      const float p = xs[i * n + j] * ys[i * n + j], sum = p + bs[i];
      ASSERT_EQ(d[j * m + i], sum);
      ASSERT_EQ(q[j * m + i], static_cast<double>(sum * sum));
      ASSERT_EQ(r[j * m + i], bs[i] - p - static_cast<float>(j));
    }
}

TYPED_TEST(mapped_views, narrow_values_are_rounded_where_the_functor_says) {
  using E = TypeParam;
  const auto xs = uniform<float>(40, 4);
  const auto x = view_on<E>(this->input(xs).data(), 40);
  auto& out = this->template output<float>(40);
  ASSERT_TRUE(transform(this->executor(), mapped(nearest{}, x), x, view_on<E>(out.data(), 40), times{}).ok());
  const auto y = out.values();
  for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(y[i], static_cast<float>(bf16(xs[i])) * xs[i]);
}

TEST(mapped_views_on_the_host, elements_are_computed_when_they_are_read) {
  const auto xs = small_integers<f16>(12, 5);
  const auto ys = small_integers<float>(12, 6);
  const auto p = mapped(times{}, host_view(xs.data(), 3, 4), host_view(ys.data(), 3, 4));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      const auto at = static_cast<std::size_t>(4 * i + j);
      EXPECT_EQ(p(i, j), static_cast<float>(xs[at]) * ys[at]);
      EXPECT_EQ(mapped(plus{}, p, p)(i, j), 2 * p(i, j));
      EXPECT_EQ(slice(transposed(p), 0, 1, 4)(j == 0 ? 0 : j - 1, i), p(i, j == 0 ? 1 : j));
    }
}

// Views that a change brings to one shape do not pair elements that were never at the same coordinates.
TEST(mapped_views_on_the_host, different_shapes_stay_refused_after_any_change) {
  const auto xs = small_integers<float>(12, 8);
  const auto wrong = mapped(times{}, host_view(xs.data(), 3, 4), host_view(xs.data(), 2, 6));
  const auto refused = [](const auto& v) {
    for (int a = 0; a < std::decay_t<decltype(v)>::rank; ++a)
      if (v.extent(a) < 0) return true;
    return false;
  };
  ASSERT_TRUE(refused(wrong));
  EXPECT_TRUE(refused(slice(slice(wrong, 0, 0, 2), 1, -2, -1)));
  EXPECT_TRUE(refused(pick<0>(slice(wrong, 1, 0, 2), 0)));
  EXPECT_TRUE(refused(strided<1>(strided<0>(wrong, 8), 8)));
  EXPECT_TRUE(refused(pick<0>(slice(transposed(wrong), 0, 0, 2), -1)));
  EXPECT_TRUE(refused(pick<0>(slice(permuted<1, 0>(wrong), 0, 0, 2), -1)));
  EXPECT_TRUE(refused(broadcast<0>(pick<1>(slice(wrong, 0, 0, 2), 0), 3)));
  EXPECT_TRUE(refused(slice(slice(mapped(plus{}, wrong, wrong), 0, 0, 2), 1, 0, 2)));
  float sums[2] = {7, 7};
  EXPECT_EQ(copy(host, slice(slice(wrong, 0, 0, 2), 1, 0, 1), host_view(&sums[0], 2, 1)).code(), errc::bad_shape);
  EXPECT_TRUE(sums[0] == 7 && sums[1] == 7);
  const auto vectors = mapped(times{}, host_view(xs.data(), 3), host_view(xs.data(), 4));
  EXPECT_TRUE(refused(slice(vectors, 0, 0, 2)));
  EXPECT_LE(vectors.size(), 0);
}

TYPED_TEST(mapped_views, wrong_shapes_and_overlap_are_named_and_nothing_is_written) {
  using E = TypeParam;
  auto& out = this->template output<float>(12);
  const auto x = view_on<E>(this->input(small_integers<float>(12, 7)).data(), 3, 4);
  const auto to = view_on<E>(out.data(), 3, 4);
  const auto ex = this->executor();
  EXPECT_EQ(copy(ex, mapped(times{}, x, slice(x, 1, 0, 3)), to).message(),
            "bad shape: copy: input 2 has extents [3, 3], needs [3, 4], those of the result");
  EXPECT_EQ(transform(ex, x, mapped(times{}, slice(x, 0, 2, 1), x), to, plus{}).code(), errc::bad_shape);
  const auto square = view_on<E>(out.data(), 3, 3);
  EXPECT_EQ(copy(ex, mapped(times{}, slice(x, 1, 0, 3), transposed(square)), square).code(), errc::overlap);
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace kiln::test
