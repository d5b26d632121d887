// Wrong arguments of row kernels: a sentence with the operand, the value seen and the value needed; nothing written.
#include <array>
#include <kiln/norm.hpp>
#include <kiln/softmax.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(row_arguments);

TYPED_TEST(row_arguments, shapes_and_nulls_are_named) {
  auto& out = this->template output<float>(24);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(24, 1)).data(), 4, 6);
  const auto w = view_on<TypeParam>(this->input(uniform<float>(6, 2)).data(), 6);
  const auto y = view_on<TypeParam>(out.data(), 4, 6);
  EXPECT_EQ(softmax(this->executor(), x, view_on<TypeParam>(out.data(), 4, 5)).message(),
            "bad shape: operand `out`: axis 1 has extent 5, needs 6 as in `x`");
  EXPECT_EQ(rms_norm(this->executor(), x, view_on<TypeParam>(w.data, 5), y, 1e-5f).message(),
            "bad shape: operand `weight`: has 5 elements, needs 6 (the columns of `x`)");
  EXPECT_EQ(
      rms_norm(this->executor(), x, view_on<TypeParam>(static_cast<const float*>(nullptr), 6), y, 1e-5f).message(),
      "null pointer: operand `weight`: data is null, needs 6 elements");
  EXPECT_EQ(softmax(this->executor(), view_on<TypeParam>(x.data, -4, 6), y).message(),
            "bad shape: operand `x`: axis 0 has extent -4, needs at least 0");
  EXPECT_EQ(add_rms_norm(this->executor(), x, view_on<TypeParam>(x.data, 3, 6), w, y, y, 1e-5f).message(),
            "bad shape: operand `residual`: axis 0 has extent 3, needs 4 as in `x`");
  EXPECT_EQ(layer_norm(this->executor(), x, w, view_on<TypeParam>(w.data, 2), y, 1e-5f).message(),
            "bad shape: operand `bias`: has 2 elements, needs 6 (the columns of `x`)");
  EXPECT_TRUE(out.untouched());
}

TYPED_TEST(row_arguments, options_are_named) {
  auto& out = this->template output<float>(6);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(6, 3)).data(), 1, 6);
  const auto y = view_on<TypeParam>(out.data(), 1, 6);
  const auto w = view_on<TypeParam>(x.data, 6);
  for (float bad : {-1e-5f, NAN, INFINITY}) {
    const status s = rms_norm(this->executor(), x, w, y, bad);
    EXPECT_EQ(s.code(), errc::bad_option);
    EXPECT_NE(s.message().find("`epsilon`: saw " + std::to_string(bad)), std::string::npos) << s.message();
  }
  EXPECT_EQ(softmax(this->executor(), x, y, {.scale = NAN}).code(), errc::bad_option);
  EXPECT_TRUE(out.untouched());
}

TYPED_TEST(row_arguments, outputs_that_share_memory_are_refused) {
  guarded_output<float, typename TypeParam::space> buffer(uniform<float>(100, 4));
  float* p = buffer.data();
  const auto x = view_on<TypeParam>(p, 4, 6);
  const auto w = view_on<TypeParam>(p + 60, 6);
  const auto apart = view_on<TypeParam>(p + 30, 4, 6);
  const auto refused = [](const status& s, const char* what) {
    EXPECT_EQ(s.code(), errc::overlap) << s.message();
    EXPECT_NE(s.message().find(what), std::string::npos) << s.message();
  };
  refused(softmax(this->executor(), x, view_on<TypeParam>(p + 6, 4, 6)), "`out`: shares memory with `x`");
  refused(softmax(this->executor(), x, view_on<TypeParam>(p + 23, 4, 6)), "`out`: shares memory with `x`");
  refused(rms_norm(this->executor(), x, w, view_on<TypeParam>(p + 50, 4, 6), 0.1f),
          "`out`: shares memory with `weight`");
  refused(add_rms_norm(this->executor(), x, x, w, apart, apart, 0.1f), "`out`: shares memory with `sum`");
  refused(add_rms_norm(this->executor(), x, apart, w, view_on<TypeParam>(p + 36, 4, 6), x, 0.1f),
          "`sum`: shares memory with `residual`");
  EXPECT_TRUE(buffer.untouched());
  // Columns that interleave in one buffer are apart.
  EXPECT_TRUE(
      softmax(this->executor(), pitched_on<TypeParam>(p, 4, 6, 20), pitched_on<TypeParam>(p + 6, 4, 6, 20)).ok());
}

TYPED_TEST(row_arguments, outputs_need_a_place_for_each_element) {
  auto& out = this->template output<float>(24);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(24, 5)).data(), 4, 6);
  const index_t extents[] = {4, 6};
  for (const auto& strides : {std::array<index_t, 2>{0, 1}, {6, 0}, {5, 1}}) {
    const index_t s[] = {strides[0], strides[1]};
    const status done = softmax(this->executor(), x, strided_on<TypeParam>(out.data(), extents, s));
    EXPECT_EQ(done.code(), errc::bad_stride) << done.message();
    EXPECT_NE(done.message().find("operand `out`"), std::string::npos) << done.message();
  }
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace kiln::test
