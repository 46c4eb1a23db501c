// SPDX-License-Identifier: Apache-2.0
#include "comm/peers.hpp"

#include <gtest/gtest.h>

#include "test_clock.hpp"

namespace hopscotch {
namespace peers_test {

// In steps that are shorter than a nap.
std::vector<Lost> silent_after(double seconds, Peers& peers, testing::TestClock& clock) {
    constexpr double step_s = 0.25;
    for (double passed_s = 0; passed_s < seconds - step_s; passed_s += step_s) {
        clock.advance(step_s);
        EXPECT_TRUE(peers.newly_lost().empty()) << "after " << passed_s << " s";
    }
    clock.advance(step_s);
    return peers.newly_lost();
}

TEST(Peers, WhoSleptCallsNobodySilent) {
    testing::TestClock clock;
    Peers peers(Rank(0), 3, 60, clock.reader());
    peers.watch({.silence_s = 10});
    clock.advance(600);  // this process was stopped, or starved
    EXPECT_TRUE(peers.newly_lost().empty());
    EXPECT_TRUE(silent_after(10, peers, clock).empty());
    EXPECT_EQ(silent_after(0.25, peers, clock).size(), 2U);
}

TEST(Peers, WhoIsHeardFromIsNotSilent) {
    testing::TestClock clock;
    Peers peers(Rank(0), 3, 60, clock.reader());
    peers.watch({.silence_s = 10});
    EXPECT_TRUE(silent_after(5, peers, clock).empty());
    peers.heard_from(Rank(2));
    auto const silent = silent_after(5.25, peers, clock);
    ASSERT_EQ(silent.size(), 1U);
    EXPECT_EQ(silent[0].rank, Rank(1));
    EXPECT_NE(silent[0].why.find("has been silent for 10 s"), std::string::npos) << silent[0].why;
}

TEST(Peers, TheDeadTheLostAndThoseThatLeft) {
    Peers peers(Rank(0), 4, 60);
    peers.watch({.silence_s = 60});
    peers.is_dead(Rank(1));  // MPI says so: no one waits for silence
    auto const silent = peers.newly_lost();
    ASSERT_EQ(silent.size(), 1U);
    EXPECT_EQ(silent[0].rank, Rank(1));
    EXPECT_EQ(silent[0].why, "rank 1 is dead (MPI reports it)");
    EXPECT_TRUE(peers.give_up(Rank(1)));
    EXPECT_FALSE(peers.give_up(Rank(1))) << "it is news once";
    EXPECT_TRUE(peers.newly_lost().empty());
    peers.has_left(Rank(2));
    peers.is_dead(Rank(2));  // its process has ended, in good order
    EXPECT_TRUE(peers.newly_lost().empty());
    EXPECT_EQ(peers.living(), (std::vector<Rank>{Rank(2), Rank(3)}));
    EXPECT_TRUE(peers.is_lost(Rank(1)) && !peers.is_buried(Rank(1)));
    EXPECT_TRUE(peers.bury(Rank(1)));
    EXPECT_FALSE(peers.bury(Rank(1)));
}

TEST(Peers, AProcessThatHasEndedIsLostUnlessItHasLeft) {
    Peers peers(Rank(0), 3, 60);
    peers.set_name(Rank(2), "rank 2 (node7, pid 71)");
    peers.has_left(Rank(1));
    peers.has_ended(Rank(1));
    peers.has_ended(Rank(2));
    EXPECT_TRUE(peers.newly_lost().empty()) << "before watch() a rank may end";
    peers.watch({.silence_s = 60});
    auto const lost = peers.newly_lost();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].rank, Rank(2));
    EXPECT_EQ(lost[0].why, "rank 2 (node7, pid 71) is lost: its process has ended");
    EXPECT_TRUE(peers.ended(Rank(2)) && !peers.ended(Rank(0)));
}

TEST(Peers, ATrainerWatchesRankZeroOnly) {
    testing::TestClock clock;
    Peers peers(Rank(2), 3, 60, clock.reader());
    peers.watch({.silence_s = 10});
    EXPECT_TRUE(silent_after(10, peers, clock).empty());
    auto const silent = silent_after(0.25, peers, clock);
    ASSERT_EQ(silent.size(), 1U);
    EXPECT_EQ(silent[0].rank, Rank(0));
    peers.stop_watching();
    EXPECT_TRUE(peers.newly_lost().empty());
}

}  // namespace peers_test
}  // namespace hopscotch
