// Reductions of records and of tensors: any shape, every element once, the same bits in every run.
#include <kiln/map_reduce.hpp>

#include <string>

#include "tests/kernel/elementwise/particles.hpp"

namespace {

using namespace kiln;
using kiln::test::mass;
using kiln::test::position;
using kiln::test::prefill;
using kiln::test::velocity;

struct kinetic {
  KILN_FN float operator()(auto p) const { return 0.5f * get<mass>(p) * dot(get<velocity>(p), get<velocity>(p)); }
};
struct add {
  template <class T>
  KILN_FN T operator()(T a, T b) const {
    return a + b;
  }
};
struct same {
  template <class T>
  KILN_FN T operator()(T x) const {
    return x;
  }
};
struct same_mass {
  KILN_FN float operator()(auto p) const { return get<mass>(p); }
};
struct count_one {
  KILN_FN std::int64_t operator()(float) const { return 1; }
};
/// Largest value and where it lies: an accumulator that is a struct.
struct extremum {
  float value;
  float at;
};
struct as_extremum {
  KILN_FN extremum operator()(auto p) const { return {get<mass>(p), get<position>(p)[0]}; }
};
struct greater {
  KILN_FN extremum operator()(extremum a, extremum b) const {
    return a.value > b.value || (a.value == b.value && a.at < b.at) ? a : b;
  }
};

template <class E>
class map_reductions : public kiln::test::particle_test<E> {};
TYPED_TEST_SUITE(map_reductions, kiln::test::executors, kiln::test::executor_names);

TYPED_TEST(map_reductions, reduction_of_records_and_of_tensors) {
  using E = TypeParam;
  for (const std::size_t n : {1u, 5u, 255u, 1024u, 1025u, 20000u}) {
    auto a = this->make(n, 15);
    const auto p = this->view(a, n);
    double energy = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double v2 = 0;
      for (std::size_t k = 3; k < 6; ++k) v2 += static_cast<double>(a.start[k][i]) * static_cast<double>(a.start[k][i]);
      energy += 0.5 * static_cast<double>(a.start[6][i]) * v2;
    }
    auto& sum = this->template output<float>(1);
    auto& scratch = this->template output<unsigned char>(reduce_workspace_size<float>(p) + 1);
    auto ex = this->executor();
    ex.scratch = {scratch.data(), scratch.size()};
    ASSERT_TRUE(reduce(ex, p, view_on<E>(sum.data(), 1), 3.0f, kinetic{}, add{}).ok());
    // Halves of small integers: every partial sum is a multiple of 1/2 below 2^23, so float addition is exact in any
    // order.
    ASSERT_EQ(static_cast<double>(sum.values()[0]), energy + 3) << n;
  }
}

TYPED_TEST(map_reductions, reduction_of_strided_tensors_counts_every_element_once) {
  using E = TypeParam;
  const auto xs = test::small_integers<bf16>(70 * 50, 16);
  const auto& x = this->input(xs);
  double all = 0, some = 0;
  for (std::size_t i = 0; i < 70; ++i)
    for (std::size_t j = 0; j < 50; ++j) {
      all += test::as_double(xs[i * 50 + j]);
      if (j >= 3 && i % 2 == 0) some += test::as_double(xs[i * 50 + j]);
    }
  auto& sum = this->template output<double>(1);
  auto& scratch = this->template output<double>(2000);
  auto ex = this->executor();
  ex.scratch = {scratch.data(), scratch.size() * sizeof(double)};
  const auto v = view_on<E>(x.data(), 70, 50);
  ASSERT_TRUE(reduce(ex, v, view_on<E>(sum.data(), 1), 0.0, same{}, add{}).ok());
  EXPECT_EQ(sum.values()[0], all);
  ASSERT_TRUE(
      reduce(ex, transposed(strided<0>(slice(v, 1, 3, 50), 2)), view_on<E>(sum.data(), 1), 0.0, same{}, add{}).ok());
  EXPECT_EQ(sum.values()[0], some);
  auto& count = this->template output<std::int64_t>(1);
  ASSERT_TRUE(reduce(ex, broadcast<0>(v, 3), view_on<E>(count.data(), 1), std::int64_t{0}, count_one{}, add{}).ok());
  EXPECT_EQ(count.values()[0], 3 * 70 * 50);
}

