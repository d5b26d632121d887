// transform with several results, with functors that see where they are, and SwiGLU by views of both packings.
#include <kiln/concatenate.hpp>
#include <kiln/epilogue/activations.hpp>
#include <kiln/transform.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/soa.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(fused_transforms);

struct sum_and_product {
  KILN_FN auto operator()(float x, std::int32_t y) const {
    return bundle_of(x + static_cast<float>(y), x * static_cast<float>(y), y);
  }
};
struct number_in_view {
  index_t rows, columns;
  KILN_FN index_t operator()(coordinates<3> at) const { return (at[0] * rows + at[1]) * columns + at[2]; }
};
struct keep_below_diagonal {
  KILN_FN float operator()(float x, coordinates<2> at) const { return at[1] <= at[0] ? x : 0.0f; }
};
struct value_and_row {
  KILN_FN auto operator()(float x, coordinates<2> at) const { return bundle_of(2 * x, at[0]); }
};
struct swiglu {
  KILN_FN float operator()(float gate, float up) const { return activation::silu(gate) * up; }
};
struct rank_of_particle {
  KILN_FN void operator()(auto p, coordinates<1> at) const { get<1>(p) = static_cast<int>(at[0]) + get<0>(p); }
};

TYPED_TEST(fused_transforms, several_results_of_different_types_and_strides_in_one_pass) {
  using E = TypeParam;
  for (const int n : {1, 5, 64, 131})
    for (const std::size_t misalign : {0u, 1u}) {
      const int m = 3;
      const auto count = static_cast<std::size_t>(m * n);
      const auto xs = small_integers<bf16>(count, 1);
      const auto ys = small_integers<std::int32_t>(count, 2);
      auto& sums = this->template output<float>(count, prefill::nan, misalign);
      auto& products = this->template output<f16>(count);
      auto& copies = this->template output<std::int8_t>(2 * count);
      const auto wide = slice(view_on<E>(copies.data(), m, 2 * n), 1, n, 2 * n);
      const status s =
          transform(this->executor(), view_on<E>(this->input(xs, misalign).data(), m, n),
                    view_on<E>(this->input(ys).data(), m, n),
                    outputs(view_on<E>(sums.data(), m, n), transposed(view_on<E>(products.data(), n, m)), wide),
                    sum_and_product{});
      ASSERT_TRUE(s.ok()) << s.message();
      const auto a = sums.values();
      const auto b = products.values();
      const auto c = copies.values();
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>(i * n + j);
          const float x = static_cast<float>(xs[at]), y = static_cast<float>(ys[at]);
          ASSERT_EQ(a[at], x + y);
          ASSERT_EQ(static_cast<float>(b[static_cast<std::size_t>(j * m + i)]), x * y);
          ASSERT_EQ(c[static_cast<std::size_t>(i * 2 * n + n + j)], ys[at]);
        }
      EXPECT_TRUE(copies.wrote_only([&](std::size_t i) { return static_cast<int>(i) % (2 * n) >= n; }));
    }
}

TYPED_TEST(fused_transforms, a_result_may_be_an_input_but_no_other_result) {
  using E = TypeParam;
  const auto xs = small_integers<float>(30, 3);
  const auto ys = small_integers<std::int32_t>(30, 4);
  guarded_output<float, typename E::space> x(xs);
  auto& other = this->template output<float>(30);
  auto& last = this->template output<std::int32_t>(30);
  const auto in = view_on<E>(x.data(), 30), out = view_on<E>(other.data(), 30);
  const auto y = view_on<E>(this->input(ys).data(), 30);
  const auto z = view_on<E>(last.data(), 30);
  EXPECT_EQ(transform(this->executor(), in, y, outputs(out, out, z), sum_and_product{}).message(),
            "overlap: transform: result 2 shares memory with result 1, needs memory of its own");
  EXPECT_EQ(transform(this->executor(), in, y, outputs(out, slice(in, 0, 0, 29), z), sum_and_product{}).message(),
            "bad shape: transform: result 2 has extents [29], needs [30], those of result 1");
  const auto shifted = view_on<E>(x.data() + 1, 29);
  EXPECT_EQ(transform(this->executor(), slice(in, 0, 0, 29), slice(y, 0, 0, 29),
                      outputs(slice(out, 0, 0, 29), shifted, slice(z, 0, 0, 29)), sum_and_product{})
                .code(),
            errc::overlap);
  EXPECT_TRUE(other.untouched() && last.untouched());
  EXPECT_EQ(x.values(), xs);
  ASSERT_TRUE(transform(this->executor(), in, y, outputs(out, in, z), sum_and_product{}).ok());
  const auto a = x.values(), b = other.values();
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(a[i], xs[i] * static_cast<float>(ys[i]));
    EXPECT_EQ(b[i], xs[i] + static_cast<float>(ys[i]));
  }
  EXPECT_EQ(last.values(), ys);
  EXPECT_TRUE(x.intact());
}

