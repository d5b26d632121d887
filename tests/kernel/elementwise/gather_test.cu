// Elements by number: gather, scatter and embedding along any axis, and numbers that no element has.
#include <kiln/embedding.hpp>
#include <kiln/gather.hpp>
#include <kiln/view/reshape.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(gathers);

template <class Id>
std::vector<Id> ids_below(std::size_t count, std::size_t extent, std::uint64_t seed) {
  std::vector<Id> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<Id>(hash(seed, i) % extent);
  ids.front() = static_cast<Id>(extent - 1), ids.back() = 0;
  return ids;
}

template <class W, class Y, class Id, class Test>
void check_rows(Test& test, std::size_t columns, std::size_t misalign) {
  using E = std::decay_t<decltype(test.executor())>;
  const std::size_t vocabulary = 50, tokens = 25;
  const auto table = uniform<W>(vocabulary * columns, 41);
  const auto ids = ids_below<Id>(tokens, vocabulary, 42);
  auto& out = test.template output<Y>(tokens * columns, prefill::nan, misalign);
  const status s = embedding(test.executor(), view_on<E>(test.input(ids).data(), tokens),
                             view_on<E>(test.input(table, misalign).data(), vocabulary, columns),
                             view_on<E>(out.data(), tokens, columns));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto y = out.values();
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t c = 0; c < columns; ++c)
      ASSERT_EQ(as_double(y[t * columns + c]),
                as_double(value_of<Y>(as_double(table[static_cast<std::size_t>(ids[t]) * columns + c]))));
}

TYPED_TEST(gathers, rows_of_every_length_are_copied_and_converted) {
  for (const std::size_t columns : {1u, 7u, 8u, 33u, 256u, 1000u})
    for (const std::size_t misalign : {0u, 1u}) {
      check_rows<bf16, bf16, std::int32_t>(*this, columns, misalign);
      check_rows<float, bf16, std::int32_t>(*this, columns, misalign);
      check_rows<bf16, float, std::int64_t>(*this, columns, misalign);
    }
}

/// Rank 3 with strides of its own on every side: x [5, 7, 20], the axis replaced by 9 ids.
template <int Axis, class Test>
void check_axis(Test& test, bool elements) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::to_string(Axis) + (elements ? ", ids of its shape" : ", a vector of ids"));
  const int e[3] = {5, 7, 20};
  int d[3] = {5, 7, 20};
  d[Axis] = 9;
  const auto xs = small_integers<float>(7 * 5 * 24, 1, 0, 30000);
  const auto& x = test.input(xs);
  const auto from = slice(permuted<1, 0, 2>(view_on<E>(x.data(), e[1], e[0], e[2] + 4)), 2, 4, 24);
  auto& out = test.template output<float>(static_cast<std::size_t>(d[0] * d[1] * (d[2] + 4)));
  const auto to = slice(view_on<E>(out.data(), d[0], d[1], d[2] + 4), 2, 0, d[2]);
  const auto some =
      ids_below<std::int32_t>(static_cast<std::size_t>(d[0] * d[1] * d[2] * 2), static_cast<std::size_t>(e[Axis]), 2);
  const auto& ids = test.input(some);
  const auto vector = strided<0>(view_on<E>(ids.data(), 18), 2);
  const auto each = transposed(view_on<E>(ids.data(), d[0], d[2], d[1]));
  const status s =
      elements ? gather<Axis>(test.executor(), from, each, to) : gather<Axis - 3>(test.executor(), from, vector, to);
  ASSERT_TRUE(s.ok()) << s.message();
  const auto y = out.values();
  for (int i = 0; i < d[0]; ++i)
    for (int j = 0; j < d[1]; ++j)
      for (int k = 0; k < d[2]; ++k) {
        int at[3] = {i, j, k};
        at[Axis] = some[static_cast<std::size_t>(elements ? each.offset(i, j, k) : vector.offset(at[Axis]))];
        const auto expected = xs[static_cast<std::size_t>(from.offset(at[0], at[1], at[2]) + (from.data - x.data()))];
        ASSERT_EQ(y[static_cast<std::size_t>(to.offset(i, j, k))], expected) << i << ", " << j << ", " << k;
      }
  EXPECT_TRUE(out.wrote_only([&](std::size_t i) { return static_cast<int>(i) % (d[2] + 4) < d[2]; }));
}

