// SPDX-License-Identifier: Apache-2.0
// Rows of a plan against arithmetic by hand, and the whole report as text and JSON.
#include <gtest/gtest.h>

#include "analysis/forecast/plan_report.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace forecast_test {

// Four trials of two epochs: 1000 rows in 32 steps (the shards end with smaller batches), 10 ms a step, 1 ms a row.
PlanBasis basis() {
    PlanBasis out;
    for (int t = 0; t < 4; ++t)
        out.trials.push_back({TrialId(t), {}, {}, 2, 1000, 32, {32, 1000}, 0.01, 0.001, 0.5, 4'000'000, 4'000'000});
    out.dataset_bytes = 1'000'000;
    out.knows_seconds = true;
    out.link = {1e9, 0};
    out.price_per_trainer_hour = 36;
    return out;
}

StrategyCase case_of(std::string const& name, int trainers) {
    StrategyCase out;
    out.strategy.name = name;
    out.trainers = out.workers = trainers;
    if (strategy_traits(name).training == Training::together) out.group.assign(4, {34, 500});
    if (strategy_traits(name).training == Training::hopping) out.hops_per_lap = 2;
    if (!strategy_traits(name).all_trainers) out.workers = 1;
    return out;
}

constexpr double k_epoch_s = 0.32 + 1 + 0.5, k_work_s = 4 * 2 * k_epoch_s;

TEST(Forecast, OneTrainerTakesTheWork) {
    auto const row = forecast(basis(), case_of("sequential", 2));
    EXPECT_NEAR(work_s(basis().trials), k_work_s, 1e-9);
    EXPECT_NEAR(row.makespan_s, k_work_s, 1e-9);
    EXPECT_NEAR(row.times_bound, 2, 1e-9);
    EXPECT_NEAR(row.busy, 1, 1e-9);
    EXPECT_EQ(row.network_bytes, 0);
    EXPECT_NEAR(*row.price, 36 * k_work_s / 3600, 1e-9);
}

TEST(Forecast, MopIsItsBoundOrTheSimulation) {
    auto what = case_of("mop", 2);
    auto const bound = forecast(basis(), what);
    EXPECT_NEAR(bound.makespan_s, k_work_s / 2, 1e-9);
    EXPECT_NEAR(bound.times_bound, 1, 1e-9);
    EXPECT_EQ(bound.network_bytes, 4 * 2 * 2 * 8'000'000);
    EXPECT_EQ(bound.link_bytes, bound.network_bytes / 2);
    EXPECT_EQ(bound.data_bytes, 1'000'000);
    EXPECT_EQ(bound.memory.training, 20'000'000u);
    EXPECT_NEAR(*bound.price, 2 * 36 * k_work_s / 2 / 3600, 1e-9);
    what.simulated_s = k_work_s;
    auto const simulated = forecast(basis(), what);
    EXPECT_NEAR(simulated.makespan_s, k_work_s, 1e-9);
    EXPECT_NEAR(simulated.busy, 0.5, 1e-9);
}

// The trainer with most has 500 rows in 34 steps: all wait for it. W = 4 MB is one bucket: 2 (K-1)/K W/B = 4 ms a step.
TEST(Forecast, AllReduceCountsTheStepsOfTheFullestTrainer) {
    auto const row = forecast(basis(), case_of("allreduce", 2));
    double const compute = 4 * 2 * (34 * 0.01 + 500 * 0.001 + 0.25), exposed = 4 * 2 * 34 * 0.004;
    EXPECT_NEAR(row.makespan_s, compute + exposed, 1e-6);
    EXPECT_NEAR(row.communication_s, exposed, 1e-6);
    EXPECT_EQ(row.network_bytes, std::int64_t{4 * 2 * 34 * 2} * 4'000'000);
    EXPECT_NEAR(row.busy, 4 * 2 * (2 * 34 * 0.01 + 1 + 0.5) / (2 * row.makespan_s), 1e-9);
}

TEST(Forecast, TaskParallelHoldsCopies) {
    auto const row = forecast(basis(), case_of("task_parallel", 4));
    EXPECT_EQ(row.data_bytes, 4'000'000);
    EXPECT_NEAR(row.makespan_s, 2 * k_epoch_s + 0.75e-3, 1e-6);
}

TEST(Forecast, AveragedSlotsTravelToo) {
    auto what = case_of("model_averaging", 2);
    what.strategy.batch = GroupBatch::per_worker;
    auto const weights = forecast(basis(), what).network_bytes;
    what.strategy.averaging.momentum = SlotPolicy::averaged;
    EXPECT_EQ(forecast(basis(), what).network_bytes, 2 * weights);
}

