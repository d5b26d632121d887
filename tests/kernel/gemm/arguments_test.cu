// Wrong arguments: each is a status that names the operand, what was seen and what is needed, before anything is
// launched; what looks odd and is not wrong gives the right result.
#include "tests/kernel/gemm/problem.hpp"

namespace kiln::test {
namespace {

/// Checks come before the choice of a kernel, so most calls here are of the one that compiles fastest.
using small = config<tile<32, 32, 32>, warp_tile<16, 16>, serial, instructions::simt>;

template <class E>
class gemm_arguments_of_calls : public on_executor<E> {
 protected:
  static constexpr index_t m = 40, n = 24, k = 32;

  void SetUp() override {
    on_executor<E>::SetUp();
    if (this->IsSkipped()) return;
    a_ = this->template input<f16>(uniform<f16>(m * k + 1, 1)).data();
    b_ = this->template input<f16>(uniform<f16>(k * n + 1, 2)).data();
    d_ = &this->template output<f16>(m * n);
  }
  auto a() const { return view_on<E>(a_, m, k); }
  auto b() const { return view_on<E>(b_, k, n); }
  auto d() const { return view_on<E>(d_->data(), m, n); }

  /// The status has this code and all these texts, and nothing was written.
  void expect_refused(const status& s, errc code, std::initializer_list<const char*> texts) {
    EXPECT_EQ(name_of(s.code()), name_of(code)) << s.message();
    for (const char* text : texts)
      EXPECT_NE(s.message().find(text), std::string::npos) << "`" << text << "` is not in: " << s.message();
    EXPECT_TRUE(d_->untouched());
  }
  /// The next call is as if nothing had been.
  void expect_next_call_right() {
    const status s = gemm(this->executor(), a(), b(), store(d(), acc));
    EXPECT_TRUE(s.ok()) << s.message();
    EXPECT_FALSE(d_->untouched());
  }

