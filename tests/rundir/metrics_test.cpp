// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "experiment/metric.hpp"
#include "rundir/metrics_file.hpp"
#include "rundir/records.hpp"
#include "rundir/tally.hpp"

namespace hopscotch {
namespace metrics_test {

using namespace testing;
constexpr auto k_classes = LossKind::cross_entropy;
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN(), k_inf = std::numeric_limits<double>::infinity();

TEST(Metrics, AreSumsOverRows) {
    auto const metrics = metrics_of(first_trial(), k_classes);
    EXPECT_EQ(metric_value(metrics, "train_loss"), 0.5);
    EXPECT_EQ(metrics.rows, 20);
    EXPECT_EQ(metric_value(metrics, "val_loss"), 0.25);
    EXPECT_EQ(metric_value(metrics, "val_accuracy"), 0.75);
    EXPECT_EQ(metric_value(metrics, "val_top5"), 1);
    EXPECT_EQ(metric_value(metrics, "val_perplexity"), std::exp(0.25));
    EXPECT_TRUE(std::isnan(metric_value(metrics, "val_f1"))) << "the record has none";
    EXPECT_THROW(metric_value(metrics, "accuracy"), Error);
}

TEST(Metrics, OfThePlugInStandBehindTheBuiltInOnes) {
    auto record = first_trial();
    record.valid.own = {{"val_cost", 2.5}, {"val_gain", 3}};
    auto const metrics = metrics_of(record, k_classes);
    EXPECT_EQ(metric_value(metrics, "val_gain"), 3);
    EXPECT_TRUE(std::isnan(metric_value(metrics, "val_other")));
    EXPECT_NE(to_json(metrics).dump().find(R"("val_cost":2.5,"val_gain":3.0,"lr":)"), std::string::npos)
        << to_json(metrics).dump();
}

TEST(Metrics, WithoutRowsThereIsNoNumber) {
    LapRecord empty;
    EXPECT_TRUE(std::isnan(metric_value(metrics_of(empty, k_classes), "train_loss")));
    EXPECT_TRUE(std::isnan(metric_value(metrics_of(empty, k_classes), "val_accuracy")));
}

TEST(Metrics, ARegressionHasNoAccuracy) {
    auto const metrics = metrics_of(first_trial(), LossKind::mse);
    EXPECT_EQ(metric_value(metrics, "val_loss"), 0.25);
    EXPECT_TRUE(std::isnan(metric_value(metrics, "val_accuracy")));
    EXPECT_TRUE(std::isnan(metric_value(metrics, "val_top5")));
    EXPECT_TRUE(std::isnan(metric_value(metrics, "val_perplexity")));
}

TEST(Metrics, EveryScoreOfTheRecordIsTaken) {
    auto record = first_trial();
    record.valid.f1 = 0.5;
    record.valid.auc = 0.625;
    record.valid.mae = 2;
    record.valid.r2 = -3;
    auto const labels = metrics_of(record, LossKind::bce_with_logits);
    EXPECT_EQ(metric_value(labels, "val_accuracy"), 0.75);
    EXPECT_EQ(metric_value(labels, "val_f1"), 0.5);
    EXPECT_EQ(metric_value(labels, "val_auc"), 0.625);
    EXPECT_TRUE(std::isnan(metric_value(labels, "val_top5")));
    EXPECT_TRUE(std::isnan(metric_value(labels, "val_mae")));
    auto const targets = metrics_of(record, LossKind::huber);
    EXPECT_EQ(metric_value(targets, "val_mae"), 2);
    EXPECT_EQ(metric_value(targets, "val_r2"), -3);
    EXPECT_TRUE(std::isnan(metric_value(targets, "val_f1")));
    for (auto const& name : metric_names()) EXPECT_NO_THROW(metric_value(targets, name));
    for (auto const& name : metric_names()) EXPECT_NE(to_json(targets).find(name), nullptr) << name;
}

TEST(Metrics, NotFiniteIsAlwaysWorse) {
    for (auto const mode : {Mode::min, Mode::max})
        for (double const bad : {k_nan, k_inf, -k_inf}) {
            EXPECT_TRUE(better(1, bad, mode));
            EXPECT_FALSE(better(bad, 1, mode));
            EXPECT_FALSE(better(bad, k_nan, mode));
        }
    EXPECT_TRUE(better(2, 1, Mode::max));
    EXPECT_TRUE(better(1, 2, Mode::min));
    EXPECT_FALSE(better(1, 1, Mode::max));
}

TEST(Metrics, FileHasALinePerLapWithoutNaN) {
    Scratch scratch;
    auto record = second_trial();
    record.valid.rows = 0;
    {
        MetricsFile file(scratch / "m");
        file.append(TrialId(0), metrics_of(first_trial(), k_classes), 1.5);
        file.append(TrialId(1), metrics_of(record, k_classes), 2);
    }
    std::istringstream lines(slurp(scratch / "m"));
    std::string line;
    std::getline(lines, line);
    auto const first = parse_json_or_throw(line, "line");
    EXPECT_EQ(first, Json::object({{"trial", 0},
                                   {"epoch", 0},
                                   {"train_loss", 0.5},
                                   {"val_loss", 0.25},
                                   {"val_accuracy", 0.75},
                                   {"val_top5", 1},
                                   {"val_f1", nullptr},
                                   {"val_auc", nullptr},
                                   {"val_mae", nullptr},
                                   {"val_r2", nullptr},
                                   {"val_rmse", nullptr},
                                   {"val_perplexity", std::exp(0.25)},
                                   {"lr", 0.1},
                                   {"rows", 20},
                                   {"wall_s", 1.5}}));
    std::getline(lines, line);
    EXPECT_TRUE(parse_json_or_throw(line, "line").at("val_loss").is_null());
    EXPECT_FALSE(std::getline(lines, line));
}

// Only what lies between the first unit and the last event is time that the run did not have.
TEST(Tally, PausesBetweenJobsAreNoMakespan) {
    Tally tally("val_accuracy", Mode::max, 2);
    tally.pause(0, 90);  // a job died before its first unit
    tally.add(first_trial(), k_classes);
    tally.add(second_trial(), k_classes);
    EXPECT_DOUBLE_EQ(tally.makespan_s(), 6);
    tally.pause(101, 102.5);
    tally.pause(105, 1000);  // killed behind the last lap
    EXPECT_DOUBLE_EQ(tally.makespan_s(), 3.5);
}

TEST(Tally, UtilisationAndBoundOfAHandMadeRun) {
    Tally tally("val_accuracy", Mode::max, 2);
    tally.add(first_trial(), k_classes);
    tally.add(second_trial(), k_classes);
    EXPECT_DOUBLE_EQ(tally.makespan_s(), 6);
    EXPECT_DOUBLE_EQ(tally.busy_s(), 10);
    EXPECT_DOUBLE_EQ(tally.utilisation(), 10.0 / 12);
    EXPECT_DOUBLE_EQ(tally.lower_bound_s(), 6);  // the longest trial alone; two trainers could share the 10 s
    EXPECT_EQ(tally.units(), 4);
    EXPECT_EQ(tally.hops(), 4);
    ASSERT_TRUE(tally.unit_gap_s());
    EXPECT_DOUBLE_EQ(tally.unit_gap_s()->p50, 0.001);  // units that were not queued do not count
    EXPECT_DOUBLE_EQ(tally.unit_gap_s()->p99, 0.003);
    EXPECT_EQ(tally.best_trial(), TrialId(0));
}

TEST(Tally, WaitsRoundsAndStalenessAddUp) {
    Tally tally("val_accuracy", Mode::max, 2);
    tally.add(first_trial(), k_classes);
    EXPECT_TRUE(tally.exposed_s().empty()) << "not measured is not 0";
    tally.add(exchanging(first_trial()), k_classes);
    auto diverged = exchanging(second_trial());
    diverged.outcome = Outcome::diverged;
    diverged.sync.staleness = {1, 1, 1, 1};
    tally.add(diverged, k_classes);
    EXPECT_EQ(tally.exposed_s(), (std::vector<double>{1, 0.5}));
    EXPECT_EQ(tally.sync_rounds(), 14);
    EXPECT_EQ(tally.staleness(), (std::vector<std::int64_t>{6, 1, 3, 1}));
}

TEST(Tally, BoundIsTheLongestTrialWhereThatIsMore) {
    Tally tally("val_loss", Mode::min, 2);
    auto record = first_trial();  // 2 s on trainer 0, 1 s on trainer 1, 1 s of validation on trainer 0
    tally.add(record, k_classes);
    EXPECT_DOUBLE_EQ(tally.lower_bound_s(), 4);
}

TEST(Tally, UnitsThatTrainersTrainTogetherCountOnceInTheBound) {
    auto record = first_trial();
    auto const a = unit(0, 0, 0, 4), b = unit(1, 1, 0.5, 3);  // [0,4) and [0.5,3.5); then 1 s of validation on trainer 0
    for (auto const& units : {std::vector{a, b}, std::vector{b, a}}) {
        record.units = units;
        Tally tally("val_loss", Mode::min, 2);
        tally.add(record, k_classes);
        EXPECT_DOUBLE_EQ(tally.lower_bound_s(), 5);
        EXPECT_LE(tally.lower_bound_s(), tally.makespan_s());
    }
}

TEST(Tally, BestIsTheEarliestAndLowestOfEqualsAndIgnoresLapsThatDidNotFinish) {
    Tally tally("val_accuracy", Mode::max, 2);
    EXPECT_FALSE(tally.best_trial());
    tally.add(second_trial(6), k_classes);
    auto later = second_trial(6);
    later.epoch = 1;
    tally.add(later, k_classes);
    tally.add(first_trial(6), k_classes);
    auto diverged = first_trial(8);
    diverged.epoch = 1;
    diverged.outcome = Outcome::diverged;
    tally.add(diverged, k_classes);
    auto nameless = second_trial(k_nan);
    nameless.epoch = 2;
    tally.add(nameless, k_classes);
    EXPECT_EQ(tally.best_trial(), TrialId(0));
    EXPECT_EQ(tally.of(TrialId(1)).best->epoch, 0);
    EXPECT_EQ(tally.of(TrialId(1)).last->epoch, 2);
    EXPECT_EQ(tally.of(TrialId(0)).epochs, 1);
    EXPECT_EQ(tally.of(TrialId(9)).epochs, 0);
}

TEST(Tally, TheLossOfATrialDecidesWhatItsLapsAreWorth) {
    Tally tally("val_accuracy", Mode::max, 2);
    tally.add(first_trial(8), LossKind::mse);  // hits of a regression mean nothing
    EXPECT_FALSE(tally.best_trial());
    tally.add(second_trial(1), k_classes);
    EXPECT_EQ(tally.best_trial(), TrialId(1));
}

TEST(Tally, PercentilesAreNearestRanksWithinOnePercent) {
    EXPECT_FALSE(percentiles(Histogram{}));
    Histogram one;
    one.add(7);
    EXPECT_EQ(percentiles(one)->p99, 7);
    Histogram low, high;
    for (int i = 100; i > 0; --i) (i > 30 ? high : low).add(i);
    low.add(high);
    EXPECT_EQ(low.count(), 100U);
    EXPECT_NEAR(percentiles(low)->p50, 50, 0.5);
    EXPECT_NEAR(percentiles(low)->p99, 99, 1);
    EXPECT_EQ(low.at(1), 100);
    EXPECT_NEAR(low.at(0), 1, 0.01);
}

TEST(Tally, AHistogramHoldsAnyNumberOfValuesInTheSameMemory) {
    Histogram many;
    for (double const seconds : {-1.0, 0.0, 1e-9, 1e9}) many.add(seconds);  // clocks of two hosts differ
    for (int i = 0; i < 100000; ++i) many.add(1e-6 * i);
    EXPECT_LT(many.counts.size(), 3000U);
    EXPECT_EQ(many.at(1), 1e9);
}

}  // namespace metrics_test
}  // namespace hopscotch
