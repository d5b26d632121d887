// Calls of the norms as a caller meets them: any count of rows, nothing to do, wrong arguments, the trace.
#include <array>
#include <cstdio>
#include <kiln/core/trace.hpp>
#include <kiln/norm.hpp>

#include "tests/kernel/rows/norm_bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(norm_calls);

constexpr float epsilon = 1e-5f;

// ROW-07 and ROW-10
TYPED_TEST(norm_calls, many_short_rows_are_all_done) {
  for (index_t rows : {65535, 65536, 65537, 1000003}) {
    if (TypeParam::on_host && rows > 70000) continue;
    const auto n = static_cast<std::size_t>(rows * 4);
    const auto in = view_on<TypeParam>(
        this->input(values_of<float>(n, [](std::size_t i) { return static_cast<double>(i % 4); })).data(), rows, 4);
    const auto w = view_on<TypeParam>(this->input(std::vector<float>(4, 1.0f)).data(), 4);
    const auto b = view_on<TypeParam>(this->input(std::vector<float>(4, 3.0f)).data(), 4);
    auto &rms = this->template output<float>(n), &layer = this->template output<float>(n);
    ASSERT_TRUE(rms_norm(this->executor(), in, w, view_on<TypeParam>(rms.data(), rows, 4), 0.0f).ok());
    ASSERT_TRUE(layer_norm(this->executor(), in, w, b, view_on<TypeParam>(layer.data(), rows, 4), 0.0f).ok());
    const auto y = rms.values(), z = layer.values();
    for (std::size_t i = 0; i < n; ++i) {
      const double c = static_cast<double>(i % 4);
      ASSERT_NEAR(static_cast<double>(y[i]), c / std::sqrt(3.5), 1e-6) << i;
      ASSERT_NEAR(static_cast<double>(z[i]), (c - 1.5) / std::sqrt(1.25) + 3, 1e-6) << i;
    }
  }
  const auto in = view_on<TypeParam>(this->input(uniform<float>(70000, 14)).data(), 70000, 1);
  auto& out = this->template output<float>(70000);
  ASSERT_TRUE(layer_norm(this->executor(), in, view_on<TypeParam>(this->input(std::vector<float>{2}).data(), 1),
                         view_on<TypeParam>(this->input(std::vector<float>{3}).data(), 1),
                         view_on<TypeParam>(out.data(), 70000, 1), epsilon)
                  .ok());
  for (float v : out.values()) ASSERT_EQ(v, 3);
}

// ROW-23
TYPED_TEST(norm_calls, empty_shapes_succeed_and_the_next_call_works) {
  auto& out = this->template output<float>(8);
  const auto in = this->input(std::vector<float>(8, 2.0f)).data(),
             w = this->input(std::vector<float>(128, 1.0f)).data();
  for (auto [m, n] : {std::array<index_t, 2>{0, 128}, {4, 0}, {0, 0}}) {
    const auto x = view_on<TypeParam>(in, m, n);
    const auto y = view_on<TypeParam>(out.data(), m, n);
    const auto wv = view_on<TypeParam>(w, n);
    EXPECT_TRUE(rms_norm(this->executor(), x, wv, y, epsilon).ok());
    EXPECT_TRUE(layer_norm(this->executor(), x, wv, wv, y, epsilon).ok());
    EXPECT_TRUE(add_rms_norm(this->executor(), x, x, wv, y, view_on<TypeParam>(out.data() + 8, m, n), epsilon).ok());
  }
  EXPECT_TRUE(out.untouched());
  ASSERT_TRUE(rms_norm(this->executor(), view_on<TypeParam>(in, 1, 8), view_on<TypeParam>(w, 8),
                       view_on<TypeParam>(out.data(), 1, 8), 0.0f)
                  .ok());
  for (float v : out.values()) EXPECT_NEAR(static_cast<double>(v), 1, 4 * unit);
}

