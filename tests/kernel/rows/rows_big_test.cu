// Rows beyond 2^31: many of them and long ones. The host's twins do the arithmetic of coordinates without the memory;
// the device's tests need up to 5 GB of it.
#include <kiln/norm.hpp>
#include <kiln/softmax.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

// ROW-08, ROW-10 and ROW-22: offsets just below and above 2^31 and 2^32.
TEST(row_offsets, are_64_bit) {
  const bf16 first{};  // arithmetic alone: nothing is read
  const bf16* none = &first;
  const auto tall = rows::input_of(host_view(none, 524290, 4096));
  EXPECT_EQ(tall.offset(524287), 2147479552);
  EXPECT_EQ(tall.offset(524288), 2147483648);
  EXPECT_EQ(tall.offset(524289), 2147487744);
  const auto pairs = rows::input_of(host_view(none, 2200000000, 2));
  EXPECT_EQ(pairs.offset(1073741823), 2147483646);
  EXPECT_EQ(pairs.offset(1073741824), 2147483648);
  EXPECT_EQ(pairs.offset(2147483648), 4294967296);
  EXPECT_EQ(pairs.offset(2199999999), 4399999998);
  // Axes that do not join: [3, 5e9, 7, 2] with gaps.
  const index_t extents[] = {3, 5000000000, 7, 2}, strides[] = {200000000000, 30, 3, 1};
  const auto gaps = rows::input_of(host_view(none, extents, strides));
  EXPECT_EQ(gaps.offset((2 * 5000000000 + 4999999999) * 7 + 6), 2 * 200000000000 + 4999999999 * 30 + 6 * 3);
  EXPECT_EQ(gaps.offset(4294967297 * 7 + 5), 4294967297 * 30 + 5 * 3);
  // One number for each row, any step between neighbours of a row.
  const std::int32_t first_id = 0, *ids = &first_id;
  EXPECT_EQ(rows::each_row(host_view(ids, 2200000000)).offset(2199999999), 2199999999);
  const auto down = rows::input_of(host_view(none, {4, 1000000}, {1, 70000}));
  EXPECT_EQ(&down.at(3)[999999] - none, 999999 * index_t{70000} + 3);
}

/// A row without memory: its values are made where they are asked for, and outside of it they are NaN.
struct imagined_row {
  using held = float;
  struct lines {};
  index_t length;

  template <int Width>
  KILN_FN void load(const lines&, index_t c, int n, rows::chunk<float, Width>& to) const {
    for (int i = 0; i < Width; ++i) {
      const bool inside = i < n && c >= 0 && c + i < length;
      to[i] = inside ? static_cast<float>(length - (c + i)) : NAN;
    }
  }
  KILN_FN static float value(float v) { return v; }
};

struct sum_of_values {
  KILN_FN float operator()(float a, float v, index_t) const { return a + v; }
};
struct last_column {
  KILN_FN index_t operator()(index_t a, float, index_t c) const { return max_of(a, c); }
  KILN_FN index_t operator()(index_t a, index_t b) const { return max_of(a, b); }
};

// ROW-09: a row of 2^31 - 1 and 2^31 + 2 elements; what is summed lies at its end. The parts that are skipped cost
// nothing.
TEST(row_lengths, are_64_bit) {
  for (const index_t n : {(index_t{1} << 31) - 1, (index_t{1} << 31) + 2, (index_t{1} << 32) + 5}) {
    const imagined_row program{n};
    const auto check = [&]<int Threads, int Width>(std::integral_constant<int, Threads>,
                                                   std::integral_constant<int, Width>) {
      reduce_storage<on_host, Threads> storage;
      int turn = 0;
      rows::row_of<imagined_row, on_host, Threads, Width, 0> one(program, {}, n, scope<on_host, Threads>{}, storage,
                                                                 turn);
      const auto sum = [&](index_t begin, index_t end) {
        return one.reduce_within(begin, end, 0.0f, sum_of_values{}, rows::sum_of{});
      };
      EXPECT_EQ(sum(n - 100, n), 5050);
      EXPECT_EQ(sum(n - 100, n - 1), 5049);
      EXPECT_EQ(sum(n - 1, n), 1);
      EXPECT_EQ(sum(n - 1, n + 50), 1);
      EXPECT_EQ(sum(n, n), 0);
      const index_t last = one.reduce_within(n - 9, n, index_t{0}, last_column{}, last_column{});
      EXPECT_EQ(last, n - 1);
    };
    check(std::integral_constant<int, 4>{}, std::integral_constant<int, 8>{});
    check(std::integral_constant<int, 16>{}, std::integral_constant<int, 1>{});
  }
}

#if defined(__CUDACC__)

/// Device memory of `count` elements, all of them `value`; data is null where there is not enough.
template <class T>
class large_buffer {
 public:
  large_buffer(index_t count, T value) : count_(count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (cudaMalloc(&data_, bytes) != cudaSuccess) {
      (void)cudaGetLastError();
      data_ = nullptr;
      return;
    }
    const std::vector<T> part(std::size_t{1} << 22, value);
    for (index_t i = 0; i < count; i += index_t{1} << 22) put(i, part.data(), min_of(count - i, index_t{1} << 22));
  }
  large_buffer(const large_buffer&) = delete;
  large_buffer& operator=(const large_buffer&) = delete;
  ~large_buffer() { (void)cudaFree(data_); }

