// SPDX-License-Identifier: Apache-2.0
#include "schedule/lap_metric.hpp"
#include "experiment/config.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"

namespace hopscotch {
namespace lap_metric_test {

TEST(LapMetric, OfSums) {
    auto const classes = LossKind::cross_entropy;
    LapRecord record;
    EXPECT_TRUE(std::isnan(lap_metric(record, "val_loss", classes)));
    EXPECT_TRUE(std::isnan(lap_metric(record, "train_loss", classes)));
    record.valid.rows = 10;
    record.valid.loss = 5;
    record.valid.correct = 8;
    record.valid.top5 = 10;
    record.valid.f1 = 0.25;
    record.valid.auc = 0.75;
    record.units = {{ShardId(0), TrainerId(0), 4, 2.0}, {ShardId(1), TrainerId(0), 6, 3.0}};
    EXPECT_DOUBLE_EQ(lap_metric(record, "val_loss", classes), 0.5);
    EXPECT_DOUBLE_EQ(lap_metric(record, "val_accuracy", classes), 0.8);
    EXPECT_DOUBLE_EQ(lap_metric(record, "val_top5", classes), 1.0);
    EXPECT_DOUBLE_EQ(lap_metric(record, "train_loss", classes), 0.5);
    EXPECT_DOUBLE_EQ(lap_metric(record, "val_f1", classes), 0.25);
    EXPECT_DOUBLE_EQ(lap_metric(record, "val_auc", classes), 0.75);
    EXPECT_DOUBLE_EQ(lap_metric(record, "val_perplexity", classes), std::exp(0.5));
    EXPECT_TRUE(std::isnan(lap_metric(record, "val_mae", classes)));
    EXPECT_THROW(lap_metric(record, "accuracy", classes), Error);
}

TEST(LapMetric, OfThePlugIn) {
    LapRecord record;
    record.valid.rows = 10;
    record.valid.own = {{"val_cost", 2.5}};
    EXPECT_EQ(lap_metric(record, "val_cost", LossKind::mse), 2.5);
    EXPECT_TRUE(std::isnan(lap_metric(record, "val_gain", LossKind::mse))) << "another plug-in's";
    for (auto const* name : {"cost", "val_", "val_Cost", "val_a-b"}) EXPECT_FALSE(may_be_own_metric(name)) << name;
    EXPECT_FALSE(may_be_own_metric("val_loss"));
    EXPECT_TRUE(may_be_own_metric("val_cost_2"));
}

TEST(LapMetric, EachLossHasItsOwn) {
    LapRecord record;
    record.valid.rows = 10;
    record.valid.f1 = record.valid.auc = record.valid.mae = record.valid.r2 = 0.5;
    auto const existing = [&](LossKind loss) {
        std::string out;
        for (auto const& name : metric_names())
            if (name != "train_loss" && std::isfinite(lap_metric(record, name, loss))) out += name.substr(4) + " ";
        return out;
    };
    EXPECT_EQ(existing(LossKind::cross_entropy), "loss accuracy top5 f1 auc perplexity ");
    EXPECT_EQ(existing(LossKind::bce_with_logits), "loss accuracy f1 auc ");
    EXPECT_EQ(existing(LossKind::mse), "loss mae r2 ");
    EXPECT_EQ(existing(LossKind::huber), "loss mae r2 ");
}

}  // namespace lap_metric_test
}  // namespace hopscotch
