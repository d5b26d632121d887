// Views one behind another along any axis.
#include <kiln/concatenate.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(concatenations);

/// A transposed input, none at all, a sliced one of another type, into a pitched result.
template <int Axis, class Test>
void check_axis(Test& test) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(Axis);
  const int first = 2, last = 5;
  int a[3] = {3, 6, 4}, b[3] = {3, 6, 4}, d[3] = {3, 6, 4};
  a[Axis] = first, b[Axis] = last, d[Axis] = first + last;
  const auto count = [](const int(&e)[3]) { return static_cast<std::size_t>(e[0] * e[1] * e[2]); };
  const auto xs = small_integers<float>(count(a), 1), ys = small_integers<float>(2 * count(b), 2);
  std::vector<bf16> narrow(ys.begin(), ys.end());
  const auto& x = test.input(xs);
  const auto& y = test.input(narrow);
  auto& out = test.template output<float>(2 * count(d));
  const auto in = transposed(view_on<E>(x.data(), a[0], a[2], a[1]));
  const auto wide = slice(view_on<E>(y.data(), b[0], b[1], 2 * b[2]), 2, b[2], 2 * b[2]);
  const auto to = slice(view_on<E>(out.data(), d[0], 2 * d[1], d[2]), 1, 0, d[1]);
  const status s = concatenate<Axis - 3>(test.executor(), in, slice(in, Axis, 1, 1), wide, to);
  ASSERT_TRUE(s.ok()) << s.message();
  const auto result = out.values();
  for (int i = 0; i < d[0]; ++i)
    for (int j = 0; j < d[1]; ++j)
      for (int k = 0; k < d[2]; ++k) {
        int at[3] = {i, j, k};
        const bool is_first = at[Axis] < first;
        if (!is_first) at[Axis] -= first;
        const auto expected = is_first ? xs[static_cast<std::size_t>(in.offset(at[0], at[1], at[2]))]
                                       : ys[static_cast<std::size_t>(wide.offset(at[0], at[1], at[2]) + b[2])];
        ASSERT_EQ(result[static_cast<std::size_t>(to.offset(i, j, k))], expected) << i << ", " << j << ", " << k;
      }
  EXPECT_TRUE(out.wrote_only([&](std::size_t i) { return static_cast<int>(i) / d[2] % (2 * d[1]) < d[1]; }));
}

TYPED_TEST(concatenations, along_any_axis_from_any_strides_and_types) {
  check_axis<0>(*this);
  check_axis<1>(*this);
  check_axis<2>(*this);
}

TYPED_TEST(concatenations, an_input_may_be_its_own_place_and_none_other) {
  using E = TypeParam;
  const auto xs = small_integers<float>(12, 3);
  guarded_output<float, typename E::space> out(std::vector<float>(20, 7));
  const auto to = view_on<E>(out.data(), 4, 5);
  const auto x = view_on<E>(this->input(xs).data(), 4, 3);
  ASSERT_TRUE(concatenate<1>(this->executor(), slice(to, 1, 0, 2), x, to).ok());
  const auto result = out.values();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(result[i], i % 5 < 2 ? 7 : xs[i / 5 * 3 + i % 5 - 2]);
  EXPECT_EQ(concatenate<1>(this->executor(), x, slice(to, 1, 0, 2), to).message(),
            "overlap: concatenate: input 2 shares memory with the result, needs memory of its own or its place in the "
            "result");
  EXPECT_EQ(out.values(), result);
  EXPECT_TRUE(out.intact());
}

// The same addresses are not the same numbers where the types differ.
TYPED_TEST(concatenations, an_input_of_another_type_in_its_place_is_converted) {
  using E = TypeParam;
  guarded_output<float, typename E::space> out(std::vector<float>(20, std::bit_cast<float>(std::int32_t{3})));
  const auto xs = small_integers<float>(12, 3);
  const auto x = view_on<E>(this->input(xs).data(), 4, 3);
  const auto ints = pitched(view_on<E>(reinterpret_cast<const std::int32_t*>(out.data()), 4, 2), 5);
  const status s = concatenate<1>(this->executor(), ints, x, view_on<E>(out.data(), 4, 5));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto result = out.values();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(result[i], i % 5 < 2 ? 3 : xs[i / 5 * 3 + i % 5 - 2]);

  guarded_output<bf16, typename E::space> narrow(std::vector<bf16>(9, bf16::from_bits(f16(1.5f).bits)));
  const auto halves = view_on<E>(reinterpret_cast<const f16*>(narrow.data()), 9);
  ASSERT_TRUE(concatenate<0>(this->executor(), halves, view_on<E>(narrow.data(), 9)).ok());
  for (const bf16 y : narrow.values()) EXPECT_EQ(static_cast<float>(y), 1.5f);
  EXPECT_TRUE(out.intact() && narrow.intact());
}

TYPED_TEST(concatenations, wrong_arguments_are_named_and_nothing_is_written) {
  using E = TypeParam;
  const auto ex = this->executor();
  auto& out = this->template output<float>(24);
  const auto x = view_on<E>(this->input(small_integers<float>(12, 4)).data(), 2, 6);
  const auto to = view_on<E>(out.data(), 4, 6);
  EXPECT_EQ(concatenate<0>(ex, x, to).message(),
            "bad shape: concatenate: axis 0 of the result has extent 4, needs 2, that of all inputs together");
  EXPECT_EQ(concatenate<0>(ex, x, x, x, to).message(),
            "bad shape: concatenate: axis 0 of the result has extent 4, needs that of all inputs together; the first 3 "
            "have 6");
  EXPECT_EQ(concatenate<0>(ex, x, slice(x, 1, 0, 5), to).message(),
            "bad shape: concatenate: input 2 has extents [2, 5] and the result [4, 6], needs equal ones on all axes "
            "but axis 0");
  EXPECT_EQ(concatenate<0>(ex, x, view_on<E>(static_cast<const float*>(nullptr), 2, 6), to).code(), errc::null_pointer);
  EXPECT_EQ(concatenate<0>(ex, x, slice(x, 0, 2, 1), to).code(), errc::bad_shape);
  EXPECT_EQ(concatenate<0>(ex, x, x, broadcast<0>(view_on<E>(out.data(), 6), 4)).code(), errc::bad_stride);
  const auto long_nothing = view_on<E>(static_cast<float*>(nullptr), INT64_MAX, 0);  // two together pass 2^63
  EXPECT_EQ(concatenate<0>(ex, long_nothing, long_nothing, long_nothing).code(), errc::bad_shape);
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(concatenate<1>(ex, x, slice(view_on<E>(out.data(), 2, 12), 1, 0, 6)).ok()) << "of one input it is a copy";
}

}  // namespace
}  // namespace kiln::test