  const f16 *a_ = nullptr, *b_ = nullptr;
  guarded_output<f16, typename E::space>* d_ = nullptr;
};
TYPED_TEST_SUITE(gemm_arguments_of_calls, executors, executor_names);

TYPED_TEST(gemm_arguments_of_calls, null_operands) {
  using E = TypeParam;
  const auto null = view_on<E>(static_cast<const f16*>(nullptr), this->m, this->k);
  this->expect_refused(gemm<small>(this->executor(), null, this->b(), store(this->d(), acc)), errc::null_pointer,
                       {"`a`", "null", "40 x 32"});
  this->expect_refused(
      gemm<small>(this->executor(), this->a(), view_on<E>(static_cast<const f16*>(nullptr), this->k, this->n),
                  store(this->d(), acc)),
      errc::null_pointer, {"`b`", "null", "32 x 24"});
  this->expect_refused(gemm<small>(this->executor(), this->a(), this->b(),
                                   store(view_on<E>(static_cast<f16*>(nullptr), this->m, this->n), acc)),
                       errc::null_pointer, {"`store`", "null", "40 x 24"});
  this->expect_next_call_right();
}

TYPED_TEST(gemm_arguments_of_calls, shapes_that_do_not_fit) {
  using E = TypeParam;
  constexpr index_t most = INT64_MAX;
  this->expect_refused(gemm<small>(this->executor(), view_on<E>(this->a_, most, 32), this->b(),
                                   store(view_on<E>(this->d_->data(), most, 24), acc)),
                       errc::bad_shape, {"`a`", "9223372036854775807 x 32", "64-bit"});
  this->expect_refused(gemm<small>(this->executor(), pitched(this->a(), INT64_MIN), this->b(), store(this->d(), acc)),
                       errc::overlap, {"`a`"});  // what reaches so far cannot be told apart
  this->expect_refused(gemm<small>(this->executor(), this->a(), view_on<E>(this->b_, 31, 24), store(this->d(), acc)),
                       errc::bad_shape, {"`b`", "31 rows", "needs 32"});
  this->expect_refused(
      gemm<small>(this->executor(), this->a(), this->b(), store(view_on<E>(this->d_->data(), 40, 23), acc)),
      errc::bad_shape, {"`store`", "40 x 23", "40 x 24"});
  this->expect_refused(gemm<small>(this->executor(), view_on<E>(this->a_, 2, 20, 32), view_on<E>(this->b_, 3, 32, 8),
                                   store(view_on<E>(this->d_->data(), 2, 20, 8), acc)),
                       errc::bad_shape, {"`b`", "batch 3", "needs 2"});
  this->expect_refused(gemm<small>(this->executor(), view_on<E>(this->a_, 2, 20, 32), view_on<E>(this->b_, 3, 32, 8),
                                   store(view_on<E>(this->d_->data(), 3, 20, 8), acc)),
                       errc::bad_shape, {"`b`", "batch 3", "needs 2"});
  this->expect_refused(gemm<small>(this->executor(), slice(this->a(), 0, 5, 50), this->b(), store(this->d(), acc)),
                       errc::bad_shape, {"`a`", "-1", "-1 rows"});
  this->expect_next_call_right();
}

TYPED_TEST(gemm_arguments_of_calls, what_the_epilogue_reads) {
  using E = TypeParam;
  const auto bias = view_on<E>(this->a_, 23);
  this->expect_refused(gemm<small>(this->executor(), this->a(), this->b(), store(this->d(), acc + per_column(bias))),
                       errc::bad_shape, {"`per_column`", "23", "24"});
  const auto null = view_on<E>(static_cast<const f16*>(nullptr), this->m, this->n);
  this->expect_refused(
      gemm<small>(this->executor(), this->a(), this->b(), store(this->d(), axpby(1.0f, acc, 1.0f, null))),
      errc::null_pointer, {"`c of axpby`", "null", "40 x 24"});
  // beta = 0 neither reads nor checks c.
  EXPECT_TRUE(gemm<small>(this->executor(), this->a(), this->b(), store(this->d(), axpby(1.0f, acc, 0.0f, null))).ok());
}

TYPED_TEST(gemm_arguments_of_calls, leading_dimension_shorter_than_a_row) {
  this->expect_refused(gemm<small>(this->executor(), pitched(this->a(), 31), this->b(), store(this->d(), acc)),
                       errc::bad_stride, {"`a`", "31", "at least 32"});
  this->expect_refused(gemm<small>(this->executor(), this->a(), pitched(this->b(), 23), store(this->d(), acc)),
                       errc::bad_stride, {"`b`", "23", "at least 24"});
  this->expect_refused(gemm<small>(this->executor(), this->a(), this->b(), store(pitched(this->d(), 23), acc)),
                       errc::bad_stride, {"`store`", "23"});
  this->expect_next_call_right();
}

TYPED_TEST(gemm_arguments_of_calls, address_that_is_no_multiple_of_the_element) {
  using E = TypeParam;
  const auto* odd = reinterpret_cast<const f16*>(reinterpret_cast<const char*>(this->a_) + 1);
  this->expect_refused(
      gemm<small>(this->executor(), view_on<E>(odd, this->m, this->k), this->b(), store(this->d(), acc)),
      errc::bad_alignment, {"`a`", "1 bytes", "2"});
  this->expect_next_call_right();
}

// EPI-15
TYPED_TEST(gemm_arguments_of_calls, epilogue_tensors_at_addresses_that_are_no_multiple_of_the_element) {
  using E = TypeParam;
  auto& values = this->template input<float>(uniform<float>(41 * 24, 9));
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const unsigned char*>(values.data()) + 2);
  this->expect_refused(
      gemm<small>(this->executor(), this->a(), this->b(), store(this->d(), acc + per_column(view_on<E>(odd, this->n)))),
      errc::bad_alignment, {"`per_column`", "2 bytes", "4"});
  this->expect_refused(gemm<small>(this->executor(), this->a(), this->b(),
                                   store(this->d(), acc + elem(view_on<E>(odd, this->m, this->n)))),
                       errc::bad_alignment, {"`elem`", "2 bytes", "4"});
  auto* d = reinterpret_cast<f16*>(reinterpret_cast<unsigned char*>(this->d_->data()) + 1);
  this->expect_refused(gemm<small>(this->executor(), this->a(), this->b(), store(view_on<E>(d, 39, this->n), acc)),
                       errc::bad_shape, {"39 x 24"});
  this->expect_refused(
      gemm<small>(this->executor(), slice(this->a(), 0, 0, 39), this->b(), store(view_on<E>(d, 39, this->n), acc)),
      errc::bad_alignment, {"`store`", "1 bytes", "2"});
  this->expect_next_call_right();
}

TYPED_TEST(gemm_arguments_of_calls, outputs_that_share_memory) {
  using E = TypeParam;
  auto& both = this->template output<f16>(64 * 64);
  const auto square = view_on<E>(both.data(), 32, 32);
  const auto b = view_on<E>(static_cast<const f16*>(this->a_), 32, 32);
  this->expect_refused(gemm<small>(this->executor(), square, b, store(square, acc)), errc::overlap,
                       {"output 0", "`a`"});
  this->expect_refused(gemm<small>(this->executor(), b, square, store(square, acc)), errc::overlap,
                       {"output 0", "`b`"});
  this->expect_refused(
      gemm<small>(this->executor(), b, b, store(square, acc + elem(view_on<E>(both.data() + 32, 32, 32)))),
      errc::overlap, {"`store`", "`elem`"});
  this->expect_refused(
      gemm<small>(this->executor(), b, b, store(square, acc), store(view_on<E>(both.data() + 1000, 32, 32), acc)),
      errc::overlap, {"two sinks"});
  EXPECT_TRUE(both.untouched());
}

TYPED_TEST(gemm_arguments_of_calls, workspace_too_small_for_a_reduction) {
  using E = TypeParam;
  if constexpr (E::on_host) {
    GTEST_SKIP() << "the host takes what memory it needs";
  } else {
    auto& sums = this->template output<float>(this->m);
    auto& scratch = this->template output<unsigned char>(1 << 16);
    const auto plan = plan_gemm<small>(this->a(), this->b(), store(this->d(), acc),
                                       reduce_rows<reduction::sum>(view_on<E>(sums.data(), this->m), acc));
    const std::size_t needed = plan.workspace_size();
    ASSERT_GT(needed, 0u);
    const std::string bytes = std::to_string(needed);
    this->expect_refused(plan.run(E{}), errc::workspace_too_small, {"0 bytes", bytes.c_str()});
    this->expect_refused(plan.run(E{nullptr, {scratch.data(), 16}}), errc::workspace_too_small,
                         {"16 bytes", bytes.c_str()});
    this->expect_refused(plan.run(E{nullptr, {scratch.data() + 8, (1 << 16) - 8}}), errc::bad_alignment, {"16 bytes"});
    this->expect_refused(plan.run(E{nullptr, {this->d().data, needed}}), errc::overlap,
                         {"workspace", "output", bytes.c_str()});
    this->expect_refused(plan.run(E{nullptr, {const_cast<f16*>(this->b().data), needed}}), errc::overlap,
                         {"workspace", "`b`"});
    EXPECT_TRUE(sums.untouched());
    EXPECT_TRUE(plan.run(E{nullptr, {scratch.data(), needed}}).ok());
  }
}

/// Legal memory that other libraries refuse, or take and then fault on.
TYPED_TEST(gemm_arguments_of_calls, odd_extents_and_pitches_are_served) {
  const auto ex = this->executor();
  const index_t rows = TypeParam::on_host ? 33 : 512, depth = TypeParam::on_host ? 255 : 1023;
  expect_product<f16, f16, f16, by_rows, by_rows>(*this, ex, {rows, 40, depth}, 1, {});  // lda = K, odd
  expect_product<f16, f16, f16, by_rows, by_rows>(
      *this, ex, {rows, 40, depth + 1}, 2, {placed::odd_pitch, placed::packed, placed::packed});  // lda odd, K even
  expect_product<f16, f16, f16, by_rows, by_rows>(
      *this, ex, {rows, 40, depth - 3}, 3,
      {placed::wide_pitch, placed::wide_pitch, placed::packed});  // lda 16-byte aligned, K not
  expect_product<f16, f16, f16, by_rows, by_rows>(*this, ex, {rows, 509, 64}, 4,
                                                  {placed::packed, placed::packed, placed::wide_pitch});  // ldd > N
  expect_product<f16, f16, f16, by_rows, by_rows>(*this, ex, {rows, 64, 64}, 5,
                                                  {placed::misaligned, placed::packed, placed::packed});  // A + 2 bytes
}

// A store whose rows are not 16 bytes apart; one by columns is in warp_specialized_test.
TYPED_TEST(gemm_arguments_of_calls, results_that_tma_cannot_store) {
  expect_product<f16, f16, f16, by_rows, by_rows>(
      *this, this->executor(), TypeParam::on_host ? product_extents{64, 130, 72} : product_extents{64, 4098, 512}, 6,
      {});
}

TYPED_TEST(gemm_arguments_of_calls, a_plan_returns_the_same_status) {
  const auto plan = plan_gemm<small>(pitched(this->a(), 31), this->b(), store(this->d(), acc));
  this->expect_refused(plan.state(), errc::bad_stride, {"`a`"});
  this->expect_refused(plan.run(this->executor()), errc::bad_stride, {"`a`"});
  EXPECT_EQ(plan.workspace_size(), 0u);
}

// The product of extents of two operands beyond 2^31 keeps its strides in 64 bits.
TYPED_TEST(gemm_arguments_of_calls, strides_beyond_32_bits) {
  using E = TypeParam;
  const auto huge = view_on<E>(static_cast<const f16*>(nullptr), 2, 49152, 65536);
  EXPECT_EQ(huge.stride(0), 3221225472);
  EXPECT_EQ(pitched(view_on<E>(this->a_, 3, 49152, 10), 65536).stride(0), 3221225472);
  EXPECT_EQ(huge.offset(1, 49151, 65535), 3221225472 + 3221225471);
}

}  // namespace
}  // namespace kiln::test