TYPED_TEST(fused_transforms, coordinates_are_the_views_own_whatever_its_strides) {
  using E = TypeParam;
  auto& out = this->template output<index_t>(4 * 5 * 6 * 2);
  const auto check = [&](const auto& v) {
    ASSERT_TRUE(transform(this->executor(), v, number_in_view{v.extent(1), v.extent(2)}).ok());
    const auto values = out.values();
    for (index_t i = 0; i < v.extent(0); ++i)
      for (index_t j = 0; j < v.extent(1); ++j)
        for (index_t k = 0; k < v.extent(2); ++k)
          ASSERT_EQ(values[static_cast<std::size_t>(v.offset(i, j, k) + (v.data - out.data()))],
                    (i * v.extent(1) + j) * v.extent(2) + k);
  };
  const auto packed = view_on<E>(out.data(), 4, 5, 6);
  check(packed);
  check(permuted<2, 0, 1>(packed));
  check(transposed(packed));
  check(slice(slice(packed, 2, 1, 2), 0, 1, 4));
  check(strided<2>(view_on<E>(out.data(), 4, 5, 12), 2));
}

TYPED_TEST(fused_transforms, coordinates_beside_values_and_several_results) {
  using E = TypeParam;
  for (const int n : {7, 32}) {
    const auto count = static_cast<std::size_t>(n * n);
    const auto xs = small_integers<float>(count, 5, 1, 9);
    const auto x = view_on<E>(this->input(xs).data(), n, n);
    auto &lower = this->template output<float>(count), &twice = this->template output<float>(count);
    auto& rows = this->template output<std::int32_t>(count);
    ASSERT_TRUE(transform(this->executor(), transposed(x), view_on<E>(lower.data(), n, n), keep_below_diagonal{}).ok());
    ASSERT_TRUE(transform(this->executor(), x, outputs(view_on<E>(twice.data(), n, n), view_on<E>(rows.data(), n, n)),
                          value_and_row{})
                    .ok());
    const auto a = lower.values(), b = twice.values();
    const auto c = rows.values();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = i / static_cast<std::size_t>(n), column = i % static_cast<std::size_t>(n);
      ASSERT_EQ(a[i], column <= row ? xs[column * static_cast<std::size_t>(n) + row] : 0.0f);
      ASSERT_EQ(b[i], 2 * xs[i]);
      ASSERT_EQ(c[i], static_cast<int>(row));
    }
  }
}

TYPED_TEST(fused_transforms, elements_of_records_know_their_number) {
  using E = TypeParam;
  const std::size_t n = 103;
  const auto xs = small_integers<std::int8_t>(n, 6);
  auto& to = this->template output<std::int32_t>(n);
  const auto p = soa_on<E, const std::int8_t, std::int32_t>(this->input(xs).data(), to.data(), 103);
  ASSERT_TRUE(transform(this->executor(), p, rank_of_particle{}).ok());
  const auto result = to.values();
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], static_cast<int>(i) + xs[i]);
}

// EPI-12: the packing is said by the views, gate first.
TYPED_TEST(fused_transforms, swiglu_of_halves_and_of_neighbours) {
  using E = TypeParam;
  const auto gate_of = [](const auto& x, bool halves) {
    return halves ? strided<1>(slice(x, 1, 0, x.extent(1) / 2), 1) : strided<1>(x, 2);
  };
  const auto up_of = [](const auto& x, bool halves) {
    return halves ? strided<1>(slice(x, 1, x.extent(1) / 2, x.extent(1)), 1)
                  : strided<1>(slice(x, 1, 1, x.extent(1)), 2);
  };
  const auto& x = this->input(std::vector<float>{1, 2, 3, 4});
  const auto row = view_on<E>(x.data(), 1, 4);
  const double expected[2][2] = {{1.462117, 11.430890}, {2.193176, 7.046377}};
  for (const bool halves : {false, true}) {
    auto& out = this->template output<float>(2);
    ASSERT_TRUE(
        transform(this->executor(), gate_of(row, halves), up_of(row, halves), view_on<E>(out.data(), 1, 2), swiglu{})
            .ok());
    // activations.hpp: silu errs by 6e-7 + 8e-8 |x| of itself; the reference has 7 digits.
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_NEAR(static_cast<double>(out.values()[i]), expected[halves][i], 1.2e-6 * expected[halves][i] + 5e-7);
  }

  // Each half in two shards of its columns, and the parts put together: the same bits.
  const std::size_t m = 5, n = 24;
  const auto both = view_on<E>(this->input(uniform<bf16>(m * 2 * n, 7)).data(), 5, 48);
  auto &whole = this->template output<bf16>(m * n), &left = this->template output<bf16>(m * 10),
       &right = this->template output<bf16>(m * 14), &joined = this->template output<bf16>(m * n);
  const auto gate = gate_of(both, true), up = up_of(both, true);
  const auto one = view_on<E>(left.data(), 5, 10), two = view_on<E>(right.data(), 5, 14);
  const auto ex = this->executor();
  ASSERT_TRUE(transform(ex, gate, up, view_on<E>(whole.data(), 5, 24), swiglu{}).ok());
  ASSERT_TRUE(transform(ex, slice(gate, 1, 0, 10), slice(up, 1, 0, 10), one, swiglu{}).ok());
  ASSERT_TRUE(transform(ex, slice(gate, 1, 10, 24), slice(up, 1, 10, 24), two, swiglu{}).ok());
  ASSERT_TRUE(concatenate<1>(ex, one, two, view_on<E>(joined.data(), 5, 24)).ok());
  EXPECT_EQ(as_double(joined.values()), as_double(whole.values()));
}

}  // namespace
}  // namespace kiln::test
