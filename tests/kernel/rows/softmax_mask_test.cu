// Softmax of masked rows: masks that choose and masks that are added, repeated along any axis.
#include <kiln/softmax.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(masked_softmax);

/// Softmax of packed rows of logits that are exact but for two roundings, of a product and a sum.
template <class Y>
void check(const std::vector<Y>& got, const std::vector<double>& z, std::size_t cols, double scaled, bool logarithmic) {
  std::vector<double> value, bound;
  for (std::size_t i = 0; i < z.size(); i += cols) {
    double top = -INFINITY, sum = 0;
    for (std::size_t c = 0; c < cols; ++c) top = std::max(top, z[i + c]);
    for (std::size_t c = 0; c < cols; ++c) sum += std::exp(z[i + c] - top);
    for (std::size_t c = 0; c < cols; ++c) {
      const double d = z[i + c] - top, y = logarithmic ? d - std::log(sum) : std::exp(d) / sum;
      value.push_back(y);
      if (d == -INFINITY) {
        bound.push_back(0);
        continue;
      }
      const double whole = unit * (4 * scaled + 6.5 + depth(static_cast<double>(cols)));
      const double argument = unit * (4 * scaled + 2.5 * std::abs(d));
      bound.push_back((logarithmic ? argument + whole + unit * (4 * std::log(sum) + 2 * std::abs(y))
                                   : y * (argument + whole + 8 * unit)) +
                      store_error<Y>(y));
    }
  }
  EXPECT_TRUE(near(got, value, bound));
}

// On the device bf16 takes one kernel instead of the seven that a public call chooses from: the choice does not depend
// on the type, and each kernel costs its time to compile. That one takes aligned rows of up to 8192 elements.
template <class E, class X, class M, class Y>
status softmax_in(const E& ex, const X& x, const Y& y, const M& mask, softmax_options options, bool logarithmic) {
  using from = typename X::value_type;
  if constexpr (std::is_same_v<from, float> || E::on_host) {
    return logarithmic ? log_softmax(ex, x, y, mask, options) : softmax(ex, x, y, mask, options);
  } else {
    const auto whole = rows::repeated_over(mask.view, x);
    using program = rows::masked_softmax_program<from, typename decltype(whole)::value_type, typename Y::value_type>;
    return rows::run_pinned<rows::one_block, 8>(ex, "softmax",
                                                program{rows::input_of(x), rows::operand_of(whole), rows::operand_of(y),
                                                        options.scale, options.masked, logarithmic},
                                                rows::count(x), rows::length(x));
  }
}

template <class X, bool Chooses, class Test>
void check_shape(Test& test, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of<X>()) + ", " + std::to_string(rows) + " x " + std::to_string(cols));
  using E = std::decay_t<decltype(test.executor())>;
  const float scale = 0.7f;
  std::vector<X> x = uniform<X>(rows * cols, seed);
  for (auto& v : x) v = value_of<X>(8 * as_double(v));
  std::vector<unsigned char> kept(rows * cols);
  std::vector<float> added = uniform<float>(rows * cols, seed + 1);
  std::vector<double> z;
  for (std::size_t i = 0; i < x.size(); ++i) {
    kept[i] = hash(seed + 2, i) % 3 != 0 || i % cols == i / cols % cols;  // one of each row at least
    if (!kept[i]) added[i] = -INFINITY;
    const double masked = Chooses ? 0 : as_double(added[i]);
    z.push_back(kept[i] ? static_cast<double>(scale) * as_double(x[i]) + masked : -INFINITY);
    // What is taken out is not looked at.
    if (Chooses && !kept[i]) x[i] = limits<X>::quiet_nan();
  }
  const auto xv = view_on<E>(test.input(x).data(), rows, cols);
  for (bool logarithmic : {false, true}) {
    auto& out = test.template output<X>(rows * cols);
    const auto y = view_on<E>(out.data(), rows, cols);
    const auto run = [&](const auto& mask) {
      return softmax_in(test.executor(), xv, y, mask, {.scale = scale}, logarithmic);
    };
    if constexpr (Chooses) {
      // The guards have to be bytes: a bool that is neither true nor false may not be made.
      const auto* bytes = test.input(kept).data();
      ASSERT_TRUE(run(keep_where(view_on<E>(reinterpret_cast<const bool*>(bytes), rows, cols))).ok());
    } else {
      ASSERT_TRUE(run(add_mask(view_on<E>(test.input(added).data(), rows, cols))).ok());
    }
    check(out.values(), z, cols, 0.7 * 8, logarithmic);
  }
}

TYPED_TEST(masked_softmax, agrees_with_float64_at_every_length) {
  std::uint64_t seed = 200;
  for (std::size_t cols : sizes{1, 2, 7, 33, 128, 129, 1000, 1024, 4096, 8200, 40001}) {
    const std::size_t rows = cols > 2000 ? 2 : 19;
    check_shape<float, true>(*this, rows, cols, ++seed);
    check_shape<float, false>(*this, rows, cols, ++seed);
    if (TypeParam::on_host || (cols % 8 == 0 && cols <= 8192)) check_shape<bf16, true>(*this, rows, cols, ++seed);
  }
}