// No one knows the seconds: then no link costs any, and no price is made up.
TEST(Forecast, WithoutSecondsTimesAreShares) {
    auto relative = basis();
    relative.knows_seconds = false;
    for (auto& trial : relative.trials) {
        trial.fixed_s = 0;
        trial.row_s = 1.0 / 8000;
        trial.validation_s = 0;
    }
    auto const row = forecast(relative, case_of("allreduce", 2));
    EXPECT_NEAR(row.makespan_s, 0.5, 1e-9);
    EXPECT_NEAR(row.communication_s, 0, 1e-15);
    EXPECT_FALSE(row.price);
}

PlanReport report() {
    PlanReport out;
    out.experiment = "e";
    out.dataset = "data/d";
    out.trials = 4;
    out.epochs = 8;
    out.sums = "4 trials, between 6 and 9 epochs in all";
    out.least_epochs = 6;
    out.most_epochs = 9;
    out.rows = 1000;
    out.shards = 4;
    out.basis = basis();
    out.costs = "as given";
    out.assumptions = {"latency not given: 0.1 ms; --latency sets it"};
    TrainersForecast two;
    two.trainers = 2;
    for (auto const* name : {"mop", "allreduce"}) two.rows.push_back(forecast(out.basis, case_of(name, 2)));
    two.rows.emplace_back().strategy.name = "parameter_server";
    two.rows.back().refused = "it cannot";
    two.allreduce = Crossovers{};
    two.allreduce->batch = {Crossover::Kind::from, 1, 250, 64};
    two.allreduce->batch_close = two.allreduce->bandwidth =
        two.allreduce->bandwidth_close = {Crossover::Kind::never, 1, 250, 250};
    out.forecasts = {two};
    out.curve = {{1, k_work_s, 1, 1}, {2, k_work_s / 2, 2, 1}};
    return out;
}

TEST(Report, TextHasARowForEachStrategy) {
    auto const text = report_text(report(), 100);
    EXPECT_TRUE(text.starts_with("experiment  e: 4 trials, between 6 and 9 epochs in all; here 8, from made-up results\n"))
        << text;
    EXPECT_NE(text.find("\n2 trainers\nstrategy          makespan   busy  x bound"), text.npos) << text;
    EXPECT_NE(text.find("\nmop                  7.28s  100 %     1.00  128.0 MB  64.0 MB"), text.npos) << text;
    EXPECT_NE(text.find("\nparameter_server   refused\n"), text.npos) << text;
    EXPECT_NE(text.find("\nparameter_server is refused: it cannot\n"), text.npos) << text;
    EXPECT_NE(text.find("allreduce is faster than mop   batch size: from 64; bandwidth: never in"), text.npos) << text;
    EXPECT_NE(text.find("worth having: 2 trainers (busy 80 % or more"), text.npos) << text;
    EXPECT_NE(text.find("assumed: latency not given: 0.1 ms; --latency sets it\n"), text.npos) << text;
}

TEST(Report, TextSaysWhatItDoesNotKnow) {
    auto unknown = report();
    unknown.basis.knows_seconds = false;
    auto const text = report_text(unknown, 100);
    EXPECT_NE(text.find("W: one trainer's time for all trials; it is not known"), text.npos) << text;
    EXPECT_NE(text.find("7.280 W"), text.npos) << text;
    EXPECT_EQ(text.find("price"), text.npos) << text;
}

TEST(Report, JsonHasUnitsInItsKeys) {
    auto const json = report_json(report());
    auto const& rows = json.at("plans").array().at(0).at("strategies").array();
    EXPECT_NEAR(rows[0].at("makespan_s").number(), k_work_s / 2, 1e-9);
    EXPECT_TRUE(rows[0].at("makespan_work").is_null());
    EXPECT_EQ(rows[0].at("memory").at("training_bytes").integer(), 20'000'000);
    EXPECT_EQ(rows[2].at("refused").string(), "it cannot");
    auto const& beats = json.at("plans").array().at(0).at("allreduce_beats_mop");
    EXPECT_EQ(beats.at("batch_rows").at("value").number(), 64);
    EXPECT_TRUE(beats.at("bandwidth_bytes_per_s").at("value").is_null());
    EXPECT_EQ(json.at("trainers_worth").integer(), 2);
    auto unknown = report();
    unknown.basis.knows_seconds = false;
    auto const relative = report_json(unknown);
    EXPECT_TRUE(relative.at("work_s").is_null());
    EXPECT_TRUE(relative.at("plans").array().at(0).at("strategies").array()[0].at("makespan_s").is_null());
}

}  // namespace forecast_test
}  // namespace hopscotch
