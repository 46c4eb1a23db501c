// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"
#include "schedule/virtual_cluster.hpp"

namespace hopscotch {
namespace virtual_cluster_test {

Policy const& k_planned = policy_named("planned");

LapId lap(int trial, int epoch = 0) { return {TrialId(trial), epoch}; }
double one(LapId const&, int step) { return step == 2 ? 0 : 1; }

TEST(VirtualCluster, EndsOfLapsComeByTrialAndUnitsByRelease) {
    std::vector<int> began;
    VirtualCluster cluster(k_planned, make_owners(2, 2, 2), one,
                           {.on_task = [&](SimulatedUnit const& unit) { began.push_back(unit.trial.value); }});
    cluster.add({lap(2), 1, 9});  // all three begin on trainer 0 or 1: 2 and 0 on 0, 1 on 1
    cluster.add({lap(0), 0, 1});
    cluster.add({lap(1), 0, 1});
    EXPECT_THROW(cluster.add({lap(1, 1), 0, 1}), Error);
    cluster.start_ready();
    EXPECT_EQ(began, (std::vector{0, 1}));
    EXPECT_TRUE(cluster.run_until(*cluster.next_end()).empty());
    cluster.start_ready();
    EXPECT_EQ(began, (std::vector{0, 1, 1, 0}));
    EXPECT_EQ(cluster.run_until(2), (std::vector{lap(0), lap(1)}));
    EXPECT_EQ(cluster.laps(), 1U);
    EXPECT_EQ(cluster.busy(), 4);
}

TEST(VirtualCluster, AValidationGoesFirst) {
    std::vector<int> began;
    VirtualCluster cluster(
        k_planned, make_owners(1, 1, 1), [](LapId const&, int) { return 1.0; },
        {.on_task = [&](SimulatedUnit const& unit) { began.push_back(10 * unit.trial.value + unit.step); }});
    cluster.add({lap(1), 1, 1});
    cluster.start_ready();
    cluster.add({lap(0), 0, 1});  // released before
    while (auto const end = cluster.next_end()) {
        cluster.run_until(*end);
        cluster.start_ready();
    }
    EXPECT_EQ(began, (std::vector{10, 11, 0, 1}));
}

TEST(VirtualCluster, WhatIsRemovedLeavesItsTrainerFree) {
    VirtualCluster cluster(k_planned, make_owners(1, 1, 1), [](LapId const&, int step) { return step == 0 ? 5.0 : 0.0; });
    cluster.add({lap(0), 0, 1});
    cluster.add({lap(1), 0, 1});
    cluster.start_ready();
    EXPECT_TRUE(cluster.run_until(2).empty());
    cluster.remove(TrialId(0));
    cluster.remove(TrialId(8));
    cluster.start_ready();
    EXPECT_EQ(cluster.next_end(), 7);
    EXPECT_EQ(cluster.run_until(7), std::vector{lap(1)});
    cluster.add({lap(2), 0, 1});
    cluster.remove(TrialId(2));
    cluster.start_ready();
    EXPECT_FALSE(cluster.next_end());
}

TEST(VirtualCluster, RefusesCostsThatAreNone) {
    for (double const cost : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        VirtualCluster cluster(k_planned, make_owners(1, 1, 1), [=](LapId const&, int) { return cost; });
        cluster.add({lap(0), 0, 1});
        EXPECT_THROW(cluster.start_ready(), Error);
    }
}

}  // namespace virtual_cluster_test
}  // namespace hopscotch
