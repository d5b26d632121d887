// CUDA's types beside Kiln's: layout, the same bits from both libraries' host conversions, and the device's
// instructions against Kiln's integer arithmetic on the host.
#if __has_include(<cuda_fp8.h>)

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <kiln/core/numeric.hpp>

// After Kiln's header, which names these types without defining them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "tests/core/numeric_reference.hpp"

namespace kiln::test {
namespace {

template <class Cuda>
constexpr bool same_layout = sizeof(Cuda) == sizeof(native_t<Cuda>) && alignof(Cuda) == alignof(native_t<Cuda>) &&
                             !std::is_same_v<Cuda, native_t<Cuda>>;
static_assert(same_layout<__half> && same_layout<__nv_bfloat16> && same_layout<__nv_fp8_e4m3> &&
              same_layout<__nv_fp8_e5m2>);

template <class Cuda>
unsigned code_of(Cuda x) {
  decltype(native_t<Cuda>::bits) code;
  static_assert(sizeof(code) == sizeof(x));
  std::memcpy(&code, &x, sizeof(x));
  return code;
}

template <class T>
struct cuda_of;
template <>
struct cuda_of<f16> {
  static unsigned from(float x) { return code_of(__float2half_rn(x)); }
  static unsigned from(double x) { return code_of(__double2half(x)); }
  static unsigned open(float x) { return from(x); }
  static float widen(f16 x) { return __half2float(bit_cast<__half>(x)); }
};
template <>
struct cuda_of<bf16> {
  static unsigned from(float x) { return code_of(__float2bfloat16_rn(x)); }
  static unsigned from(double x) { return code_of(__double2bfloat16(x)); }
  static unsigned open(float x) { return from(x); }
  static float widen(bf16 x) { return __bfloat162float(bit_cast<__nv_bfloat16>(x)); }
};
template <class Cuda, __nv_fp8_interpretation_t Kind>
struct cuda_fp8 {
  static unsigned from(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, Kind); }
  static unsigned from(double x) { return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, Kind); }
  static unsigned open(float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, Kind); }
  static float widen(native_t<Cuda> x) { return static_cast<float>(bit_cast<Cuda>(x)); }
};
template <>
struct cuda_of<e4m3> : cuda_fp8<__nv_fp8_e4m3, __NV_E4M3> {};
template <>
struct cuda_of<e5m2> : cuda_fp8<__nv_fp8_e5m2, __NV_E5M2> {};

template <class T>
unsigned open_code(float x) {
  if constexpr (sizeof(T) == 1)
    return convert<T, overflow::to_nan>(x).bits;
  else
    return T(x).bits;
}

template <class T>
std::vector<float> interesting_floats() {
  auto all = reference<T>().hard_floats();
  for (float x : special_floats()) all.push_back(x);
  for (float x : random_floats(100'000)) all.push_back(x);
  return all;
}

struct type_names {
  template <class T>
  static std::string GetName(int) {
    return name_of<T>();
  }
};
using narrow_types = ::testing::Types<f16, bf16, e4m3, e5m2>;

template <class T>
class numeric_beside_cuda : public ::testing::Test {};
TYPED_TEST_SUITE(numeric_beside_cuda, narrow_types, type_names);

// CUDA's fp8 functions keep a NaN's sign and payload on the host and not on the device, so NaN is compared as NaN.
TYPED_TEST(numeric_beside_cuda, same_bits_from_both_hosts) {
  using T = TypeParam;
  using cuda = cuda_of<T>;
  for (float x : interesting_floats<T>()) {
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(cuda::widen(T(x))));
      ASSERT_TRUE(std::isnan(static_cast<float>(T::from_bits(static_cast<decltype(T::bits)>(cuda::from(x))))));
      continue;
    }
    ASSERT_EQ(T(x).bits, cuda::from(x)) << x;
    ASSERT_EQ(open_code<T>(x), cuda::open(x)) << x;
  }
  for (double x : reference<T>().hard_doubles()) ASSERT_EQ(T(x).bits, cuda::from(x)) << x;
  for (unsigned c = 0; c < 1u << (8 * sizeof(T)); ++c) {
    const T x = T::from_bits(static_cast<decltype(T::bits)>(c));
    const float kilns = x, cudas = cuda::widen(x);
    ASSERT_TRUE(kilns == cudas || (std::isnan(kilns) && std::isnan(cudas))) << c;
    ASSERT_EQ(std::isnan(kilns) || std::signbit(kilns) == std::signbit(cudas), true) << c;
  }
}

