// Rows gathered by number, and numbers that no row has.
#include <kiln/embedding.hpp>

#include "tests/kernel/rows/bounds.hpp"

namespace kiln::test {
namespace {

KILN_ON_EXECUTORS(embedding_kernels);

template <class W, class Y, class Id, class Test>
void check_gather(Test& test, std::size_t vocabulary, std::size_t columns) {
  using E = std::decay_t<decltype(test.executor())>;
  const auto table = uniform<W>(vocabulary * columns, 41);
  std::vector<Id> ids;
  for (std::size_t t = 0; t < 23; ++t) ids.push_back(static_cast<Id>(hash(42, t) % vocabulary));
  ids.push_back(0), ids.push_back(static_cast<Id>(vocabulary - 1));
  auto& out = test.template output<Y>(ids.size() * columns);
  const status s =
      embedding(test.executor(), view_on<E>(test.input(ids).data(), ids.size()),
                view_on<E>(test.input(table).data(), vocabulary, columns), view_on<E>(out.data(), ids.size(), columns));
  ASSERT_TRUE(s.ok()) << s.message();
  const auto y = out.values();
  for (std::size_t t = 0; t < ids.size(); ++t)
    for (std::size_t c = 0; c < columns; ++c)
      ASSERT_EQ(as_double(y[t * columns + c]),
                as_double(value_of<Y>(as_double(table[static_cast<std::size_t>(ids[t]) * columns + c]))));
}

TYPED_TEST(embedding_kernels, rows_are_copied_and_converted) {
  for (std::size_t columns : sizes{1, 7, 8, 33, 256, 1000}) {
    check_gather<bf16, bf16, std::int32_t>(*this, 50, columns);
    check_gather<float, bf16, std::int32_t>(*this, 50, columns);
    check_gather<bf16, float, std::int64_t>(*this, 50, columns);
    check_gather<f16, f16, std::int32_t>(*this, 50, columns);
  }
}

// GLM-12
TYPED_TEST(embedding_kernels, ids_outside_the_table_are_reported) {
  const std::size_t vocabulary = 9, columns = 16;
  const auto table = uniform<float>(vocabulary * columns, 43);
  for (std::int32_t bad : {-1, 9, 2147483647}) {
    const std::vector<std::int32_t> ids{3, bad, 8};
    EXPECT_EQ(check_ids(host_view(ids.data(), 3), 9).code(), errc::bad_option);
    auto& out = this->template output<float>(3 * columns);
    guarded_output<std::int32_t, typename TypeParam::space> flag(std::vector<std::int32_t>{0});
    const status s = embedding(this->executor(), view_on<TypeParam>(this->input(ids).data(), 3),
                               view_on<TypeParam>(this->input(table).data(), vocabulary, columns),
                               view_on<TypeParam>(out.data(), 3, columns), flag.data());
    if (TypeParam::on_host) {
      EXPECT_EQ(s.code(), errc::bad_option);
      EXPECT_NE(s.message().find("element 1 is " + std::to_string(bad)), std::string::npos) << s.message();
      EXPECT_NE(s.message().find("[0, 9)"), std::string::npos) << s.message();
      EXPECT_TRUE(out.untouched());
    } else {
      EXPECT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(flag.values()[0], 1);
      const auto y = out.values();
      for (std::size_t c = 0; c < columns; ++c) {
        EXPECT_EQ(y[c], table[3 * columns + c]);
        EXPECT_EQ(y[columns + c], 0);
        EXPECT_EQ(y[2 * columns + c], table[8 * columns + c]);
      }
    }
  }
}

TYPED_TEST(embedding_kernels, good_ids_leave_the_flag_and_pitched_views_their_gaps) {
  const auto table = uniform<bf16>(5 * 48, 44);
  auto& out = this->template output<bf16>(3 * 50);
  guarded_output<std::int32_t, typename TypeParam::space> flag(std::vector<std::int32_t>{0});
  ASSERT_TRUE(embedding(this->executor(), view_on<TypeParam>(this->input(std::vector<std::int32_t>{4, 0, 2}).data(), 3),
                        pitched_on<TypeParam>(this->input(table).data(), 5, 46, 48),
                        pitched_on<TypeParam>(out.data(), 3, 46, 50), flag.data())
                  .ok());
  EXPECT_EQ(flag.values()[0], 0);
  EXPECT_TRUE(out.wrote_only([](std::size_t i) { return i % 50 < 46; }));
  const std::size_t from[] = {4, 0, 2};
  const auto y = out.values();
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t c = 0; c < 46; ++c) EXPECT_EQ(as_double(y[t * 50 + c]), as_double(table[from[t] * 48 + c]));
}

TYPED_TEST(embedding_kernels, shapes_that_disagree_are_named) {
  auto& out = this->template output<float>(32);
  const auto ids = view_on<TypeParam>(this->input(std::vector<std::int32_t>{0, 1}).data(), 2);
  const auto table = view_on<TypeParam>(this->input(uniform<float>(32, 45)).data(), 4, 8);
  const status rows = embedding(this->executor(), ids, table, view_on<TypeParam>(out.data(), 3, 8));
  EXPECT_EQ(rows.message(), "bad shape: operand `out`: has 3 rows, needs 2 (the ids)");
  const status columns = embedding(this->executor(), ids, table, view_on<TypeParam>(out.data(), 2, 7));
  EXPECT_EQ(columns.message(), "bad shape: operand `out`: has 7 columns, needs 8 as in `table`");
  EXPECT_TRUE(embedding(this->executor(), view_on<TypeParam>(static_cast<const std::int32_t*>(nullptr), 0), table,
                        view_on<TypeParam>(out.data(), 0, 8))
                  .ok());
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace kiln::test
