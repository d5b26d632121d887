// The type of an expression's value, given the accumulator's.
#include <gtest/gtest.h>

#include <type_traits>

#include <kiln/epilogue/sinks.hpp>

namespace kiln::test {
namespace {

template <class A, class E>
using value = typename E::template value<A>;

struct to_float {
  float operator()(float x) const { return x; }
};
struct to_int {
  std::int32_t operator()(float) const { return 1; }
};

template <class A, class Expected, class E>
constexpr bool gives(const E&) {
  return std::is_same_v<value<A, E>, Expected>;
}
template <class T>
tensor<const T, 2> matrix_of() {
  return {};
}
template <class T>
tensor<const T, 1> vector_of() {
  return {};
}
using i32 = std::int32_t;

TEST(epilogue_types, integers_with_integers_stay_integers) {
  EXPECT_TRUE((gives<i32, i32>(acc)));
  EXPECT_TRUE((gives<i32, i32>(acc * 2 + 1 - true)));
  EXPECT_TRUE((gives<i32, i32>(-acc)));
  EXPECT_TRUE((gives<i32, i32>(min(acc, 3))));
  EXPECT_TRUE((gives<i32, i32>(clamp(acc, 0, 6))));
  EXPECT_TRUE((gives<i32, i32>(relu(acc))));
  EXPECT_TRUE((gives<i32, i32>(acc + elem(matrix_of<std::int8_t>()))));
  EXPECT_TRUE((gives<i32, i32>(acc + per_column(vector_of<std::uint8_t>()))));
  EXPECT_TRUE((gives<i32, i32>(axpby(2, acc, 3, matrix_of<i32>()))));
  EXPECT_TRUE((gives<i32, i32>(acc_<0> - acc_<1>)));
}

TEST(epilogue_types, anything_with_a_float_is_a_float) {
  EXPECT_TRUE((gives<i32, float>(acc * 0.5f)));
  EXPECT_TRUE((gives<i32, float>(acc * 0.5)));
  EXPECT_TRUE((gives<i32, float>(acc * f16(0.5f))));
  EXPECT_TRUE((gives<i32, float>(acc / 2)));
  EXPECT_TRUE((gives<i32, float>(as_float(acc))));
  EXPECT_TRUE((gives<i32, float>(acc + per_row(vector_of<f16>()))));
  EXPECT_TRUE((gives<i32, float>(acc + per_row(vector_of<e4m3>()))));
  EXPECT_TRUE((gives<i32, float>(axpby(2, acc, 0.5f, matrix_of<i32>()))));
  EXPECT_TRUE((gives<i32, float>(axpby(2, acc, 3, matrix_of<bf16>()))));
  EXPECT_TRUE((gives<float, float>(acc * 2)));
  EXPECT_TRUE((gives<float, float>(relu(acc))));
  EXPECT_TRUE((gives<float, float>(gelu(acc))));
}

TEST(epilogue_types, rounding_and_functors_say_their_own) {
  EXPECT_TRUE((gives<float, i32>(round_to<i32>(acc))));
  EXPECT_TRUE((gives<float, i32>(round_to<i32>(acc * 2) + 1)));
  EXPECT_TRUE((gives<i32, float>(kiln::map(to_float{}, acc))));
  EXPECT_TRUE((gives<float, i32>(kiln::map(to_int{}, acc))));
}

TEST(epilogue_types, products_used) {
  EXPECT_EQ(decltype(acc + 1)::products, 1);
  EXPECT_EQ(decltype(silu(acc_<0>) * acc_<1>)::products, 2);
  EXPECT_EQ(decltype(elem(matrix_of<float>()))::products, 0);
}

TEST(epilogue_types, where_it_runs) {
  using host_expression = decltype(acc + elem(matrix_of<float>()));
  EXPECT_TRUE(host_expression::runs_in<host_space>());
  EXPECT_FALSE(host_expression::runs_in<device_space>());
  using neutral = decltype(gelu(acc * 2));
  EXPECT_TRUE(neutral::runs_in<host_space>() && neutral::runs_in<device_space>());
}

// Expressions are parameters of kernels.
TEST(epilogue_types, expressions_are_trivially_copyable) {
  const auto e = axpby(2, gelu(acc + per_column(vector_of<float>())), 0.5f, matrix_of<f16>()) + elem(matrix_of<f16>());
  EXPECT_TRUE(std::is_trivially_copyable_v<decltype(e)>);
  EXPECT_TRUE(std::is_trivially_copyable_v<decltype(store(tensor<f16, 2>{}, e))>);
}

// Whoever opens both namespaces finds these functions, not std's.
namespace opened {
using namespace std;
using namespace kiln;
TEST(epilogue_types, names_beside_std) {
  EXPECT_TRUE((gives<float, float>(min(acc, acc))));
  EXPECT_TRUE((gives<float, float>(max(acc, acc))));
  EXPECT_TRUE((gives<float, float>(min(acc, 1) + max(1, acc))));
  EXPECT_TRUE((gives<float, float>(clamp(acc, acc, acc))));
  EXPECT_TRUE((gives<float, float>(clamp(acc, 0, 1))));
  EXPECT_TRUE((gives<float, float>(tanh(acc))));
}
}  // namespace opened

}  // namespace
}  // namespace kiln::test
