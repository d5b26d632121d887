// A softmax row that comes in parts, and parts that are joined.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <kiln/kernel/attention/online_softmax.hpp>

#include "tests/support/fill.hpp"

namespace kiln {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct partial {
  float value, lse;
};
partial joined(partial a, partial b) {
  const auto m = merge(online_softmax::of_normalised(a.lse), online_softmax::of_normalised(b.lse));
  return {(m.first * a.value + m.second * b.value) * m.row.inverse(), m.row.log_sum_exp()};
}

// ATT-05
TEST(OnlineSoftmax, JoiningTwoEmptyPartsIsEmpty) {
  const partial r = joined({0, -infinity}, {0, -infinity});
  EXPECT_EQ(r.value, 0);
  EXPECT_EQ(r.lse, -infinity);
}
TEST(OnlineSoftmax, AnEmptyPartChangesNothing) {
  for (const partial r : {joined({3, 2}, {0, -infinity}), joined({0, -infinity}, {3, 2})}) {
    EXPECT_EQ(r.value, 3);
    EXPECT_FLOAT_EQ(r.lse, 2);
  }
}
TEST(OnlineSoftmax, PartsAreWeightedByTheirSums) {
  const partial r = joined({1, 1}, {3, 2});
  EXPECT_NEAR(r.value, 2.462117, 1e-6);
  EXPECT_NEAR(r.lse, 2.313262, 1e-6);
}

// Score by score, as one row or as two that are joined: the same sum, within a rounding for each score.
TEST(OnlineSoftmax, AnySplitGivesTheSumOfTheWholeRow) {
  const auto scores = test::uniform<float>(57, 3);
  double exact = 0;
  for (float s : scores) exact += std::exp2(40.0 * static_cast<double>(s));
  exact = std::log(exact);
  for (std::size_t split = 0; split <= scores.size(); ++split) {
    online_softmax part[2];
    for (std::size_t i = 0; i < scores.size(); ++i) {
      auto& row = part[i < split ? 0 : 1];
      const float s = 40 * scores[i];
      row.raise(s);
      row.sum += row.weight(s);
    }
    // Scores below 40 carry 2^-19 in units of log2, each sum a rounding for each of its terms.
    EXPECT_NEAR(merge(part[0], part[1]).row.log_sum_exp(), exact, 0x1p-19 + 60 * 0x1p-23) << split;
  }
}

TEST(OnlineSoftmax, ScoresOfMinusInfinityWeighNothing) {
  online_softmax row;
  EXPECT_EQ(row.raise(-infinity), 1);
  EXPECT_EQ(row.weight(-infinity), 0);
  EXPECT_EQ(row.inverse(), 0);
  EXPECT_EQ(row.log_sum_exp(), -infinity);
  EXPECT_EQ(row.raise(3), 0);
  EXPECT_EQ(row.weight(3), 1);
  EXPECT_EQ(row.weight(-infinity), 0);
}

TEST(OnlineSoftmax, NanAmongTheScoresReachesTheSum) {
  online_softmax row;
  row.raise(1);
  row.raise(std::nanf(""));
  row.sum += row.weight(std::nanf(""));
  EXPECT_TRUE(std::isnan(row.inverse()));
}

}  // namespace
}  // namespace kiln
