// SPDX-License-Identifier: Apache-2.0
// Which trial is the best where several are copies of one configuration.
#include <gtest/gtest.h>

#include <cmath>

#include "experiment/config.hpp"
#include "experiment/run_config.hpp"
#include "rundir/records.hpp"
#include "rundir/tally.hpp"

namespace hopscotch {
namespace groups_test {

using namespace testing;

// Of eight validation rows this many are right, epoch by epoch.
void add(Tally& tally, int trial, std::vector<double> const& correct) {
    for (std::size_t epoch = 0; epoch < correct.size(); ++epoch)
        tally.add(lap_record(trial, static_cast<int>(epoch), correct[epoch]), LossKind::cross_entropy);
}

void fail(Tally& tally, int trial, int epoch) {
    auto record = lap_record(trial, epoch, 0);
    record.outcome = Outcome::diverged;
    tally.add(record, LossKind::cross_entropy);
}

Tally pairs(Objective objective) { return Tally("val_accuracy", Mode::max, 2, {objective, 2}); }

TEST(Groups, TheBestMeanWinsAndItsBestMemberIsTheBestTrial) {
    auto tally = pairs(Objective::last);
    add(tally, 0, {8});
    add(tally, 1, {2});
    add(tally, 2, {6});
    add(tally, 3, {7});
    auto const groups = tally.groups();
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].mean, 5.0 / 8);
    EXPECT_DOUBLE_EQ(groups[0].spread, 6.0 / 8 / std::sqrt(2.0));
    EXPECT_EQ(groups[1].trials, (std::vector{TrialId(2), TrialId(3)}));
    EXPECT_EQ(groups[1].values, (std::vector{6.0 / 8, 7.0 / 8}));
    EXPECT_EQ(tally.best_trial(), TrialId(3)) << "not trial 0, which was lucky";
}

TEST(Groups, TheObjectiveSaysWhichEpochCounts) {
    for (auto const objective : {Objective::last, Objective::best}) {
        auto tally = pairs(objective);
        add(tally, 0, {8, 1});
        add(tally, 1, {8, 1});
        add(tally, 2, {2, 4});
        add(tally, 3, {5, 4});
        bool const last = objective == Objective::last;
        EXPECT_EQ(tally.groups()[0].mean, last ? 1.0 / 8 : 1);
        EXPECT_EQ(tally.groups()[1].mean, last ? 4.0 / 8 : 4.5 / 8);
        EXPECT_EQ(tally.best_trial(), TrialId(last ? 3 : 0)) << "of equals in the last epoch, the one with the best epoch";
    }
}

// The trials of a configuration have any numbers, and one that a race has left has fewer of them.
TEST(Groups, InARaceMoreCopiesComeFirst) {
    Tally tally("val_accuracy", Mode::max, 2, {Objective::last, 3, true});
    std::vector<std::string> const configurations{"a", "b", "c", "a", "b", "a"};
    std::vector<double> const correct{6, 7, 8, 6, 5, 7};
    for (std::size_t i = 0; i < correct.size(); ++i) {
        Assignment const assignment{{"model.x", configurations[i]}, {"search.repeat", static_cast<std::int64_t>(i)}};
        tally.tell_configuration(TrialId(i), assignment);
        add(tally, static_cast<int>(i), {correct[i]});
    }
    auto const groups = tally.groups();
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].trials, (std::vector{TrialId(0), TrialId(3), TrialId(5)}));
    EXPECT_EQ(groups[1].trials, (std::vector{TrialId(1), TrialId(4)}));
    EXPECT_EQ(groups[2].mean, 1.0);
    EXPECT_EQ(tally.best_trial(), TrialId(5)) << "of the configuration with three copies, though one copy of c is better";
    EXPECT_TRUE(ranks_before(groups[0], groups[2], Mode::max));
    EXPECT_TRUE(ranks_before(groups[1], groups[2], Mode::max));
    fail(tally, 3, 1);
    EXPECT_FALSE(tally.groups()[0].mean);
    EXPECT_EQ(tally.best_trial(), TrialId(1));
}

TEST(Groups, AFailedOrMissingMemberComesLast) {
    auto tally = pairs(Objective::best);
    add(tally, 0, {8});
    EXPECT_EQ(tally.best_trial(), TrialId(0)) << "better than nothing";
    EXPECT_FALSE(tally.groups()[0].mean) << "trial 1 has not finished a lap";
    add(tally, 1, {8});
    fail(tally, 1, 1);
    EXPECT_FALSE(tally.groups()[0].mean);
    EXPECT_EQ(tally.best_trial(), TrialId(0));
    add(tally, 2, {1});
    add(tally, 3, {1});
    EXPECT_EQ(tally.best_trial(), TrialId(2));
    fail(tally, 3, 1);
    EXPECT_EQ(tally.best_trial(), TrialId(0)) << "all have failed members";
}

TEST(Groups, NoneWithoutCopies) {
    Tally tally("val_accuracy", Mode::max, 2, {Objective::last, 1});
    add(tally, 0, {8, 1});
    add(tally, 1, {2, 4});
    EXPECT_TRUE(tally.groups().empty());
    EXPECT_EQ(tally.best_trial(), TrialId(0)) << "the best model is of the best epoch, whatever the search goes by";
}

TEST(Groups, EveryBestIsKeptWhereAnyCouldBeTheBestInTheEnd) {
    Experiment experiment;
    EXPECT_FALSE(keeps_every_best(experiment));
    experiment.search.copies.folds = 2;
    EXPECT_TRUE(keeps_every_best(experiment));
    experiment.search.copies.folds = 1;
    experiment.run.keep_best = KeepBest::trial;
    EXPECT_TRUE(keeps_every_best(experiment));
}

}  // namespace groups_test
}  // namespace hopscotch