TYPED_TEST(gathers, along_any_axis_of_strided_views_by_a_vector_or_by_element) {
  for (const bool elements : {false, true}) {
    check_axis<0>(*this, elements);
    check_axis<1>(*this, elements);
    check_axis<2>(*this, elements);
  }
}

TEST(gathers_on_the_host, check_ids_looks_at_the_view_before_it_reads) {
  const std::int32_t ids[4] = {0, 1, 2, 3};
  const std::int32_t* const none = nullptr;
  EXPECT_TRUE(check_ids(host_view(ids, 2, 2), 4).ok());
  EXPECT_EQ(check_ids(host_view(ids, 4), 3).code(), errc::bad_option);
  EXPECT_EQ(check_ids(host_view(none, 4), 4).code(), errc::null_pointer);
  EXPECT_EQ(check_ids(slice(host_view(none, 4), 0, 2, 4), 4).code(), errc::null_pointer);
  EXPECT_TRUE(check_ids(host_view(none, 0), 4).ok());
  EXPECT_EQ(check_ids(host_view(ids, -1, -1), 4).code(), errc::bad_shape);
  EXPECT_EQ(check_ids(slice(host_view(ids, 4), 0, 3, 1), 4).code(), errc::bad_shape);
  EXPECT_EQ(check_ids(host_view(none, index_t{1} << 32, index_t{1} << 32), 4).code(), errc::null_pointer);
}

TYPED_TEST(gathers, scatter_writes_its_places_and_leaves_the_others) {
  using E = TypeParam;
  const std::vector<std::int64_t> places{6, 0, 3};
  const auto& ids = this->input(places);
  const auto at = view_on<E>(ids.data(), 3);
  for (const std::size_t n : {5u, 64u}) {  // rows of single elements, rows of vectors
    const auto xs = uniform<float>(3 * n, 4);
    const auto& x = this->input(xs);
    const auto cast = static_cast<index_t>(n);
    for (const std::size_t pitch : {n, n + 1}) {  // with a pitch that vectors do not divide, too
      auto& rows = this->template output<bf16>(8 * pitch);
      const auto table = pitched(view_on<E>(rows.data(), 8, cast), static_cast<index_t>(pitch));
      ASSERT_TRUE(scatter<0>(this->executor(), view_on<E>(x.data(), 3, cast), at, table).ok());
      const auto y = rows.values();
      EXPECT_TRUE(rows.wrote_only([&](std::size_t i) {
        const std::size_t row = i / pitch;
        return (row == 6 || row == 0 || row == 3) && i % pitch < n;
      }));
      for (std::size_t t = 0; t < 3; ++t)
        for (std::size_t c = 0; c < n; ++c)
          ASSERT_EQ(y[static_cast<std::size_t>(places[t]) * pitch + c].bits, bf16(xs[t * n + c]).bits);
    }

    // Columns, into a transposed view.
    auto& columns = this->template output<bf16>(8 * n);
    ASSERT_TRUE(scatter<1>(this->executor(), transposed(view_on<E>(x.data(), 3, cast)), at,
                           transposed(view_on<E>(columns.data(), 8, cast)))
                    .ok());
    const auto z = columns.values();
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t c = 0; c < n; ++c)
        ASSERT_EQ(z[static_cast<std::size_t>(places[t]) * n + c].bits, bf16(xs[t * n + c]).bits);
  }
}

TYPED_TEST(gathers, scatter_undoes_gather_by_element) {
  using E = TypeParam;
  const std::size_t m = 6, n = 37;
  std::vector<std::int32_t> order(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) order[i * n + j] = static_cast<std::int32_t>((j * 5 + 3 * i) % n);
  const auto xs = uniform<f16>(m * n, 5);
  const auto ids = view_on<E>(this->input(order).data(), 6, 37);
  auto &mixed = this->template output<f16>(m * n), &back = this->template output<f16>(m * n);
  ASSERT_TRUE(
      gather<1>(this->executor(), view_on<E>(this->input(xs).data(), 6, 37), ids, view_on<E>(mixed.data(), 6, 37))
          .ok());
  ASSERT_TRUE(scatter<1>(this->executor(), view_on<E>(mixed.data(), 6, 37), ids, view_on<E>(back.data(), 6, 37)).ok());
  EXPECT_EQ(as_double(back.values()), as_double(xs));
  EXPECT_NE(as_double(mixed.values()), as_double(xs));
}

