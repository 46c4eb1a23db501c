// SPDX-License-Identifier: Apache-2.0
// In virtual time: two trainers, and a limit of 10 s.
#include "strategy/common/stall_watch.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace stall_watch_test {

using Signs = std::vector<TrainerSign>;

constexpr double k_stall_s = 10;

TrainerSign works(std::uint64_t batches) { return {false, false, true, batches}; }
TrainerSign waits(std::uint64_t batches) { return {false, false, false, batches}; }

TEST(StallWatch, AWaitingTrainerOutlastsASlowOne) {
    StallWatch watch(2, k_stall_s, 0);
    std::uint64_t slow = 0;
    for (int second = 1; second <= 40; ++second) {
        if (second % 8 == 0) ++slow;
        EXPECT_FALSE(watch.look(Signs{waits(5), works(slow)}, second)) << second;
    }
    // Both are in the exchange now: the slow one has only just come, whatever the other has waited.
    for (int second = 41; second <= 50; ++second) EXPECT_FALSE(watch.look(Signs{waits(5), waits(6)}, second)) << second;
    auto const stall = watch.look(Signs{waits(5), waits(6)}, 51);
    ASSERT_TRUE(stall);
    EXPECT_EQ(stall->trainer, 0U);
    EXPECT_EQ(stall->seconds, 50);
    EXPECT_FALSE(stall->hangs);
}

TEST(StallWatch, ATrainerThatHangsInItsWork) {
    StallWatch watch(2, k_stall_s, 0);
    EXPECT_FALSE(watch.look(Signs{works(1), works(1)}, 1));
    EXPECT_FALSE(watch.look(Signs{works(2), works(1)}, 11));
    auto const stall = watch.look(Signs{works(3), works(1)}, 12);
    ASSERT_TRUE(stall);
    EXPECT_EQ(stall->trainer, 1U);
    EXPECT_EQ(stall->seconds, 11);
    EXPECT_TRUE(stall->hangs);
}

TEST(StallWatch, WhoHasNoUnitOrIsLostHangsNowhere) {
    StallWatch watch(2, k_stall_s, 0);
    EXPECT_FALSE(watch.look(Signs{{false, true, true, 0}, {true, false, true, 3}}, 100));
    // A new unit: its time begins now.
    EXPECT_FALSE(watch.look(Signs{works(0), {true, false, true, 3}}, 110));
    EXPECT_TRUE(watch.look(Signs{works(0), {true, false, true, 3}}, 111));
}

}  // namespace stall_watch_test
}  // namespace hopscotch
