// SPDX-License-Identifier: Apache-2.0
#include "view/second_place.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hopscotch {
namespace second_place_test {

TEST(SecondPlace, StandsBesideTheNoise) {
    Placed const first{"trial 3", 0.9722, 9}, second{"trial 7", 0.9701, 9};
    EXPECT_EQ(second_place_text(first, second, 0.0041),
              "trial 7 is 0.0021 behind trial 3, within the noise (standard error 0.0041)");
    EXPECT_EQ(second_place_text(first, second, 0.001),
              "trial 7 is 0.0021 behind trial 3, beyond the noise (standard error 0.001)");
    EXPECT_EQ(second_place_text(first, second, std::nullopt), "trial 7 is 0.0021 behind trial 3");
}

// Zero is not the size of a noise: the copies, or all groups of rows, happen to agree.
TEST(SecondPlace, CallsNothingBeyondAnErrorOfZero) {
    EXPECT_EQ(second_place_text({"trial 3", 1, 9}, {"trial 2", 0.9975, 9}, 0.0), "trial 2 is 0.0025 behind trial 3");
}

TEST(SecondPlace, SaysWhoTrainedLonger) {
    EXPECT_EQ(second_place_text({"trial 3", 0.4, 27}, {"trial 7", 0.5, 9}, std::nullopt),
              "trial 7 is 0.1 behind trial 3; trained 9 and 27 epochs");
}

TEST(SecondPlace, MayBeAsGood) {
    EXPECT_EQ(second_place_text({"trial 3", 0.5, 3}, {"trial 7", 0.5, 3}, 0.1), "trial 7 is as good as trial 3");
    EXPECT_EQ(second_place_text({"trials 0-1", 0.5, 3}, {"trials 2-3", 0.5, 3}, 0.1),
              "trials 2-3 are as good as trials 0-1");
    EXPECT_EQ(second_place_text({"trial 3", NAN, 3}, {"trial 7", 0.5, 3}, 0.1), "");
}

TEST(SecondPlace, FitsANarrowWindow) {
    EXPECT_EQ(as_lines("trial 7 is 0.1 behind trial 3", 20), "     trial 7 is 0.1\n     behind trial 3\n");
    EXPECT_EQ(as_lines("aWordOfMoreThanTheWidth b", 12), "     aWordOfMoreThanTheWidth\n     b\n");
    EXPECT_EQ(as_lines("", 40), "");
}

TEST(SecondPlace, HasTheErrorOfTwoMeans) {
    EXPECT_NEAR(*error_of_difference({3, 9}, {4, 16}), std::sqrt(2.0), 1e-12);
    EXPECT_FALSE(error_of_difference({3, 1}, {4, 16}));
}

}  // namespace second_place_test
}  // namespace hopscotch
