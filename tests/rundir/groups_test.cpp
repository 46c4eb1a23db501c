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

// The trials of a configuration have any numbers, and fewer than all copies. The second copy is harder for all by 2/8.
TEST(Groups, InARaceFewCopiesAreComparedWithMany) {
    Tally tally("val_accuracy", Mode::max, 2, {Objective::last, 2, true});
    auto const tell = [&](int trial, std::string const& configuration, int copy, std::vector<double> const& correct) {
        Assignment const assignment{{"model.x", configuration}, {"search.repeat", static_cast<std::int64_t>(copy)}};
        tally.tell_configuration(TrialId(trial), assignment);
        add(tally, trial, correct);
    };
    tell(0, "a", 0, {7});
    tell(1, "b", 0, {5});
    tell(2, "c", 0, {6});
    tell(3, "a", 1, {5});
    tell(4, "b", 1, {3});
    EXPECT_EQ(tally.groups()[0].mean, 7.0 / 8) << "trial 3 has not ended";
    tally.tell_end(TrialId(3));
    tally.tell_end(TrialId(4));
    auto const groups = tally.groups();
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].trials, (std::vector{TrialId(0), TrialId(3)}));
    EXPECT_EQ(groups[2].trials, (std::vector{TrialId(2)}));
    EXPECT_DOUBLE_EQ(*groups[0].mean, 6.0 / 8);
    EXPECT_DOUBLE_EQ(*groups[1].mean, 4.0 / 8);
    EXPECT_DOUBLE_EQ(*groups[2].mean, 5.0 / 8) << "as if it had the hard copy, too";
    EXPECT_EQ(tally.best_trial(), TrialId(0));
    fail(tally, 3, 1);
    EXPECT_FALSE(tally.groups()[0].mean);
    EXPECT_EQ(tally.best_trial(), TrialId(2));
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