#if defined(__CUDACC__)

/// Everything that one float, its predecessor in the list, a double and a code can become.
struct outcome {
  std::uint32_t pair, widened_pair_lo, widened_pair_hi, widened, as_f16, as_f16_by_integers;
  std::int32_t s32, from_double_s32;
  std::uint16_t from_float, from_double, from_int, open, of_widened_s8_u8, constant;
};

template <class T>
KILN_FN outcome all_of(float x, float before, double d, std::uint32_t index_t) {
  using code = decltype(T::bits);
  outcome r{};
  const T narrow(x);
  r.from_float = narrow.bits;
  r.pair = pack2<T>(before, x);
  const two_floats both = unpack2<T>(static_cast<packed2_t<T>>(index_t * 0x9e3779b9u));
  r.widened_pair_lo = bit_cast<std::uint32_t>(both.lo);
  r.widened_pair_hi = bit_cast<std::uint32_t>(both.hi);
  r.widened = bit_cast<std::uint32_t>(convert<float>(T::from_bits(static_cast<code>(index_t))));
  if constexpr (sizeof(T) == 1) {
    const auto codes = static_cast<std::uint16_t>(index_t);
    const std::uint32_t f16s = widen2<T>(codes), finite = 0x7c00;  // NaNs differ in their payload
    if ((f16s & finite) != finite && (f16s >> 16 & finite) != finite) r.as_f16 = f16s;
    if constexpr (std::is_same_v<T, e4m3>) r.as_f16_by_integers = kiln::detail::f16x2_of_e4m3x2(codes);
  }
  r.s32 = convert<std::int32_t>(x);
  r.from_double_s32 = convert<std::int32_t>(d);
  r.from_double = T(d).bits;
  r.from_int = T(bit_cast<std::int32_t>(x)).bits;
  if constexpr (sizeof(T) == 1) r.open = convert<T, overflow::to_nan>(x).bits;
  const auto s8 = static_cast<std::uint8_t>(convert<std::int8_t>(x));
  r.of_widened_s8_u8 = static_cast<std::uint16_t>(s8 | convert<std::uint8_t>(x) << 8);
  constexpr T fixed(0.1);
  r.constant = fixed.bits;
  return r;
}

template <class T>
__global__ void all_of_kernel(const float* x, const double* d, outcome* out, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = all_of<T>(x[i], x[i == 0 ? 0 : i - 1], d[i], i);
}

template <class T>
class numeric_on_device : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (auto e = cudaGetDeviceCount(&devices); e != cudaSuccess) {
      (void)cudaGetLastError();
      GTEST_SKIP() << "no GPU: " << cudaGetErrorString(e);
    }
  }
};
TYPED_TEST_SUITE(numeric_on_device, narrow_types, type_names);

template <class V>
V* to_device(const std::vector<V>& from) {
  V* to = nullptr;
  EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&to), from.size() * sizeof(V)), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(to, from.data(), from.size() * sizeof(V), cudaMemcpyHostToDevice), cudaSuccess);
  return to;
}

