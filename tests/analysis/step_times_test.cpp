// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/step_times.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace step_times_test {

TEST(StepTimes, TwoSizesTellTheFixedPartFromTheRows) {
    StepTimes times;
    times.add(10, 0.5 + 10 * 0.02, 100);
    times.add(30, 0.5 + 30 * 0.02, 7);
    ASSERT_TRUE(times.several_sizes());
    EXPECT_NEAR(times.fitted().fixed_s, 0.5, 1e-12);
    EXPECT_NEAR(times.fitted().row_s, 0.02, 1e-12);
    EXPECT_NEAR(times.fitted().of(20), 0.9, 1e-12);
}

// By hand: (1, 3), (2, 5) and, of weight 2, (4, 6) have means 11/4 and 5, and the slope 8/9.
TEST(StepTimes, IsTheWeightedLeastSquares) {
    StepTimes times;
    times.add(1, 3, 1);
    times.add(2, 5, 1);
    times.add(4, 6, 2);
    EXPECT_NEAR(times.fitted().row_s, 8. / 9, 1e-12);
    EXPECT_NEAR(times.fitted().of(11. / 4), 5, 1e-12);
}

TEST(StepTimes, OneSizeIsAllOfTheRows) {
    StepTimes times;
    times.add(64, 0.32, 10);
    times.add(63.9, 0.4, 10);  // last batches that are not full
    EXPECT_FALSE(times.several_sizes());
    EXPECT_EQ(times.fitted().fixed_s, 0);
    EXPECT_NEAR(times.fitted().of(63.95), 0.36, 1e-12);
}

// Noise: a large step that took less time than a small one, and a line that crosses zero below the rows.
TEST(StepTimes, NoPartIsNegative) {
    StepTimes falling, steep;
    falling.add(10, 2, 1);
    falling.add(20, 1, 1);
    EXPECT_EQ(falling.fitted().row_s, 0);
    EXPECT_NEAR(falling.fitted().fixed_s, 1.5, 1e-12);
    steep.add(10, 1, 1);
    steep.add(20, 9, 1);
    EXPECT_EQ(steep.fitted().fixed_s, 0);
    EXPECT_NEAR(steep.fitted().of(15), 5, 1e-12);
}

TEST(StepTimes, AFixedPartThatIsKnownCounts) {
    StepTimes times;
    times.add(10, 1, 1);
    EXPECT_NEAR(times.fitted(0.4).fixed_s, 0.4, 1e-12);
    EXPECT_NEAR(times.fitted(0.4).row_s, 0.06, 1e-12);
    EXPECT_EQ(times.fitted(3).fixed_s, 1) << "not more than the step took";
    EXPECT_EQ(times.fitted(3).row_s, 0);
}

}  // namespace step_times_test
}  // namespace hopscotch
