// The guards and fills that other tests lean on do their own work.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

template <class T, class Space>
void poke(const T* at, T value) {
  memory<Space>::upload(const_cast<T*>(at), &value, sizeof(T));
}
template <class T, class Space>
T peek(const T* at) {
  T value;
  memory<Space>::download(&value, at, sizeof(T));
  return value;
}

KILN_ON_EXECUTORS(guarded_buffers);

TYPED_TEST(guarded_buffers, keep_the_values_they_were_given) {
  const auto values = uniform<float>(37, 1);
  EXPECT_EQ(this->input(values).values(), values);
  EXPECT_EQ(this->input(values, 3).values(), values);
}

TYPED_TEST(guarded_buffers, outputs_start_as_nan_or_0x55) {
  for (float x : this->template output<float>(5).values()) EXPECT_TRUE(std::isnan(x));
  for (auto x : this->template output<std::uint32_t>(5, prefill::x55).values()) EXPECT_EQ(x, 0x55555555u);
}

TYPED_TEST(guarded_buffers, misalignment_is_counted_in_elements) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this->template output<float>(4).data()) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this->template output<float>(4, prefill::nan, 3).data()) % 256, 12u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this->template output<std::int8_t>(4, prefill::nan, 1).data()) % 256, 1u);
}

// These leave the buffer on purpose, so they look at buffers of their own and keep away from address sanitizer.
#if !defined(__SANITIZE_ADDRESS__)
TYPED_TEST(guarded_buffers, around_an_input_is_nan) {
  using space = typename TypeParam::space;
  guarded_input<float, space> a(std::vector<float>(7, 1.0f), 1);
  const float before = peek<float, space>(a.data() - 1);
  const float after = peek<float, space>(a.data() + 7);
  EXPECT_TRUE(std::isnan(before));
  EXPECT_TRUE(std::isnan(after));
}

TYPED_TEST(guarded_buffers, a_write_outside_is_seen) {
  using space = typename TypeParam::space;
  for (std::ptrdiff_t at : {-1024, -1, 7, 1030}) {
    guarded_output<float, space> d(7);
    EXPECT_TRUE(d.intact());
    poke<float, space>(d.data() + at, 0.0f);
    EXPECT_FALSE(d.intact()) << at;
  }
}
#else
TYPED_TEST(guarded_buffers, address_sanitizer_reports_the_access_itself) {
  using space = typename TypeParam::space;
  auto& a = this->input(std::vector<float>(7, 1.0f), 1);
  auto& d = this->template output<std::int8_t>(7);
  // Before the elements it sees whole units of 8 bytes only.
  EXPECT_DEATH((peek<float, space>(a.data() - 2)), "use-after-poison");
  EXPECT_DEATH((peek<float, space>(a.data() + 7)), "use-after-poison");
  EXPECT_DEATH((poke<std::int8_t, space>(d.data() + 7, std::int8_t{1})), "use-after-poison");
}
#endif

TYPED_TEST(guarded_buffers, a_write_into_an_input_is_seen) {
  using space = typename TypeParam::space;
  guarded_input<float, space> a(uniform<float>(7, 2));
  EXPECT_TRUE(a.intact());
  poke<float, space>(a.data() + 3, 5.0f);
  EXPECT_FALSE(a.intact());
}

TYPED_TEST(guarded_buffers, a_write_into_a_gap_is_seen) {
  using space = typename TypeParam::space;
  guarded_output<float, space> d(20);
  EXPECT_TRUE(d.untouched());
  poke<float, space>(d.data() + 12, 5.0f);
  EXPECT_TRUE(d.intact());
  EXPECT_FALSE(d.untouched());
  EXPECT_TRUE(d.wrote_only([](std::size_t i) { return i % 10 < 3; }));
  EXPECT_FALSE(d.wrote_only([](std::size_t i) { return i % 10 < 2; }));
}

TYPED_TEST(guarded_buffers, of_no_elements_still_guard) {
  auto& d = this->template output<float>(0);
  EXPECT_TRUE(d.values().empty());
  EXPECT_TRUE(d.intact());
}

TEST(Fill, SmallIntegersStayInRangeAndReachItsEnds) {
  const auto v = small_integers<float>(1000, 3, -2, 2);
  EXPECT_EQ(std::set<float>(v.begin(), v.end()), (std::set<float>{-2, -1, 0, 1, 2}));
}

TEST(Fill, SeedsAndPlacesGiveDifferentValues) {
  const auto a = uniform<double>(4096, 1);
  const auto b = uniform<double>(4096, 2);
  std::set<double> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  EXPECT_EQ(all.size(), 8192u);
  EXPECT_EQ(a, uniform<double>(4096, 1));
  for (double x : a) EXPECT_TRUE(-1 <= x && x < 1);
}

TEST(Fill, NarrowTypesAreRounded) {
  for (f16 x : uniform<f16>(100, 4)) EXPECT_LE(std::abs(as_double(x)), 1.0);
  EXPECT_EQ(as_double(small_integers<bf16>(9, 5)), as_double(small_integers<float>(9, 5)));
  const auto bytes = uniform<std::int8_t>(4096, 6);
  EXPECT_EQ(std::set<std::int8_t>(bytes.begin(), bytes.end()).size(), 256u);
}

}  // namespace
}  // namespace kiln::test
