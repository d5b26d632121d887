// Wrong arguments give a status that names them, and nothing is written; odd but right ones are taken.
#include <string>

#include "tests/kernel/attention/problem.hpp"

namespace kiln::test {
namespace {

template <class E>
class attention_arguments : public on_executor<E> {
 protected:
  using space = typename E::space;
  using in = tensor<const float, 4, space, no_unit>;
  using result = tensor<float, 4, space, no_unit>;
  using statistics = tensor<float, 3, space, no_unit>;
  using lengths = tensor<const std::int32_t, 1, space, no_unit>;

  void SetUp() override {
    on_executor<E>::SetUp();
    if (this->IsSkipped()) return;
    q = view_on<E>(this->input(uniform<float>(4096, 1)).data(), 2, 3, 4, 8);
    k = view_on<E>(this->input(uniform<float>(4096, 2)).data(), 2, 5, 2, 8);
    v = view_on<E>(this->input(uniform<float>(4096, 3)).data(), 2, 5, 2, 6);
    buffer = &this->template output<float>(2 * 3 * 4 * 6);
    out = view_on<E>(buffer->data(), 2, 3, 4, 6);
    lse_buffer = &this->template output<float>(2 * 3 * 4);
    lse = view_on<E>(lse_buffer->data(), 2, 3, 4);
    counts = view_on<E>(static_cast<const std::int32_t*>(this->input(std::vector<std::int32_t>{1, 2}).data()), 2);
  }

  /// The call is refused with this code, and the sentence has these parts.
  void expect_refused(errc code, const std::vector<std::string>& parts,
                      attention_options options = {.mask = causal::bottom_right}) {
    const status s = attention(this->executor(), q, k, v, out, options, key_lengths(counts), query_lengths(counts),
                               log_sum_exp(lse));
    EXPECT_EQ(s.code(), code) << s.message();
    for (const auto& part : parts)
      EXPECT_NE(s.message().find(part), std::string::npos) << "`" << part << "` in: " << s.message();
    EXPECT_TRUE(buffer->untouched());
    EXPECT_TRUE(lse_buffer->untouched());
  }