TYPED_TEST(norm_calls, shapes_nulls_and_options_are_named) {
  auto& out = this->template output<float>(24);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(24, 1)).data(), 4, 6);
  const auto w = view_on<TypeParam>(this->input(uniform<float>(6, 2)).data(), 6);
  const auto y = view_on<TypeParam>(out.data(), 4, 6);
  const auto null = view_on<TypeParam>(static_cast<const float*>(nullptr), 6);
  EXPECT_EQ(rms_norm(this->executor(), x, view_on<TypeParam>(w.data, 5), y, 1e-5f).message(),
            "bad shape: rms_norm: operand `weight`: has 5 elements, needs 6 (the columns of `x`)");
  EXPECT_EQ(rms_norm(this->executor(), x, null, y, 1e-5f).message(),
            "null pointer: rms_norm: operand `weight`: data is null, needs 6 elements");
  EXPECT_EQ(add_rms_norm(this->executor(), x, view_on<TypeParam>(x.data, 3, 6), w, y, y, 1e-5f).message(),
            "bad shape: add_rms_norm: operand `residual`: axis 0 has extent 3, needs 4 as in `x`");
  EXPECT_EQ(layer_norm(this->executor(), x, w, view_on<TypeParam>(w.data, 2), y, 1e-5f).message(),
            "bad shape: layer_norm: operand `bias`: has 2 elements, needs 6 (the columns of `x`)");
  for (const auto& [bad, seen] : {std::pair{-1e-5f, "-1e-05"}, {NAN, "nan"}, {INFINITY, "inf"}}) {
    const status s = rms_norm(this->executor(), x, w, y, bad);
    EXPECT_EQ(s.code(), errc::bad_option);
    EXPECT_NE(s.message().find(std::string("`epsilon`: saw ") + seen + ","), std::string::npos) << s.message();
  }
  EXPECT_TRUE(out.untouched());
}

TYPED_TEST(norm_calls, outputs_that_share_memory_are_refused) {
  guarded_output<float, typename TypeParam::space> buffer(uniform<float>(100, 4));
  float* p = buffer.data();
  const auto x = view_on<TypeParam>(p, 4, 6);
  const auto w = view_on<TypeParam>(p + 60, 6);
  const auto apart = view_on<TypeParam>(p + 30, 4, 6);
  const auto refused = [](const status& s, const char* what) {
    EXPECT_EQ(s.code(), errc::overlap) << s.message();
    EXPECT_NE(s.message().find(what), std::string::npos) << s.message();
  };
  refused(rms_norm(this->executor(), x, w, view_on<TypeParam>(p + 50, 4, 6), 0.1f),
          "`out`: shares memory with `weight`");
  refused(add_rms_norm(this->executor(), x, x, w, apart, apart, 0.1f), "`out`: shares memory with `sum`");
  refused(add_rms_norm(this->executor(), x, apart, w, view_on<TypeParam>(p + 36, 4, 6), x, 0.1f),
          "`sum`: shares memory with `residual`");
  EXPECT_TRUE(buffer.untouched());
}

TYPED_TEST(norm_calls, trace_sees_each_launch_that_ran) {
  std::vector<trace::launch_record> seen;
  const trace::sink sink{[](void* to, const trace::launch_record& r) {
                           static_cast<std::vector<trace::launch_record>*>(to)->push_back(r);
                         },
                         &seen};
  auto &sum = this->template output<float>(20), &out = this->template output<float>(20);
  const auto x = view_on<TypeParam>(this->input(uniform<float>(20, 1)).data(), 4, 5);
  const auto w = view_on<TypeParam>(this->input(uniform<float>(5, 2)).data(), 5);
  const auto s = view_on<TypeParam>(sum.data(), 4, 5), y = view_on<TypeParam>(out.data(), 4, 5);
  ASSERT_EQ(trace::set_sink(&sink), nullptr);
  const status good = add_rms_norm(this->executor(), x, x, w, s, y, 1e-5f);
  const status bad = add_rms_norm(this->executor(), x, x, w, y, y, 1e-5f);
  EXPECT_EQ(trace::set_sink(nullptr), &sink);
  const status unseen = rms_norm(this->executor(), x, w, y, 1e-5f);
  EXPECT_TRUE(good.ok() && unseen.ok() && !bad.ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_STREQ(seen[0].program, "add_rms_norm");
  EXPECT_STREQ(seen[0].fused, "residual add");
  EXPECT_EQ(seen[0].bytes, (4 * 20 + 5) * 4.0);
  EXPECT_EQ(seen[0].on_host, TypeParam::on_host);
  EXPECT_GE(seen[0].seconds, 0);
  EXPECT_LT(seen[0].seconds, 10);
}

}  // namespace
}  // namespace kiln::test
