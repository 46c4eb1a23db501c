// SPDX-License-Identifier: Apache-2.0
// Tables, curves and charts in text: exact pictures of small cases.
#include <gtest/gtest.h>

#include "analysis/forecast/gantt.hpp"
#include "analysis/forecast/trainer_curve.hpp"
#include "core/text_table.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace drawing_test {

std::size_t widest_line(std::string const& text) {
    std::size_t widest = 0, start = 0;
    for (auto end = text.find('\n'); end != text.npos; start = end + 1, end = text.find('\n', start))
        widest = std::max(widest, end - start);
    return widest;
}

std::vector<SimulatedUnit> schedule_of(int trials, int shards, double validation, double& makespan) {
    std::vector<TrialCost> costs;
    for (int t = 0; t < trials; ++t) costs.push_back({TrialId(t), 1, validation, 1});
    std::vector<SimulatedUnit> tasks;
    makespan = simulate(policy_named("planned"), costs, make_owners(shards, shards, trials), {.in_flight = trials},
                        [&](SimulatedUnit const& task) { tasks.push_back(task); })
                   .makespan;
    return tasks;
}

TEST(Gantt, ThreeTrialsOnThreeTrainersAreALatinSquare) {
    double makespan = 0;
    auto const tasks = schedule_of(3, 3, 0, makespan);
    EXPECT_EQ(gantt_text(tasks, {3, 3, makespan, 32}),
              "trainer 0  000000022222221111111\n"
              "trainer 1  111111100000002222222\n"
              "trainer 2  222222211111110000000\n");
}

TEST(Gantt, ValidationAndIdleTimeShow) {
    double makespan = 0;
    auto const tasks = schedule_of(1, 2, 1, makespan);
    EXPECT_EQ(gantt_text(tasks, {2, 2, makespan, 41}),
              "trainer 0  0000000000..........++++++++++\n"
              "trainer 1  ..........0000000000..........\n");
}

// 19 columns for 19 s.
TEST(Gantt, ACellIsWhatItIsMostOfTheTime) {
    auto const unit = [](int trial, double start, double end) {
        return SimulatedUnit{TrialId(trial), 0, 0, TrainerId(0), start, end};
    };
    std::vector<SimulatedUnit> const tasks{unit(0, 0, 0.4), unit(1, 1, 1.6), unit(61, 2, 2.3), unit(62, 2.3, 4)};
    EXPECT_EQ(gantt_text(tasks, {1, 2, 19, 30}), "trainer 0  .100" + std::string(15, '.') + "\n");
}

TEST(Gantt, FitsEveryWidth) {
    double makespan = 0;
    auto const tasks = schedule_of(16, 8, 0.5, makespan);
    for (std::size_t const columns : {1U, 30U, 80U, 200U})
        EXPECT_EQ(widest_line(gantt_text(tasks, {8, 8, makespan, columns})), std::max<std::size_t>(columns, 30));
}

TEST(Gantt, LeavesOutLinesAndSaysSo) {
    double makespan = 0;
    auto const tasks = schedule_of(50, 50, 0, makespan);
    EXPECT_NE(gantt_text(tasks, {50, 50, makespan, 80}).find("(10 more trainers)\n"), std::string::npos);
    EXPECT_EQ(gantt_text({}, {2, 2, 0, 80}), "");
}

TEST(TextTable, WrapsColumnsIntoBlocks) {
    std::vector<std::vector<std::string>> const rows{{"name", "one", "two"}, {"a", "1", "22"}, {"long b", "333", ""}};
    EXPECT_EQ(text_table(rows, 80), "name    one  two\na         1   22\nlong b  333\n");
    EXPECT_EQ(text_table(rows, 11), "name    one\na         1\nlong b  333\n\nname    two\na        22\nlong b\n");
    EXPECT_EQ(text_table(rows, 1), text_table(rows, 11));
}

// 8 equal trials on 8 shards: with p trainers each has 8/p shards, so a p that does not divide 8 waits for the fullest.
TEST(Curve, IsTheWorkOfTheFullestTrainer) {
    std::vector<TrialCost> trials;
    for (int t = 0; t < 8; ++t) trials.push_back({TrialId(t), 1, 0, 3});
    auto const curve = trainer_curve({policy_named("planned"), trials, 8, std::nullopt, {5}, OwnersBy::equal});
    std::vector<int> counts;
    for (auto const& point : curve) {
        counts.push_back(point.trainers);
        if (8 % point.trainers == 0) {
            EXPECT_GT(point.speed_up, 0.85 * point.trainers);
        }
        EXPECT_LE(point.speed_up, 8.0 / ((8 + point.trainers - 1) / point.trainers) + 1e-9);
        EXPECT_NEAR(point.busy, point.speed_up / point.trainers, 1e-9);
    }
    EXPECT_EQ(counts, (std::vector<int>{1, 2, 3, 4, 5, 6, 8}));
    EXPECT_EQ(trainers_worth(curve), 8);
    auto const shared = trainer_curve({policy_named("planned"), trials, 8, std::nullopt, {5}, OwnersBy::shares});
    for (std::size_t i = 0; i < curve.size(); ++i) {
        bool const divides = 8 % curve[i].trainers == 0;
        EXPECT_GE(shared[i].speed_up, curve[i].speed_up * (divides ? 1 : 1.05)) << curve[i].trainers << " trainers";
    }
}

// One trial is on one trainer at a time, however many there are.
TEST(Curve, OneTrialIsWorthOneTrainer) {
    std::vector<TrialCost> const trials{{TrialId(0), 1, 0.5, 2}};
    auto const curve = trainer_curve({policy_named("planned"), trials, 4, std::nullopt, {}});
    for (auto const& point : curve) EXPECT_NEAR(point.speed_up, 1, 1e-9);
    EXPECT_EQ(trainers_worth(curve), 1);
    EXPECT_EQ(curve_text(curve, 40),
              "trainers  speed-up   busy\n"
              "       1      1.00   100 % #############\n"
              "       2      1.00    50 % #############\n"
              "       3      1.00    33 % #############\n"
              "       4      1.00    25 % #############\n");
    EXPECT_TRUE(trainer_curve({policy_named("planned"), {}, 4, std::nullopt, {}}).empty());
}

}  // namespace drawing_test
}  // namespace hopscotch
