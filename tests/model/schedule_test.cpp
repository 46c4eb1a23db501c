// SPDX-License-Identifier: Apache-2.0
#include "model/trial/lr_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hopscotch {
namespace schedule_test {

TrainConfig train(ScheduleKind kind) {
    TrainConfig config;
    config.epochs = 4;
    config.optimizer.lr = 0.8;
    config.schedule.kind = kind;
    return config;
}

TEST(Schedule, ConstantIsThePeak) {
    auto const config = train(ScheduleKind::constant);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 0, 10), 0.8);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 399, 10), 0.8);
}

TEST(Schedule, StepMultipliesAtWholeMultiples) {
    auto config = train(ScheduleKind::step);
    config.schedule.step_epochs = 2;
    config.schedule.gamma = 0.5;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 199, 10), 0.8);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 200, 10), 0.4);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 400, 10), 0.2);
}

TEST(Schedule, CosineGoesFromPeakToMinimum) {
    auto config = train(ScheduleKind::cosine);
    config.schedule.min_lr = 0.2;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 0, 10), 0.8);
    EXPECT_NEAR(scheduled_lr(config, 100, 100, 10), 0.2 + 0.3 * (1 + 0.70710678118654752), 1e-15);
    EXPECT_NEAR(scheduled_lr(config, 100, 200, 10), 0.5, 1e-15);
    EXPECT_NEAR(scheduled_lr(config, 100, 400, 10), 0.2, 1e-15);
    EXPECT_NEAR(scheduled_lr(config, 100, 900, 10), 0.2, 1e-15) << "stays there beyond the last epoch";
}

TEST(Schedule, WarmUpCountsTheRowsOfTheStep) {
    for (auto const kind : {ScheduleKind::constant, ScheduleKind::step, ScheduleKind::multistep, ScheduleKind::plateau}) {
        auto config = train(kind);
        config.schedule.warmup_epochs = 0.5;  // 50 rows
        EXPECT_NEAR(scheduled_lr(config, 100, 0, 10), 0.8 * 10 / 50, 1e-15);
        EXPECT_NEAR(scheduled_lr(config, 100, 30, 10), 0.8 * 40 / 50, 1e-15);
        EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 40, 10), 0.8);
        EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 60, 10), 0.8);
    }
}

TEST(Schedule, WarmUpMultipliesTheCosine) {
    auto config = train(ScheduleKind::cosine);
    config.schedule.warmup_epochs = 4;
    EXPECT_NEAR(scheduled_lr(config, 100, 190, 10), 0.8 * 0.5 * (1 + 0.078459095727845) * 0.5, 1e-12);
}

// What torch 2.11 says after 0, 1, 2 ... epochs of 100 rows, for lr 0.8 and 4 epochs.
void expect_epochs(TrainConfig const& config, std::vector<double> const& expected) {
    for (std::size_t epoch = 0; epoch < expected.size(); ++epoch)
        EXPECT_NEAR(scheduled_lr(config, 100, static_cast<std::int64_t>(100 * epoch), 10), expected[epoch], 1e-15) << epoch;
}

TEST(Schedule, MultistepMultipliesAtEveryMilestone) {
    auto config = train(ScheduleKind::multistep);
    config.schedule.milestones = {1, 2, 3};
    config.schedule.gamma = 0.5;
    expect_epochs(config, {0.8, 0.4, 0.2, 0.1, 0.1});
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 99, 10), 0.8);
    config.schedule.milestones = {0.5, 0.75};
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 49, 10), 0.8);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 50, 10), 0.4);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 75, 10), 0.2);
}

TEST(Schedule, ExponentialFallsSmoothly) {
    auto config = train(ScheduleKind::exponential);
    config.schedule.gamma = 0.95;
    expect_epochs(config, {0.8, 0.76, 0.722, 0.6859, 0.651605});
    EXPECT_NEAR(scheduled_lr(config, 100, 50, 10), 0.8 * std::sqrt(0.95), 1e-15);
}

TEST(Schedule, CosineIsTorchs) {
    auto config = train(ScheduleKind::cosine);
    config.schedule.min_lr = 0.2;
    expect_epochs(config, {0.8, 0.7121320343559643, 0.5, 0.2878679656440358, 0.2});
}

TEST(Schedule, PolynomialEndsAtTheMinimum) {
    auto config = train(ScheduleKind::polynomial);
    config.schedule.power = 2;
    expect_epochs(config, {0.8, 0.45, 0.2, 0.05, 0, 0});
    config.schedule.power = 1;
    config.schedule.min_lr = 0.4;
    expect_epochs(config, {0.8, 0.7, 0.6, 0.5, 0.4, 0.4});
}