TYPED_TEST(gathers, of_two_elements_for_one_place_one_is_kept) {
  using E = TypeParam;
  const std::size_t n = 40;
  const auto xs = uniform<float>(3 * n, 6);
  auto& out = this->template output<float>(2 * n);
  ASSERT_TRUE(scatter<0>(this->executor(), view_on<E>(this->input(xs).data(), 3, 40),
                         view_on<E>(this->input(std::vector<std::int32_t>{1, 0, 1}).data(), 3),
                         view_on<E>(out.data(), 2, 40))
                  .ok());
  const auto y = out.values();
  for (std::size_t c = 0; c < n; ++c) {
    EXPECT_EQ(y[c], xs[n + c]);
    EXPECT_TRUE(y[n + c] == xs[c] || y[n + c] == xs[2 * n + c]);
  }
}

/// Id 1 of three is outside. On the host that is an error, on the device a zero or nothing, and the flag.
template <class Id, class Test>
void check_outside(Test& test, Id bad, int columns) {
  using E = std::decay_t<decltype(test.executor())>;
  SCOPED_TRACE(std::to_string(bad) + ", " + std::to_string(columns));
  const auto n = static_cast<std::size_t>(columns);
  const auto table = uniform<float>(9 * n, 43);
  const std::vector<Id> ids{3, bad, 8};
  const auto& values = test.input(table);
  const auto at = view_on<E>(test.input(ids).data(), 3);
  const auto all = view_on<E>(values.data(), 9, columns);
  auto &gathered = test.template output<float>(3 * n), &scattered = test.template output<float>(9 * n);
  const auto rows = view_on<E>(gathered.data(), 3, columns);
  for (const bool is_gather : {true, false}) {
    guarded_output<std::int32_t, typename E::space> flag(std::vector<std::int32_t>{0});
    const status s = is_gather ? gather<0>(test.executor(), all, at, rows, flag.data())
                               : scatter<0>(test.executor(), slice(all, 0, 0, 3), at,
                                            view_on<E>(scattered.data(), 9, columns), flag.data());
    if (E::on_host) {
      EXPECT_EQ(s.code(), errc::bad_option);
      EXPECT_NE(s.message().find("element 1 of the ids is " + std::to_string(bad) + ", needs to be in [0, 9)"),
                std::string::npos)
          << s.message();
      EXPECT_TRUE(gathered.untouched() && scattered.untouched());
    } else {
      EXPECT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(flag.values()[0], 1);
    }
  }
  if (E::on_host) return;
  const auto y = gathered.values(), z = scattered.values();
  EXPECT_TRUE(scattered.wrote_only([&](std::size_t i) { return i / n == 3 || i / n == 8; }));
  for (std::size_t c = 0; c < n; ++c) {
    EXPECT_EQ(y[c], table[3 * n + c]);
    EXPECT_EQ(y[n + c], 0);
    EXPECT_EQ(y[2 * n + c], table[8 * n + c]);
    EXPECT_EQ(z[3 * n + c], table[c]);
    EXPECT_EQ(z[8 * n + c], table[2 * n + c]);
  }
}

// GLM-12
TYPED_TEST(gathers, ids_outside_never_reach_memory) {
  const std::vector<std::int32_t> ids{3, 9, 8};
  EXPECT_EQ(check_ids(host_view(ids.data(), 3), 9).message(),
            "bad option: ids: element 1 of the ids is 9, needs to be in [0, 9)");
  EXPECT_TRUE(check_ids(host_view(ids.data(), 3), 10).ok());
  for (const int columns : {16, 5}) {
    for (const std::int32_t bad : {-1, 9, 2147483647}) check_outside(*this, bad, columns);
    check_outside(*this, (std::int64_t{1} << 32) + 1, columns);  // 1 in its low half
  }
}

