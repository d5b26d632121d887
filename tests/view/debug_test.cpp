// KILN_DEBUG: every access to a view is checked, and the report has its name and the coordinates.
#define KILN_DEBUG
#include <gtest/gtest.h>

#include <kiln/view/aos.hpp>
#include <kiln/view/reshape.hpp>
#include <kiln/view/soa.hpp>

namespace {

using namespace kiln;

TEST(DebugDeathTest, an_access_outside_a_view_ends_the_program_with_its_name) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  float data[12] = {};
  const auto v = named(host_view(data, 3, 4), "weights");
  EXPECT_EQ(&v(2, 3), data + 11);
  EXPECT_DEATH(v(3, 0) = 1, "kiln: `weights`: coordinates \\(3, 0\\): axis 0 has extent 3");
  EXPECT_DEATH(v(0, -1) = 1, "`weights`: coordinates \\(0, -1\\): axis 1 has extent 4");
  EXPECT_DEATH(transposed(v)(3, 3) = 1, "`weights`: coordinates \\(3, 3\\): axis 1 has extent 3")
      << "views made from it keep the name";
  EXPECT_DEATH(pick<0>(slice(v, 1, 1, 3), 0)(2) = 1, "`weights`: coordinates \\(2\\): axis 0 has extent 2");
  EXPECT_DEATH((void)named(v, "a name that is longer than what a view has room for")(9, 9),
               "`a name that is longer t`");
  EXPECT_DEATH((void)host_view(data, 12)(12), "`view`: coordinates \\(12\\)");
}

TEST(DebugDeathTest, elements_of_records_are_checked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  float a[4] = {};
  int b[4] = {};
  const auto p = named(host_soa<float, int>(a, b, 4), "particles");
  get<1>(p[3]) = 5;
  EXPECT_EQ(b[3], 5);
  EXPECT_DEATH((void)p[4], "`particles`: coordinates \\(4\\): axis 0 has extent 4");
  EXPECT_DEATH((void)slice(p, 1, 3)[2], "`particles`: coordinates \\(2\\): axis 0 has extent 2");
  EXPECT_DEATH((void)column<float>(p)(4), "`particles`: coordinates \\(4\\): axis 0 has extent 4");
  struct record {
    float a;
    int b;
  } records[2] = {};
  EXPECT_DEATH((void)(host_aos<float, int>(records, 2))[-1], "coordinates \\(-1\\)");
}

TEST(Debug, checked_views_are_constant_expressions) {
  static constexpr float data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  static_assert(named(transposed(host_view(data, 3, 4)), "weights")(3, 1) == 7);
}

}  // namespace