// A mask of [batch, 1, queries, keys], [1, keys] for all, one number for a whole row: extents of 1 and strides of 0.
TYPED_TEST(masked_softmax, masks_repeat_along_axes_of_extent_one_and_stride_zero) {
  const index_t n = 3 * 2 * 5 * 33, extents[] = {3, 2, 5, 33};
  const auto x = uniform<float>(static_cast<std::size_t>(n), 230), m = uniform<float>(static_cast<std::size_t>(n), 231);
  const auto xv = view_on<TypeParam>(this->input(x).data(), 3, 2, 5, 33);
  const auto* mask = this->input(m).data();
  struct repeated {
    index_t extents[4], strides[4];
  };
  for (const auto& [e, s] : {repeated{{3, 1, 5, 33}, {165, 0, 33, 1}},
                             {{1, 1, 1, 33}, {0, 0, 0, 1}},
                             {{3, 2, 5, 1}, {10, 5, 1, 1}},
                             {{3, 2, 5, 33}, {0, 165, 0, 1}},
                             {{1, 1, 1, 1}, {1, 1, 1, 1}}}) {
    std::vector<double> z;
    for (index_t i = 0; i < n; ++i) {
      index_t rest = i, at = 0;
      for (int a = 3; a >= 0; rest /= extents[a], --a)
        if (e[a] != 1) at += rest % extents[a] * s[a];
      z.push_back(as_double(x[static_cast<std::size_t>(i)]) + as_double(m[static_cast<std::size_t>(at)]));
    }
    auto& out = this->template output<float>(static_cast<std::size_t>(n));
    ASSERT_TRUE(softmax(this->executor(), xv, view_on<TypeParam>(out.data(), 3, 2, 5, 33),
                        add_mask(strided_on<TypeParam>(mask, e, s)))
                    .ok());
    check(out.values(), z, 33, 1, false);
  }
}

// ROW-02 with a mask: a row of which nothing is left follows the policy, its neighbours do not notice.
TYPED_TEST(masked_softmax, rows_of_which_nothing_is_left_follow_the_policy) {
  const auto x = view_on<TypeParam>(this->input(std::vector<float>(24, 2.0f)).data(), 3, 8);
  std::vector<std::uint8_t> kept(24, 1);
  std::vector<float> added(24, 0.0f);
  for (std::size_t c = 8; c < 16; ++c) kept[c] = 0, added[c] = -INFINITY;
  const auto keep = keep_where(view_on<TypeParam>(this->input(kept).data(), 3, 8));
  const auto add = add_mask(view_on<TypeParam>(this->input(added).data(), 3, 8));
  for (bool masked : {false, true}) {
    for (bool choose : {false, true}) {
      auto &a = this->template output<float>(24), &b = this->template output<float>(24);
      const auto y = view_on<TypeParam>(a.data(), 3, 8), z = view_on<TypeParam>(b.data(), 3, 8);
      const softmax_options options{.masked = masked};
      ASSERT_TRUE(
          (choose ? softmax(this->executor(), x, y, keep, options) : softmax(this->executor(), x, y, add, options))
              .ok());
      ASSERT_TRUE((choose ? log_softmax(this->executor(), x, z, keep, options)
                          : log_softmax(this->executor(), x, z, add, options))
                      .ok());
      const auto plain = a.values(), logs = b.values();
      for (std::size_t i = 0; i < 24; ++i) {
        if (i / 8 != 1) {
          EXPECT_EQ(plain[i], 0.125f);
          EXPECT_NEAR(static_cast<double>(logs[i]), -std::log(8.0), 8 * unit);
        } else if (masked) {
          EXPECT_EQ(plain[i], 0);
          EXPECT_EQ(logs[i], -INFINITY);
        } else {
          EXPECT_TRUE(std::isnan(plain[i]) && std::isnan(logs[i]));
        }
      }
    }
  }
}

TYPED_TEST(masked_softmax, in_place_equals_out_of_place) {
  for (std::size_t cols : sizes{5, 300, 40001}) {
    const auto x = uniform<float>(2 * cols, 240), m = uniform<float>(cols, 241);
    const auto mask = add_mask(view_on<TypeParam>(this->input(m).data(), 1, cols));
    auto& out = this->template output<float>(2 * cols);
    guarded_output<float, typename TypeParam::space> both(x);
    const auto view = view_on<TypeParam>(both.data(), 2, cols);
    ASSERT_TRUE(softmax(this->executor(), view_on<TypeParam>(this->input(x).data(), 2, cols),
                        view_on<TypeParam>(out.data(), 2, cols), mask)
                    .ok());
    ASSERT_TRUE(softmax(this->executor(), view, view, mask).ok());
    EXPECT_EQ(both.values(), out.values());
    EXPECT_TRUE(both.intact());
  }
}

TYPED_TEST(masked_softmax, wrong_masks_are_named) {
  guarded_output<float, typename TypeParam::space> buffer(uniform<float>(100, 242));
  const auto x = view_on<TypeParam>(this->input(uniform<float>(24, 243)).data(), 4, 6);
  const auto y = view_on<TypeParam>(buffer.data(), 4, 6);
  const auto with = [&](const auto& mask) { return softmax(this->executor(), x, y, add_mask(mask)); };
  EXPECT_EQ(with(view_on<TypeParam>(buffer.data() + 50, 2, 6)).message(),
            "bad shape: softmax: operand `mask`: axis 0 has extent 2, needs 1 or 4 as in `x`");
  EXPECT_EQ(with(view_on<TypeParam>(static_cast<const float*>(nullptr), 1, 6)).message(),
            "null pointer: softmax: operand `mask`: data is null, needs 6 elements");
  EXPECT_EQ(with(view_on<TypeParam>(buffer.data() + 20, 1, 6)).code(), errc::overlap);
  EXPECT_TRUE(buffer.untouched());
  // ROW-23
  EXPECT_TRUE(softmax(this->executor(), view_on<TypeParam>(x.data, 0, 6), view_on<TypeParam>(buffer.data(), 0, 6),
                      add_mask(view_on<TypeParam>(buffer.data() + 50, 1, 6)))
                  .ok());
  EXPECT_TRUE(buffer.untouched());
  EXPECT_TRUE(with(view_on<TypeParam>(buffer.data() + 50, 1, 6)).ok());
}

}  // namespace
}  // namespace kiln::test