TYPED_TEST(gathers, elements_outside_are_told_by_their_coordinates) {
  using E = TypeParam;
  const std::vector<std::int32_t> ids{0, 1, 2, 2, 3, -7};
  auto& out = this->template output<float>(6);
  guarded_output<std::int32_t, typename E::space> flag(std::vector<std::int32_t>{0});
  const auto xs = uniform<float>(8, 44);
  const status s = gather<1>(this->executor(), view_on<E>(this->input(xs).data(), 2, 4),
                             view_on<E>(this->input(ids).data(), 2, 3), view_on<E>(out.data(), 2, 3), flag.data());
  if (E::on_host) {
    EXPECT_EQ(s.message(), "bad option: gather: element 1, 2 of the ids is -7, needs to be in [0, 4)");
    EXPECT_TRUE(out.untouched());
  } else {
    EXPECT_EQ(flag.values()[0], 1);
    EXPECT_EQ(out.values(), (std::vector<float>{xs[0], xs[1], xs[2], xs[6], xs[7], 0}));
  }
}

TYPED_TEST(gathers, good_ids_leave_the_flag_and_nothing_to_do_is_a_success) {
  using E = TypeParam;
  guarded_output<std::int32_t, typename E::space> flag(std::vector<std::int32_t>{0});
  auto& out = this->template output<float>(4);
  const auto x = view_on<E>(this->input(std::vector<float>{1, 2, 3, 4}).data(), 4);
  ASSERT_TRUE(gather<0>(this->executor(), x, view_on<E>(this->input(std::vector<std::int32_t>{3, 0, 2, 1}).data(), 4),
                        view_on<E>(out.data(), 4), flag.data())
                  .ok());
  EXPECT_EQ(out.values(), (std::vector<float>{4, 1, 3, 2}));
  EXPECT_EQ(flag.values()[0], 0);
  const std::int32_t* const none = nullptr;
  EXPECT_TRUE(gather<0>(this->executor(), x, view_on<E>(none, 0), view_on<E>(out.data(), 0)).ok());
}

TYPED_TEST(gathers, wrong_arguments_are_named_and_nothing_is_written) {
  using E = TypeParam;
  const auto ex = this->executor();
  auto& out = this->template output<float>(32);
  const auto ids = view_on<E>(this->input(std::vector<std::int32_t>{0, 1}).data(), 2);
  const auto table = view_on<E>(this->input(uniform<float>(32, 45)).data(), 4, 8);
  const auto to = view_on<E>(out.data(), 2, 8);
  const auto message = [](const status& s) { return s.message(); };
  EXPECT_EQ(message(gather<0>(ex, table, ids, view_on<E>(out.data(), 3, 8))),
            "bad shape: gather: the ids have 2 elements, needs 3, the extent of axis 0 of the result");
  EXPECT_EQ(
      message(gather<0>(ex, table, ids, view_on<E>(out.data(), 2, 7))),
      "bad shape: gather: the result has extents [2, 7] and the input [4, 8], needs equal ones on all axes but axis 0");
  EXPECT_EQ(message(scatter<0>(ex, slice(table, 0, 0, 3), ids, view_on<E>(out.data(), 4, 8))),
            "bad shape: scatter: the ids have 2 elements, needs 3, the extent of axis 0 of the input");
  EXPECT_EQ(message(gather<0>(ex, table, broadcast<1>(ids, 7), to)),
            "bad shape: gather: the list of ids has extents [2, 7], needs [2, 8], those of the result");
  EXPECT_EQ(gather<0>(ex, slice(table, 0, 3, 1), ids, to).code(), errc::bad_shape);
  EXPECT_EQ(gather<0>(ex, table, view_on<E>(static_cast<const std::int32_t*>(nullptr), 2), to).code(),
            errc::null_pointer);
  EXPECT_EQ(gather<0>(ex, table, ids, broadcast<0>(view_on<E>(out.data(), 8), 2)).code(), errc::bad_stride);
  const auto own = view_on<E>(out.data(), 4, 8);
  EXPECT_EQ(message(gather<0>(ex, own, ids, slice(own, 0, 2, 4))),
            "overlap: gather: the result shares memory with the input, needs memory of its own");
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace kiln::test
