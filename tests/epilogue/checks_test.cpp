// What a sink refuses before anything runs: the sentence names the view, the value seen and the value needed.
#include <gtest/gtest.h>

#include <string>

#include <kiln/epilogue/sinks.hpp>
#include <kiln/view/reshape.hpp>

namespace kiln::test {
namespace {

class epilogue_checks : public ::testing::Test {
 protected:
  static constexpr index_t m = 4, n = 6;
  float out[400] = {}, in[400] = {};
  f16 narrow[400] = {};

  auto d() { return host_view(out, m, n); }

  /// The check fails with this code, and its message has all these parts.
  template <class... Parts>
  static void refused(const status& s, errc code, const Parts&... parts) {
    EXPECT_EQ(s.code(), code) << s.message();
    for (const std::string& part : {std::string(parts)...})
      EXPECT_NE(s.message().find(part), std::string::npos) << part << " in: " << s.message();
  }
  template <class E>
  status check(const E& e, index_t batch = 1) {
    return store(batch == 1 ? broadcast<0>(d(), 1) : host_view(out, batch, m, n), e).check(batch, m, n);
  }
};

TEST_F(epilogue_checks, the_stored_view) {
  refused(store(host_view(out, m, n - 1), acc).check(1, m, n), errc::bad_shape, "`store`", "4 x 5", "4 x 6");
  refused(store(host_view(out, 2, m, n), acc).check(3, m, n), errc::bad_shape, "2 batches", "needs 3");
  refused(store(host_view(out, m, n), acc).check(3, m, n), errc::bad_shape, "1 batches", "needs 3");
  refused(store(host_view(static_cast<float*>(nullptr), m, n), acc).check(1, m, n), errc::null_pointer, "`store`",
          "4 x 6");
  refused(store(pitched(d(), n - 1), acc).check(1, m, n), errc::bad_stride, "`store`", "5, 1");
  refused(store(broadcast<0>(host_view(out, n), m), acc).check(1, m, n), errc::bad_stride, "0, 1");
  EXPECT_TRUE(store(pitched(d(), n + 1), acc).check(1, m, n).ok());
  // Nothing to write: a null is no error.
  EXPECT_TRUE(store(host_view(static_cast<float*>(nullptr), 0, n), acc).check(1, 0, n).ok());
  EXPECT_TRUE(store(host_view(static_cast<float*>(nullptr), 0, m, n), acc).check(0, m, n).ok());
}

TEST_F(epilogue_checks, vectors) {
  refused(check(acc + per_row(host_view(in, n))), errc::bad_shape, "`per_row`", "`store`", "6 values", "needs 4",
          "rows");
  refused(check(acc + per_column(host_view(in, m))), errc::bad_shape, "`per_column`", "4 values", "needs 6", "columns");
  refused(check(acc + per_column(host_view(in, m, n))), errc::bad_shape, "`per_column`", "4 batches", "needs 1");
  refused(check(acc + per_column(host_view(in, 1, m, n))), errc::bad_shape, "`per_column`", "extent 4", "needs 1");
  refused(check(acc + per_column(host_view(static_cast<const float*>(nullptr), n))), errc::null_pointer, "`per_column`",
          "6 values");
  refused(check(gelu(acc * 2 + per_row(host_view(in, 3, m))), 2), errc::bad_shape, "`per_row`", "3 batches",
          "needs 1 or 2");
  EXPECT_TRUE(check(acc + per_column(host_view(in, 1, n)), 2).ok());
  EXPECT_TRUE(check(acc + per_column(host_view(in, 2, 1, n)), 2).ok());
  EXPECT_TRUE(check(acc + per_row(host_view(in, 2, m, 1)), 2).ok());
}

// QNT-09
TEST_F(epilogue_checks, an_array_is_no_scale_per_tensor) {
  refused(check(acc * per_tensor(host_view(in, 4))), errc::bad_shape, "`per_tensor`", "4 values", "needs 1", "per_row");
  EXPECT_TRUE(check(acc * per_tensor(host_view(in, 1))).ok());
}

TEST_F(epilogue_checks, matrices) {
  refused(check(acc + elem(host_view(in, n, m))), errc::bad_shape, "`elem`", "6 x 4", "needs 4 x 6");
  refused(check(acc + elem(host_view(in, 2, m, n)), 3), errc::bad_shape, "`elem`", "2 batches", "needs 1 or 3");
  refused(check(relu(acc) * elem(host_view(static_cast<const f16*>(nullptr), m, n))), errc::null_pointer, "`elem`",
          "4 x 6");
  refused(check(axpby(1, acc, 1, host_view(in, m, n + 1))), errc::bad_shape, "c of axpby", "4 x 7", "needs 4 x 6");
  refused(check(axpby(1, acc, 1, host_view(static_cast<const float*>(nullptr), m, n))), errc::null_pointer,
          "c of axpby");
  EXPECT_TRUE(check(axpby(1, acc, 0, host_view(static_cast<const float*>(nullptr), m, n))).ok());
  EXPECT_TRUE(check(axpby(1, acc, 0.0f, d())).ok());
}

// EPI-15: the very same elements may be read and written, a shifted matrix may not.
TEST_F(epilogue_checks, aliases) {
  EXPECT_TRUE(store(d(), acc + elem(d())).check(1, m, n).ok());
  EXPECT_TRUE(store(pitched(d(), 12), acc + elem(pitched(d(), 12))).check(1, m, n).ok());
  refused(store(d(), acc + elem(host_view(out + n, m, n))).check(1, m, n), errc::overlap, "`store`", "`elem`");
  refused(store(d(), acc + elem(host_view(out + 1, m, n))).check(1, m, n), errc::overlap, "`elem`");
  refused(store(d(), acc + elem(pitched(d(), 7))).check(1, m, n), errc::overlap, "`elem`");
  refused(store(d(), gelu(acc + per_column(host_view(out + 3, n)))).check(1, m, n), errc::overlap, "`per_column`");
  refused(store(d(), axpby(1, acc, 1, host_view(out + n, m, n))).check(1, m, n), errc::overlap, "c of axpby");
  EXPECT_TRUE(store(d(), axpby(1, acc, 0, host_view(out + n, m, n))).check(1, m, n).ok());
  // One matrix read by every batch is not the same as the batches written.
  refused(store(host_view(out, 2, m, n), acc + elem(d())).check(2, m, n), errc::overlap, "`elem`");
  // Column ranges of one buffer.
  const auto wide = host_view(out, m, 3 * n);
  EXPECT_TRUE(store(slice(wide, 1, 0, n), acc + elem(slice(wide, 1, n, 2 * n))).check(1, m, n).ok());
  refused(store(slice(wide, 1, 0, n), acc + elem(slice(wide, 1, n - 1, 2 * n - 1))).check(1, m, n), errc::overlap,
          "`elem`");
}

TEST_F(epilogue_checks, several_sinks) {
  const auto first = store(d(), acc);
  EXPECT_TRUE(check_sinks(1, m, n, first, store(host_view(narrow, m, n), acc),
                          reduce_rows<reduction::amax>(host_view(in, m), acc))
                  .ok());
  refused(check_sinks(1, m, n, first, store(d(), acc)), errc::overlap, "two sinks");
  refused(check_sinks(1, m, n, first, store(host_view(narrow, m, n), acc),
                      reduce_rows<reduction::amax>(host_view(out + 3, m), acc)),
          errc::overlap, "two sinks");
  refused(check_sinks(1, m, n, first, store(host_view(narrow, m, m), acc)), errc::bad_shape, "4 x 4", "4 x 6");
  // From left to right: what reads must come before what overwrites.
  const auto reads = reduce_rows<reduction::max>(host_view(in, m), acc + elem(d()));
  EXPECT_TRUE(check_sinks(1, m, n, reads, store(d(), acc + elem(d()))).ok());
  refused(check_sinks(1, m, n, store(d(), acc + elem(d())), reads), errc::overlap, "put the one that reads first");
}

// What a program may promise in place::vectors.
TEST_F(epilogue_checks, vectors_need_alignment_of_all_rows) {
  alignas(16) static float x[400];
  alignas(16) static f16 h[400];
  const auto aligned = store(host_view(x, 4, 8), acc + elem(host_view(h, 4, 8)) + per_column(host_view(h + 64, 8)));
  EXPECT_TRUE(aligned.vectors<1>() && aligned.vectors<2>() && aligned.vectors<4>() && aligned.vectors<8>());
  EXPECT_FALSE(store(host_view(x + 1, 4, 8), acc).vectors<2>());
  EXPECT_TRUE(store(host_view(x + 2, 4, 8), acc).vectors<2>());
  EXPECT_FALSE(store(host_view(x + 2, 4, 8), acc).vectors<4>());
  EXPECT_FALSE(store(host_view(x, 4, 7), acc).vectors<2>());
  EXPECT_TRUE(store(host_view(x, 4, 7), acc).vectors<1>());
  EXPECT_FALSE(store(host_view(x, 4, 8), gelu(acc + elem(host_view(h + 1, 4, 8)))).vectors<2>());
  EXPECT_FALSE(store(host_view(x, 4, 8), acc * per_column(host_view(h + 3, 8))).vectors<2>());
  EXPECT_FALSE(store(host_view(x, 2, 4, 8), acc * per_column(host_view(h, 2, 9))).vectors<2>());
  // What is not read in vectors does not matter.
  EXPECT_TRUE(
      store(host_view(x, 4, 8), acc * per_row(host_view(h + 3, 4)) + per_tensor(host_view(x + 1, 1))).vectors<8>());
  EXPECT_TRUE(store(host_view(x, 4, 8), acc + elem(transposed(host_view(h + 1, 8, 4)))).vectors<8>());
  EXPECT_TRUE(store(host_view(x, 4, 8), axpby(1, acc, 0, host_view(x + 1, 4, 8))).vectors<8>());
  EXPECT_FALSE(store(host_view(x, 4, 8), axpby(1, acc, 1, host_view(x + 1, 4, 8))).vectors<8>());
}

TEST_F(epilogue_checks, reductions) {
  refused(reduce_rows<reduction::sum>(host_view(in, n), acc).check(1, m, n), errc::bad_shape, "`reduce_rows`",
          "6 elements", "needs 4");
  refused(reduce_columns<reduction::sum>(host_view(in, m), acc).check(1, m, n), errc::bad_shape, "`reduce_columns`",
          "4 elements", "needs 6");
  refused(reduce_columns<reduction::sum>(host_view(in, 2, n), acc).check(3, m, n), errc::bad_shape, "2 batches",
          "needs 3");
  refused(reduce_rows<reduction::sum>(host_view(static_cast<float*>(nullptr), m), acc).check(1, m, n),
          errc::null_pointer, "`reduce_rows`");
  refused(reduce_rows<reduction::sum>(host_view(in, m), acc + per_row(host_view(in, m + 1))).check(1, m, n),
          errc::bad_shape, "`per_row`", "`reduce_rows`");
  refused(reduce_rows<reduction::sum>(host_view(in, m), acc + per_row(host_view(in + 1, m))).check(1, m, n),
          errc::overlap, "`per_row`");
  EXPECT_TRUE(reduce_rows<reduction::sum>(host_view(in, 2, m), acc).check(2, m, n).ok());
}

}  // namespace
}  // namespace kiln::test