TEST(Schedule, OneCycleTakesARowAsAStep) {
    auto config = train(ScheduleKind::one_cycle);
    for (auto const& [row, lr] : std::vector<std::pair<std::int64_t, double>>{{0, 0.03200000000000003},
                                                                              {60, 0.42106864095133145},
                                                                              {119, 0.8},
                                                                              {120, 0.7999748228025895},
                                                                              {250, 0.4403247337872215},
                                                                              {398, 2.8377197410579284e-05},
                                                                              {399, 3.2e-06},
                                                                              {500, 3.2e-06}})
        EXPECT_NEAR(scheduled_lr(config, 100, row, 10), lr, 1e-15) << row;
    config.schedule.pct_start = 0;
    config.schedule.div_factor = 10;
    config.schedule.final_div_factor = 100;
    EXPECT_NEAR(scheduled_lr(config, 100, 0, 10), 0.799987675394858, 1e-15);
    EXPECT_NEAR(scheduled_lr(config, 100, 100, 10), 0.6807319577380341, 1e-15);
    config.schedule.pct_start = 1;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 399, 10), 0.8);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 900, 10), 0.8);
    config.epochs = 1;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 1, 0, 1), 0.8) << "a single row";
}

TEST(Schedule, NothingButWarmUpIsAboveThePeakOrBelowTheMinimum) {
    for (auto const kind : {ScheduleKind::constant, ScheduleKind::step, ScheduleKind::multistep, ScheduleKind::exponential,
                            ScheduleKind::cosine, ScheduleKind::one_cycle, ScheduleKind::polynomial, ScheduleKind::plateau})
        for (std::int64_t row = 0; row <= 500; ++row) {
            auto config = train(kind);
            config.schedule.milestones = {1, 3};
            bool const ends_there =
                kind == ScheduleKind::cosine || kind == ScheduleKind::polynomial || kind == ScheduleKind::plateau;
            config.schedule.min_lr = ends_there ? 0.2 : 0;
            auto const lr = scheduled_lr(config, 100, row, 10, row / 100);
            ASSERT_LE(lr, 0.8 + 1e-15) << row;
            ASSERT_GE(lr, config.schedule.min_lr - 1e-15) << row;
            config.schedule.warmup_epochs = 2;
            ASSERT_NEAR(scheduled_lr(config, 100, row, 10, row / 100),
                        lr * std::min(1.0, static_cast<double>(row + 10) / 200), 1e-15);
        }
}

TEST(Schedule, PlateauMultipliesByTheReductions) {
    auto config = train(ScheduleKind::plateau);
    config.schedule.factor = 0.5;
    config.schedule.min_lr = 0.15;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10), 0.8);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10, 1), 0.4);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10, 2), 0.2);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10, 3), 0.15);
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10, 1'000'000'000), 0.15);
    config.schedule.factor = 0.1;
    config.schedule.min_lr = 0;
    config.optimizer.lr = 1e-7;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10, 4), 1e-8) << "torch takes no steps smaller than 1e-8";
    config.optimizer.lr = 0.01;
    config.schedule.min_lr = 0.1;
    EXPECT_DOUBLE_EQ(scheduled_lr(config, 100, 250, 10, 4), 0.01) << "never up";
}

TEST(Plateau, DecidesAsTorchDoes) {
    ScheduleConfig schedule;
    schedule.patience = 1;
    schedule.threshold = 0.1;
    struct Seen {
        double loss, best;
        std::int64_t bad_epochs, reductions;
    };
    Plateau plateau;
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (auto const& seen : std::vector<Seen>{{1.0, 1.0, 0, 0},
                                              {0.95, 1.0, 1, 0},
                                              {0.89, 0.89, 0, 0},
                                              {0.85, 0.89, 1, 0},
                                              {0.82, 0.89, 0, 1},
                                              {0.82, 0.89, 1, 1},
                                              {0.5, 0.5, 0, 1},
                                              {nan, 0.5, 1, 1},
                                              {0.46, 0.5, 0, 2},
                                              {0.45, 0.5, 1, 2},
                                              {0.449, 0.449, 0, 2},
                                              {0.1, 0.1, 0, 2},
                                              {0.2, 0.1, 1, 2},
                                              {0.2, 0.1, 0, 3}}) {
        plateau.observe(seen.loss, schedule);
        EXPECT_EQ(plateau.best, seen.best) << seen.loss;
        EXPECT_EQ(plateau.bad_epochs, seen.bad_epochs) << seen.loss;
        EXPECT_EQ(plateau.reductions, seen.reductions) << seen.loss;
    }
}

}  // namespace schedule_test
}  // namespace hopscotch