TYPED_TEST(map_reductions, an_accumulator_may_be_a_struct) {
  using E = TypeParam;
  const std::size_t n = 5000;
  auto a = this->make(n, 17);
  extremum expected{-1000, 0};
  for (std::size_t i = 0; i < n; ++i) expected = greater{}(expected, {a.start[6][i], a.start[0][i]});
  const auto p = this->view(a, n);
  auto& best = this->template output<extremum>(1, prefill::x55);
  auto& scratch = this->template output<unsigned char>(reduce_workspace_size<extremum>(p));
  auto ex = this->executor();
  ex.scratch = {scratch.data(), scratch.size()};
  ASSERT_TRUE(reduce(ex, p, view_on<E>(best.data(), 1), extremum{-1000, 0}, as_extremum{}, greater{}).ok());
  EXPECT_EQ(best.values()[0].value, expected.value);
  EXPECT_EQ(best.values()[0].at, expected.at);
}

TYPED_TEST(map_reductions, sums_have_the_same_bits_in_every_run_and_at_every_alignment) {
  using E = TypeParam;
  const std::size_t n = 100003;
  const auto xs = test::uniform<float>(n, 18);
  std::vector<float> sums;
  auto& scratch = this->template output<float>(2000);
  auto ex = this->executor();
  ex.scratch = {scratch.data(), scratch.size() * sizeof(float)};
  for (const std::size_t misalign : {0u, 0u, 1u, 3u}) {
    const auto& x = this->input(xs, misalign);
    auto& sum = this->template output<float>(1);
    ASSERT_TRUE(reduce(ex, view_on<E>(x.data(), n), view_on<E>(sum.data(), 1), 0.0f, same{}, add{}).ok());
    sums.push_back(sum.values()[0]);
  }
  for (const float s : sums) EXPECT_EQ(s, sums[0]);
}

TYPED_TEST(map_reductions, a_reduction_of_nothing_is_init) {
  using E = TypeParam;
  float* const none = nullptr;
  auto& sum = this->template output<float>(1);
  ASSERT_TRUE(reduce(this->executor(), view_on<E>(none, 0, 4), view_on<E>(sum.data(), 1), 5.0f, same{}, add{}).ok());
  EXPECT_EQ(sum.values()[0], 5.0f);
  ASSERT_TRUE(
      reduce(this->executor(), soa_on<E, mass>(none, 0), view_on<E>(sum.data(), 1), 6.0f, same_mass{}, add{}).ok());
  EXPECT_EQ(sum.values()[0], 6.0f);
}

TYPED_TEST(map_reductions, wrong_arguments_are_named_and_nothing_is_written) {
  using E = TypeParam;
  auto a = this->make(40, 19);
  const auto p = this->view(a, 40);
  const auto ex = this->executor();
  const auto expect = [&](const status& s, errc code, const char* text) {
    EXPECT_EQ(s.code(), code);
    EXPECT_NE(s.message().find(text), std::string::npos) << s.message();
  };
  auto& sum = this->template output<float>(2);
  auto b = this->make(5000, 20);
  const auto many = this->view(b, 5000);
  expect(reduce(ex, p, view_on<E>(sum.data(), 2), 0.0f, kinetic{}, add{}), errc::bad_shape,
         "the result has 2 elements, needs 1");
  if constexpr (!E::on_host) {
    expect(reduce(ex, many, view_on<E>(sum.data(), 1), 0.0f, kinetic{}, add{}), errc::workspace_too_small,
           ("has 0 bytes, needs " + std::to_string(reduce_workspace_size<float>(many))).c_str());
    expect(reduce(E{nullptr, {b.now[3]->data(), reduce_workspace_size<float>(many)}}, many, view_on<E>(sum.data(), 1),
                  0.0f, kinetic{}, add{}),
           errc::overlap, "the executor's workspace shares memory with the view");
  }
  expect(reduce(ex, p, view_on<E>(a.now[3]->data(), 1), 0.0f, kinetic{}, add{}), errc::overlap,
         "the result shares memory with the view");
  const auto one = view_on<E>(a.now[3]->data(), 1);
  const auto repeated = broadcast<0>(broadcast<0>(one, index_t{1} << 32), index_t{1} << 32);
  expect(reduce(ex, repeated, view_on<E>(sum.data(), 1), 0.0f, same{}, add{}), errc::bad_shape,
         "more elements than a 64-bit index counts");
  EXPECT_EQ(reduce_workspace_size<float>(repeated), 0u);
  EXPECT_TRUE(sum.untouched());
  EXPECT_EQ(a.now[3]->values(), a.start[3]);
}

}  // namespace