  in q, k, v;
  result out;
  statistics lse;
  lengths counts;
  guarded_output<float, space>*buffer = nullptr, *lse_buffer = nullptr;
};
TYPED_TEST_SUITE(attention_arguments, executors, executor_names);

#define EXPECT_REFUSED(change, code, ...)                                  \
  do {                                                                     \
    SCOPED_TRACE(#change);                                                 \
    const auto q_ = this->q, k_ = this->k, v_ = this->v;                   \
    const auto out_ = this->out;                                           \
    const auto lse_ = this->lse;                                           \
    const auto counts_ = this->counts;                                     \
    change;                                                                \
    this->expect_refused(errc::code, {__VA_ARGS__});                       \
    this->q = q_, this->k = k_, this->v = v_, this->out = out_, this->lse = lse_, this->counts = counts_; \
  } while (0)

TYPED_TEST(attention_arguments, extents_have_to_agree) {
  EXPECT_REFUSED(this->q.extents[1] = -1, bad_shape, "`q`", "-1");
  EXPECT_REFUSED(this->k.extents[0] = 3, bad_shape, "`k`", "batch 3", "needs 2");
  EXPECT_REFUSED(this->v.extents[0] = 1, bad_shape, "`v`", "batch 1", "needs 2");
  EXPECT_REFUSED(this->v.extents[1] = 4, bad_shape, "`v`", "length 4", "needs 5");
  EXPECT_REFUSED(this->v.extents[2] = 1, bad_shape, "`v`", "heads 1", "needs 2");
  EXPECT_REFUSED(this->k.extents[3] = 7, bad_shape, "`k`", "head_dim 7", "needs 8");
  EXPECT_REFUSED(this->out.extents[0] = 1, bad_shape, "`out`", "batch 1", "needs 2");
  EXPECT_REFUSED(this->out.extents[1] = 2, bad_shape, "`out`", "length 2", "needs 3");
  EXPECT_REFUSED(this->out.extents[2] = 3, bad_shape, "`out`", "heads 3", "needs 4");
  EXPECT_REFUSED(this->out.extents[3] = 5, bad_shape, "`out`", "head_dim 5", "needs 6");
  EXPECT_REFUSED(this->lse.extents[0] = 1, bad_shape, "`log_sum_exp`", "batch 1", "needs 2");
  EXPECT_REFUSED(this->lse.extents[1] = 1, bad_shape, "`log_sum_exp`", "length 1", "needs 3");
  EXPECT_REFUSED(this->lse.extents[2] = 1, bad_shape, "`log_sum_exp`", "heads 1", "needs 4");
  EXPECT_REFUSED(this->counts.extents[0] = 1, bad_shape, "`key_lengths`", "1", "needs 2");
  EXPECT_REFUSED(this->counts.extents[0] = -1, bad_shape, "`key_lengths`", "-1");
}

// ATT-08
TYPED_TEST(attention_arguments, heads_have_to_divide) {
  const auto heads = [&](index_t query_heads, index_t kv_heads) {
    this->q.extents[2] = this->out.extents[2] = this->lse.extents[2] = query_heads;
    this->k.extents[2] = this->v.extents[2] = kv_heads;
    this->expect_refused(errc::bad_shape,
                         {"`q` has " + std::to_string(query_heads), "`k` has " + std::to_string(kv_heads), "multiple"});
  };
  heads(3, 2), heads(33, 2), heads(4, 0);
}

TYPED_TEST(attention_arguments, heads_have_a_largest_dimension) {
  EXPECT_REFUSED((this->q.extents[3] = this->k.extents[3] = 257), unsupported, "`q`", "257", "256");
  EXPECT_REFUSED((this->v.extents[3] = this->out.extents[3] = 300), unsupported, "`v`", "300", "256");
}

TYPED_TEST(attention_arguments, elements_need_an_address) {
  EXPECT_REFUSED(this->q.data = nullptr, null_pointer, "`q`");
  EXPECT_REFUSED(this->k.data = nullptr, null_pointer, "`k`");
  EXPECT_REFUSED(this->v.data = nullptr, null_pointer, "`v`");
  EXPECT_REFUSED(this->out.data = nullptr, null_pointer, "`out`");
  EXPECT_REFUSED(this->lse.data = nullptr, null_pointer, "`log_sum_exp`");
  EXPECT_REFUSED(this->counts.data = nullptr, null_pointer, "`key_lengths`");
  EXPECT_REFUSED(this->k.data = reinterpret_cast<const float*>(reinterpret_cast<const char*>(this->k.data) + 2),
                 bad_alignment, "`k`", "2 bytes", "4");
}

TYPED_TEST(attention_arguments, results_need_memory_of_their_own) {
  EXPECT_REFUSED(this->out.strides[1] = 0, bad_stride, "`out`");
  EXPECT_REFUSED(this->lse.strides[2] = 0, bad_stride, "`log_sum_exp`");
  EXPECT_REFUSED(this->k.data = this->out.data, overlap, "`out`", "`k`");
  EXPECT_REFUSED(this->v.data = this->out.data + 100, overlap, "`out`", "`v`");
  EXPECT_REFUSED(this->q.data = this->out.data + 1, overlap, "`out`", "`q`");
  EXPECT_REFUSED(this->lse.data = this->out.data, overlap, "`log_sum_exp`", "`out`");
  EXPECT_REFUSED(this->q.data = this->lse.data, overlap, "`log_sum_exp`", "`q`");
}

TYPED_TEST(attention_arguments, options_have_ranges) {
  for (float scale : {INFINITY, NAN})
    this->expect_refused(errc::bad_option, {"`scale`", "finite"}, {.scale = scale, .mask = causal::none});
  this->expect_refused(errc::bad_option, {"`scale` is 3e+38"}, {.scale = 3e38f, .mask = causal::none});
  this->expect_refused(errc::bad_option, {"`mask`", "causal::none"}, {.mask = causal{}});
  this->expect_refused(errc::bad_option, {"`mask`", "9"}, {.mask = static_cast<causal>(9)});
}

TYPED_TEST(attention_arguments, a_good_call_works_after_a_refused_one) {
  EXPECT_REFUSED(this->q.data = nullptr, null_pointer, "`q`");
  const status s =
      attention(this->executor(), this->q, this->k, this->v, this->out, {.mask = causal::none}, log_sum_exp(this->lse));
  EXPECT_TRUE(s.ok()) << s.message();
  for (float x : this->buffer->values()) EXPECT_TRUE(std::isfinite(x));
}

TYPED_TEST(attention_arguments, a_configuration_says_what_it_cannot_take) {
  using small = attention_config<tile<8, 32, 32>, stages<1>, instructions::simt>;
  this->q.extents[3] = this->k.extents[3] = 40;
  const status s = attention<small>(this->executor(), this->q, this->k, this->v, this->out, {.mask = causal::none});
  EXPECT_EQ(s.code(), errc::unsupported);
  EXPECT_NE(s.message().find("at most 32"), std::string::npos) << s.message();
  EXPECT_NE(s.message().find("40"), std::string::npos) << s.message();
  EXPECT_TRUE(this->buffer->untouched());
}

// P9: a result without elements is a success and touches nothing, whatever the pointers are.
TYPED_TEST(attention_arguments, nothing_to_do_is_done) {
  for (int axis : {0, 1, 2}) {
    auto q = this->q, k = this->k, v = this->v;
    auto out = this->out;
    q.extents[axis] = out.extents[axis] = 0, q.data = nullptr, out.data = nullptr;
    if (axis == 0) k.extents[0] = v.extents[0] = 0;
    const status s = attention(this->executor(), q, k, v, out, {.mask = causal::top_left});
    EXPECT_TRUE(s.ok()) << s.message();
  }
  auto v = this->v;
  auto out = this->out;
  v.extents[3] = out.extents[3] = 0;
  EXPECT_TRUE(attention(this->executor(), this->q, this->k, v, out, {.mask = causal::none}).ok());
  EXPECT_TRUE(this->buffer->untouched());
}

// P8's like: over no keys the result is the neutral element; over no dimensions every key weighs the same.
TYPED_TEST(attention_arguments, empty_sums_are_written) {
  auto k = this->k, v = this->v;
  k.extents[1] = v.extents[1] = 0, k.data = v.data = nullptr;
  ASSERT_TRUE(
      attention(this->executor(), this->q, k, v, this->out, {.mask = causal::bottom_right}, log_sum_exp(this->lse))
          .ok());
  for (float x : this->buffer->values()) EXPECT_EQ(x, 0);
  for (float x : this->lse_buffer->values()) EXPECT_EQ(x, -INFINITY);

  auto q = this->q;
  k = this->k;
  q.extents[3] = k.extents[3] = 0, q.data = k.data = nullptr;
  ASSERT_TRUE(
      attention(this->executor(), q, k, this->v, this->out, {.mask = causal::none}, log_sum_exp(this->lse)).ok());
  for (float x : this->lse_buffer->values()) EXPECT_NEAR(x, std::log(5.0f), 1e-6);

  // Values of no width have a log-sum-exp; their output and its strides may be anything.
  auto v0 = this->v;
  auto out = this->out;
  v0.extents[3] = out.extents[3] = 0, v0.data = nullptr, out.data = nullptr;
  for (int a = 0; a < 3; ++a) out.strides[a] = -8;
  ASSERT_TRUE(attention(this->executor(), q, k, v0, out, {.mask = causal::top_left}, log_sum_exp(this->lse)).ok());
  const std::vector<float> lse = this->lse_buffer->values();
  for (index_t b = 0; b < this->lse.extent(0); ++b)
    for (index_t i = 0; i < this->lse.extent(1); ++i)
      for (index_t h = 0; h < this->lse.extent(2); ++h)
        EXPECT_NEAR(lse[static_cast<std::size_t>(this->lse.offset(b, i, h))],
                    std::log(static_cast<float>(std::min<index_t>(i + 1, 5))), 1e-6);
}

TYPED_TEST(attention_arguments, more_elements_than_an_index_counts) {
  auto q = this->q;
  q.extents[0] = INT64_MAX;
  const status s = attention(this->executor(), q, this->k, this->v, this->out, {.mask = causal::none});
  EXPECT_EQ(s.code(), errc::bad_shape);
  EXPECT_NE(s.message().find("`q` has more elements than"), std::string::npos) << s.message();
}

// On the host a length outside its range is refused; the device takes the nearest that is inside.
TYPED_TEST(attention_arguments, lengths_out_of_range) {
  const auto given =
      view_on<TypeParam>(static_cast<const std::int32_t*>(this->input(std::vector<std::int32_t>{-1, 6}).data()), 2);
  const status s = attention(this->executor(), this->q, this->k, this->v, this->out, {.mask = causal::none},
                             key_lengths(given), log_sum_exp(this->lse));
  if (TypeParam::on_host) {
    EXPECT_EQ(s.code(), errc::bad_option);
    EXPECT_NE(s.message().find("sequence 0 has length -1"), std::string::npos) << s.message();
    EXPECT_TRUE(this->buffer->untouched());
  } else {
    ASSERT_TRUE(s.ok()) << s.message();
    const auto l = this->lse_buffer->values();
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(l[i] == -INFINITY, i < 12);
  }
}

TEST(AttentionTrace, ALaunchSaysWhatItFusedAndMoved) {
  trace::launch_record seen;
  const trace::sink sink{[](void* to, const trace::launch_record& r) { *static_cast<trace::launch_record*>(to) = r; },
                         &seen};
  const trace::sink* before = trace::set_sink(&sink);
  std::vector<float> x(2 * 8 * 16, 1.0f), out(2 * 8 * 16), lse(16);
  const auto view = host_view(static_cast<const float*>(x.data()), 1, 8, 2, 16);
  const status s = attention(host, view, view, view, host_view(out.data(), 1, 8, 2, 16), {.mask = causal::bottom_right},
                             log_sum_exp(host_view(lse.data(), 1, 8, 2)));
  trace::set_sink(before);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ(seen.program, "attention");
  EXPECT_STREQ(seen.schedule, "serial, simt");
  EXPECT_STREQ(seen.fused, "online softmax, causal mask, log-sum-exp");
  EXPECT_EQ(seen.bytes, 4 * 256 * 4 + 16 * 4);
  EXPECT_EQ(seen.operations, 2.0 * 2 * 36 * 32);
  EXPECT_TRUE(seen.on_host);
}

}  // namespace
}  // namespace kiln::test
