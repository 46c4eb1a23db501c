// SPDX-License-Identifier: Apache-2.0
#include "model/lr_schedule.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace {

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
    for (auto const kind : {ScheduleKind::constant, ScheduleKind::step}) {
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

}  // namespace
}  // namespace hopscotch
