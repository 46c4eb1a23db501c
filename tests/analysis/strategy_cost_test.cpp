// SPDX-License-Identifier: Apache-2.0
// Whole runs: a worked example, cases whose makespan is known by hand, and what must hold for any workload.
#include "analysis/cost/strategy_cost.hpp"

#include "analysis/cost/run_estimate.hpp"
#include "experiment/strategy_traits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "schedule/policy.hpp"

namespace hopscotch {
namespace strategy_cost_test {

// 16 models of 100 MB with momentum, a million rows of 100 kB, batches of 256.
Workload worked_example(std::int64_t epochs) {
    ModelWork model;
    model.epochs = epochs;
    model.rows = 1'000'000;
    model.batch = 256;
    model.row_s = 1e-3;
    model.weight_bytes = model.optimizer_bytes = 100'000'000;
    return {std::vector<ModelWork>(16, model), 100'000'000'000};
}

Cluster eight() { return {8, {12.5e9, 10e-6}}; }

double giga(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

TEST(RunEstimate, EachStrategyHasARow) {
    for (auto const& name : strategy_names()) {
        RunToEstimate run;
        run.strategy.name = name;
        run.work = worked_example(1);
        run.cluster = eight();
        EXPECT_NO_THROW(estimate_run(run)) << name;
    }
}

TEST(StrategyCost, BytesOfTheWorkedExample) {
    auto const work = worked_example(1);
    EXPECT_NEAR(giga(estimate_all_reduce(work, eight(), {}).network_bytes), 87'500, 20);
    Servers const dedicated{8, ServerPlacement::dedicated, ServerFlow::push_then_pull};
    EXPECT_NEAR(giga(estimate_parameter_server(work, eight(), dedicated, GroupBatch::split).network_bytes), 100'000, 20);
    EXPECT_NEAR(giga(estimate_averaging(work, eight(), {}).network_bytes), 22.4, 1e-9);
    EXPECT_NEAR(giga(estimate_mop(work, eight(), 8).network_bytes), 25.6, 1e-9);
    EXPECT_NEAR(giga(estimate_task_parallel(work, eight(), TaskData::replicated).network_bytes), 700 + 1.6, 1e-9);
    // Every 50 of 489 local steps: 9.78 rounds an epoch if they ran on through its end (219 GB), but it ends with one.
    EXPECT_NEAR(giga(489 * 16 * all_reduce_bytes(8, 100'000'000)) / 50, 219, 0.1);
    EXPECT_NEAR(giga(estimate_averaging(work, eight(), {50, Collective::ring}).network_bytes), 224, 1e-9);
    EXPECT_NEAR(giga(estimate_mop(worked_example(7), eight(), 8).network_bytes), 7 * 25.6, 1e-9);
}

TEST(StrategyCost, BytesOfTheServersAreThoseOfTheRingWhenTheyAreColocated) {
    auto const work = worked_example(2);
    auto const ring = estimate_all_reduce(work, eight(), {}).network_bytes;
    for (int servers : {1, 3, 8}) {
        Servers const colocated{servers, ServerPlacement::colocated, ServerFlow::push_then_pull};
        EXPECT_EQ(estimate_parameter_server(work, eight(), colocated, GroupBatch::split).network_bytes, ring);
        EXPECT_EQ(estimate_async_server(work, eight(), colocated, GroupBatch::split).network_bytes, ring);
    }
}

TEST(StrategyCost, StorageAndMemory) {
    auto const work = worked_example(1);
    constexpr std::int64_t data = 100'000'000'000, weights = 100'000'000;
    EXPECT_EQ(estimate_mop(work, eight(), 8).storage_bytes, data);
    EXPECT_EQ(estimate_all_reduce(work, eight(), {}).storage_bytes, data);
    EXPECT_EQ(estimate_task_parallel(work, eight(), TaskData::replicated).storage_bytes, 8 * data);
    EXPECT_EQ(estimate_task_parallel(work, eight(), TaskData::remote).storage_bytes, data);
    EXPECT_EQ(estimate_sequential(work).memory_bytes, 3 * weights);
    EXPECT_EQ(estimate_all_reduce(work, eight(), {}).memory_bytes, 3 * weights);
    EXPECT_EQ(estimate_mop(work, eight(), 8).memory_bytes, 5 * weights);
    EXPECT_EQ(estimate_averaging(work, eight(), {}).memory_bytes, 4 * weights);
    auto const server = [&](int count, ServerPlacement placement) {
        return estimate_parameter_server(work, eight(), {count, placement, ServerFlow::pipelined}, GroupBatch::split)
            .memory_bytes;
    };
    EXPECT_EQ(server(1, ServerPlacement::dedicated), 10 * weights);
    EXPECT_EQ(server(8, ServerPlacement::dedicated), 2 * weights);
    EXPECT_EQ(server(8, ServerPlacement::colocated), 2 * weights + weights * 10 / 8);
}

// One model of 100 steps; a step is 2 s on the whole batch of 8 and 1.25 s on a quarter.
Workload one_model() {
    ModelWork model;
    model.rows = 800;
    model.batch = 8;
    model.fixed_s = 1;
    model.row_s = 0.125;
    model.weight_bytes = 1000;
    model.optimizer_bytes = 500;
    return {{model}, 4000};
}

TEST(StrategyCost, SplittingABatchDoesNotSplitWhatAStepCostsAnyway) {
    Cluster const four{4, {1e12, 0}};
    EXPECT_DOUBLE_EQ(estimate_sequential(one_model()).makespan_s, 200);
    auto const split = estimate_all_reduce(one_model(), four, {});
    EXPECT_NEAR(split.makespan_s, 125, 1e-6);
    EXPECT_NEAR(split.compute_s, 500, 1e-6);
    AllReduceUse per_worker;
    per_worker.batch = GroupBatch::per_worker;
    EXPECT_NEAR(estimate_all_reduce(one_model(), four, per_worker).makespan_s, 50, 1e-6);
    EXPECT_NEAR(estimate_averaging(one_model(), four, {}).makespan_s, 50, 1e-6);
    EXPECT_NEAR(estimate_mop(one_model(), four, 4).makespan_s, 200, 1e-6);  // a model alone is not faster
}

TEST(StrategyCost, AllButTheLastBucketHidesBehindTheBackwardPass) {
    Cluster const two{2, {100, 0}};  // 1000 bytes: 10 s; a step of half a batch: 1.5 s, 1 s of it backward
    AllReduceUse use;
    auto const exposed = [&] { return estimate_all_reduce(one_model(), two, use).communication_s / 100; };
    EXPECT_NEAR(exposed(), 10, 1e-9);  // one bucket
    use.bucket_bytes = 100;            // ten: 9 s could hide, 1 s does
    EXPECT_NEAR(exposed(), 9, 1e-9);
    auto fast = two;
    fast.link.bytes_per_s = 10'000;  // ten of 0.01 s: all but the last one
    EXPECT_NEAR(estimate_all_reduce(one_model(), fast, use).communication_s / 100, 0.01, 1e-9);
    auto const all = estimate_all_reduce(one_model(), fast, use);
    EXPECT_NEAR(all.makespan_s, 150 + all.communication_s, 1e-9);
}

TEST(StrategyCost, HopsCostTimeOnlyWhenNothingElseIsToDo) {
    auto work = one_model();
    Cluster const four{4, {15, 0}};  // a hop takes 100 s
    EXPECT_DOUBLE_EQ(estimate_mop(work, four, 4).makespan_s, 200 + 4 * 100);
    EXPECT_DOUBLE_EQ(estimate_mop(work, four, 4).communication_s, 400);
    EXPECT_DOUBLE_EQ(estimate_mop(work, {1, four.link}, 4).communication_s, 0);
    EXPECT_EQ(estimate_mop(work, {1, four.link}, 4).network_bytes, 0);
    work.models.assign(16, work.models[0]);
    EXPECT_DOUBLE_EQ(estimate_mop(work, four, 4).makespan_s, 16 * 4 * 100 / 4);  // the links are the bound: 16 hops each way
    Cluster const fast{4, {15'000, 0}};
    EXPECT_DOUBLE_EQ(estimate_mop(work, fast, 4).makespan_s, 800);
    EXPECT_DOUBLE_EQ(estimate_mop(work, fast, 4).communication_s, 0);
}

// The bound without hops is that of visit.hpp, which sees every unit.
TEST(StrategyCost, MopsBoundIsThatOfTheUnits) {
    Workload work;
    std::vector<TrialCost> units;
    for (int t = 0; t < 7; ++t) {
        ModelWork model;
        model.epochs = 1 + t % 3;
        model.rows = 64 * 4;
        model.batch = 16;
        model.fixed_s = 0.5 + t;
        work.models.push_back(model);
        units.push_back({TrialId(t), 4 * model.fixed_s, 0, static_cast<int>(model.epochs)});
    }
    auto const owners = make_owners(4, 4, 7);
    EXPECT_NEAR(estimate_mop(work, {4, {1e15, 0}}, 4).makespan_s, owners_bound(policy_named("planned"), units, owners),
                1e-6);
}

TEST(StrategyCost, TaskParallelPaysForItsData) {
    auto work = one_model();
    work.models.assign(5, work.models[0]);
    Cluster const four{4, {10, 0}};  // 3000 missing bytes take a trainer 300 s
    auto const copied = estimate_task_parallel(work, four, TaskData::replicated);
    EXPECT_DOUBLE_EQ(copied.makespan_s, 300 + 400);  // five equal models on four trainers: two rounds
    EXPECT_DOUBLE_EQ(copied.communication_s, 300);
    auto const remote = estimate_task_parallel(work, four, TaskData::remote);
    EXPECT_DOUBLE_EQ(remote.makespan_s, 600);  // 300 s of reading each, 200 s of it while training
    EXPECT_EQ(remote.network_bytes, 5 * 3000 + 5 * 1000);
}

TEST(StrategyCost, ValidationIsWorkToo) {
    auto work = one_model();
    work.models[0].epochs = 2;
    work.models[0].validation_s = 8;
    Cluster const four{4, {1e15, 0}};
    EXPECT_NEAR(estimate_sequential(work).makespan_s, 400 + 16, 1e-9);
    EXPECT_NEAR(estimate_mop(work, four, 4).makespan_s, 400 + 16, 1e-9);
    EXPECT_NEAR(estimate_all_reduce(work, four, {}).makespan_s, 250 + 4, 1e-9);
    EXPECT_NEAR(estimate_all_reduce(work, four, {}).compute_s, 4 * 254, 1e-9);
}

TEST(StrategyCost, WithoutABarrierThereIsLessToWaitFor) {
    auto const work = one_model();
    for (double const bytes_per_s : {1e2, 1e4, 1e6}) {
        Cluster const four{4, {bytes_per_s, 1e-3}};
        Servers const one{1, ServerPlacement::dedicated, ServerFlow::push_then_pull};
        EXPECT_LE(estimate_async_server(work, four, one, GroupBatch::split).makespan_s,
                  estimate_parameter_server(work, four, one, GroupBatch::split).makespan_s);
    }
    Cluster const slow{4, {100, 0}};  // four times 10 s through one link for every update of a worker, and once at the start
    EXPECT_NEAR(estimate_async_server(work, slow, {1, ServerPlacement::dedicated}, GroupBatch::split).makespan_s,
                100 * 40 + 40, 1e-9);
}

TEST(StrategyCost, AveragingCostsARoundAtEveryEpochsEnd) {
    auto work = one_model();  // 25 local steps an epoch on four trainers
    work.models[0].epochs = 3;
    Cluster const four{4, {150, 0}};  // a round of 1000 bytes: 10 s
    EXPECT_NEAR(estimate_averaging(work, four, {}).communication_s, 3 * 10, 1e-9);
    EXPECT_NEAR(estimate_averaging(work, four, {10, Collective::ring}).communication_s, 3 * 3 * 10, 1e-9);
    EXPECT_NEAR(estimate_averaging(work, four, {10, Collective::star}).communication_s, 3 * 3 * 40, 1e-9);
    EXPECT_NEAR(estimate_averaging(work, four, {1, Collective::ring}).communication_s, 3 * 25 * 10, 1e-9);
}

// Four models on four groups of two: 30 steps of 26 ms and an all-reduce of 4.2 ms, six bundles of which the state goes to
// one other trainer in 8.1 ms, and 0.1 s of validation. With four bundles on four groups all hops are in sight.
TEST(StrategyCost, GroupsByHand) {
    ModelWork model{2, 960, 32, 0.01, 0.001, 0.1, 4'000'000, 4'000'000};
    Link const link{1e9, 1e-4};
    GroupUse const use{2, 6, {Collective::direct}};
    double const epoch_s = 30 * (0.026 + 0.0042) + 6 * 0.0081;
    EXPECT_NEAR(group_epoch_s(model, link, use), epoch_s, 1e-9);
    auto const out = estimate_mop_in_groups({std::vector<ModelWork>(4, model), 1'000'000}, {4, link}, 6, use);
    EXPECT_NEAR(out.makespan_s, 2 * (epoch_s + 0.05 + 0.0081) + 12 * 0.0081, 1e-9);
    EXPECT_NEAR(out.compute_s, 4 * 2 * (2 * 30 * 0.026 + 0.1), 1e-9);
    EXPECT_NEAR(out.communication_s, out.makespan_s - 2 * (30 * 0.026 + 0.05), 1e-9);
    EXPECT_EQ(out.network_bytes, std::int64_t{4} * 2 * (30 * 2 * 4'000'000 + 7 * 8'000'000 + 6 * 8'000'000));
    // Hidden behind the backward pass: all but the last of 16 buckets.
    GroupUse const in_buckets{2, 6, {Collective::direct, 250'000}};
    EXPECT_NEAR(group_epoch_s(model, link, in_buckets), 30 * (0.026 + 0.00045) + 6 * 0.0081, 1e-9);
}

}  // namespace strategy_cost_test
}  // namespace hopscotch
