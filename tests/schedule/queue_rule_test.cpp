// SPDX-License-Identifier: Apache-2.0
// The rule of the trainers' queues, where times are not all equal and hops take time: makespans near the bound, and no trial
// that starves.
#include <gtest/gtest.h>

#include <iostream>

#include "schedule/planned_cases.hpp"

namespace hopscotch {
namespace queue_rule_test {

// With the rule by laps: 1.16, 1.06 and 1.07.
TEST(QueueRule, EqualTrialsEndTogether) {
    for (auto const& in : {PlannedCase{32, 32, 64, 2}, PlannedCase{8, 8, 16, 5}, PlannedCase{8, 8, 32, 3}}) {
        double const ratio = mean_ratio(in, costs_of(in, 0, 0));
        std::cout << in.trainers << " trainers, " << in.shards << " shards, " << in.trials << " trials, " << in.epochs
                  << " epochs: " << ratio << " of the bound\n";
        EXPECT_LE(ratio, 1.01);
    }
}

// Three equal trials on one trainer of two shards.
TEST(QueueRule, MostUnitsLeftThenFirstComeThenLowestId) {
    std::vector<int> began;
    auto const costs = costs_of({1, 2, 3, 1}, 0, 0);
    simulate(policy_named("planned"), costs, make_owners(2, 1, 3), {},
             [&](SimulatedUnit const& unit) { began.push_back(unit.trial.value); });
    EXPECT_EQ(began, (std::vector{0, 1, 2, 0, 1, 2}));
    began.clear();
    simulate(policy_named("planned"), costs, make_owners(2, 1, 3), {.rule = QueueRule::by_laps},
             [&](SimulatedUnit const& unit) { began.push_back(unit.trial.value); });
    EXPECT_EQ(began, (std::vector{0, 0, 1, 1, 2, 2}));
}

}  // namespace queue_rule_test
}  // namespace hopscotch