TYPED_TEST(numeric_on_device, same_bits_as_the_host) {
  using T = TypeParam;
  auto x = interesting_floats<T>();
  for (int i = -1200; i <= 1200; ++i) x.push_back(static_cast<float>(i) / 4);
  for (float f : {0x1p31f, -0x1p31f, 0x1.fffffep30f, 16777217.0f, 0.49999997f, 0.50000006f}) x.push_back(f);
  const auto doubles = reference<T>().hard_doubles();
  std::vector<double> d;
  for (std::size_t i = 0; i < x.size(); ++i) {
    d.push_back(i < doubles.size() ? doubles[i] : static_cast<double>(x[i]) * (1 + 0x1p-40));
  }
  const auto count = static_cast<std::uint32_t>(x.size());
  ASSERT_GT(count, 0x10000u) << "indices reach every 16-bit code";

  float* device_x = to_device(x);
  double* device_d = to_device(d);
  std::vector<outcome> out(count);
  std::memset(out.data(), 0xa5, count * sizeof(outcome));
  outcome* device_out = to_device(out);
  all_of_kernel<T><<<(count + 255) / 256, 256>>>(device_x, device_d, device_out, count);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(out.data(), device_out, count * sizeof(outcome), cudaMemcpyDeviceToHost), cudaSuccess);
  cudaFree(device_x), cudaFree(device_d), cudaFree(device_out);

  for (std::uint32_t i = 0; i < count; ++i) {
    const outcome host = all_of<T>(x[i], x[i == 0 ? 0 : i - 1], d[i], i);
    const auto where = [&] {
      return "float bits " + std::to_string(bit_cast<std::uint32_t>(x[i])) + ", double " + std::to_string(d[i]) +
             ", index_t " + std::to_string(i);
    };
    ASSERT_EQ(out[i].from_float, host.from_float) << where();
    ASSERT_EQ(out[i].pair, host.pair) << where();
    ASSERT_EQ(out[i].widened_pair_lo, host.widened_pair_lo) << where();
    ASSERT_EQ(out[i].widened_pair_hi, host.widened_pair_hi) << where();
    ASSERT_EQ(out[i].widened, host.widened) << where();
    ASSERT_EQ(out[i].as_f16, host.as_f16) << where();
    ASSERT_EQ(out[i].as_f16_by_integers, host.as_f16_by_integers) << where();
    ASSERT_EQ(out[i].s32, host.s32) << where();
    ASSERT_EQ(out[i].from_double_s32, host.from_double_s32) << where();
    ASSERT_EQ(out[i].from_double, host.from_double) << where();
    ASSERT_EQ(out[i].from_int, host.from_int) << where();
    ASSERT_EQ(out[i].open, host.open) << where();
    ASSERT_EQ(out[i].of_widened_s8_u8, host.of_widened_s8_u8) << where();
    ASSERT_EQ(out[i].constant, host.constant) << where();
  }
}

/// All ranges that device code asks for, in one place each.
template <class T>
__global__ void limits_kernel(float* out) {
  out[0] = convert<float>((limits<T>::max)());
  out[1] = convert<float>(limits<T>::lowest());
  out[2] = convert<float>(limits<T>::epsilon());
  out[3] = limits<T>::has_infinity ? 1.0f : 0.0f;
  out[4] = convert<float>(limits<T>::quiet_nan());
}

TYPED_TEST(numeric_on_device, limits_are_those_of_the_host) {
  using lim = limits<TypeParam>;
  std::vector<float> out(5, -1.0f);
  float* device_out = to_device(out);
  limits_kernel<TypeParam><<<1, 1>>>(device_out);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(out.data(), device_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
  cudaFree(device_out);
  EXPECT_EQ(out[0], convert<float>((lim::max)()));
  EXPECT_EQ(out[1], convert<float>(lim::lowest()));
  EXPECT_EQ(out[2], convert<float>(lim::epsilon()));
  EXPECT_EQ(out[3], lim::has_infinity ? 1.0f : 0.0f);
  EXPECT_TRUE(std::isnan(out[4]));
}

#endif  // __CUDACC__

}  // namespace
}  // namespace kiln::test

#endif