  T* data() const { return data_; }
  std::string missing() const {
    return data_ != nullptr ? "" : "needs " + std::to_string(count_ * static_cast<index_t>(sizeof(T)) >> 20) + " MiB";
  }
  void put(index_t at, const T* values, index_t n) {
    memory<device_space>::upload(data_ + at, values, static_cast<std::size_t>(n) * sizeof(T));
  }
  std::vector<double> read(index_t at, index_t n) const {
    std::vector<T> part(static_cast<std::size_t>(n));
    memory<device_space>::download(part.data(), data_ + at, part.size() * sizeof(T));
    return as_double(part);
  }

 private:
  index_t count_;
  T* data_ = nullptr;
};

class big_rows : public on_executor<device> {};

// ROW-08
TEST_F(big_rows, softmax_of_more_than_two_to_the_31_elements) {
  const index_t count = 1100000000;
  large_buffer<f16> x(2 * count, f16(0.0f));
  if (const auto why = x.missing(); !why.empty()) GTEST_SKIP() << why;
  const auto view = device_view(x.data(), count, 2);
  ASSERT_TRUE(softmax(executor(), view, view).ok());
  for (index_t from : {index_t{0}, (index_t{1} << 30) - 2, index_t{1} << 30, count - 4})
    for (double v : x.read(2 * from, 8)) EXPECT_EQ(v, 0.5) << from;
}

// ROW-09
TEST_F(big_rows, softmax_of_a_row_around_two_to_the_31) {
  for (index_t n : {(index_t{1} << 31) - 1, (index_t{1} << 31) + 2}) {
    large_buffer<f16> x(n, f16(0.0f));
    if (const auto why = x.missing(); !why.empty()) GTEST_SKIP() << why;
    const f16 last(20.0f);
    x.put(n - 1, &last, 1);
    const auto view = device_view(x.data(), 1, n);
    ASSERT_TRUE(softmax(executor(), view, view).ok());
    const double top = std::exp(20.0), expected = top / (top + static_cast<double>(n - 1));
    // Each of 4096 accumulators adds 4096 of its part of the row in turn, and then the sums of these.
    const double bound = expected * unit * (4096 + static_cast<double>(n) / 4096 / 4096 + 100) + 0x1p-12;
    EXPECT_NEAR(x.read(n - 1, 1)[0], expected, bound);
    for (double v : x.read(0, 4)) EXPECT_NEAR(v, 0, 0x1p-24);
    for (double v : x.read(n - 5, 4)) EXPECT_NEAR(v, 0, 0x1p-24);
  }
}

// ROW-10
TEST_F(big_rows, more_than_two_to_the_31_single_columns) {
  const index_t count = 2200000000;
  large_buffer<f16> x(count, f16(0.25f));
  if (const auto why = x.missing(); !why.empty()) GTEST_SKIP() << why;
  const auto view = device_view(x.data(), count, 1);
  const auto all_are = [&](double expected) {
    for (index_t from : {index_t{0}, (index_t{1} << 31) - 2, count - 4})
      for (double v : x.read(from, 4)) EXPECT_EQ(v, expected) << from;
  };
  ASSERT_TRUE(softmax(executor(), view, view).ok());
  all_are(1);
  const auto weight = device_view(input(std::vector<float>{2}).data(), 1);
  const auto bias = device_view(input(std::vector<float>{3}).data(), 1);
  // The kernel that `layer_norm` takes here; the others need not be compiled once more.
  rows::layer_norm_program<f16, float, float, f16> program{rows::input_of(view), rows::shared_line(weight),
                                                           rows::shared_line(bias), rows::operand_of(view), 1e-5f};
  ASSERT_TRUE((rows::run_pinned<rows::few_threads_single, 1>(executor(), "layer_norm", program, count, 1).ok()));
  all_are(3);
}

// ROW-22
TEST_F(big_rows, rms_norm_past_two_to_the_31) {
  const index_t count = 524290, hidden = 4096;
  large_buffer<bf16> x(count * hidden, bf16(1.0f));
  if (const auto why = x.missing(); !why.empty()) GTEST_SKIP() << why;
  std::vector<bf16> odd(2 * 4096);
  for (std::size_t i = 0; i < odd.size(); ++i) odd[i] = bf16(static_cast<float>(i % 2));
  x.put((count - 2) * hidden, odd.data(), 2 * hidden);
  const auto weight = device_view(input(std::vector<bf16>(4096, bf16(1.0f))).data(), hidden);
  const auto view = device_view(x.data(), count, hidden);
  rows::rms_norm_program<bf16, bf16, bf16, rows::rounding::at_store> program{
      rows::input_of(view), rows::shared_line(weight), rows::operand_of(view), 1e-6f};
  ASSERT_TRUE((rows::run_pinned<rows::one_block, 8>(executor(), "rms_norm", program, count, hidden).ok()));
  const auto last = x.read((count - 2) * hidden, 2 * hidden);
  for (std::size_t i = 0; i < last.size(); ++i) ASSERT_EQ(last[i], i % 2 == 0 ? 0 : 1.4140625) << i;
  for (index_t from : {index_t{0}, count / 2, count - 3})
    for (double v : x.read(from * hidden, hidden)) ASSERT_EQ(v, 1) << from;
}

#endif

}  // namespace
}  // namespace kiln::test
