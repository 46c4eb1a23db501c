// SPDX-License-Identifier: Apache-2.0
// allreduce against K workers in one loop (bit for bit where the sum is in rank order), against one process with the whole
// batch, and against the byte formula. Threads of 1..4 trainers, and MPI.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "group_oracle.hpp"
#include "strategy/together/buckets.hpp"
#include "whole_batches.hpp"

namespace hopscotch {
namespace allreduce_test {

using namespace testing;

// 5 shards of 31 rows (the first: 32); the sums of both trials and epochs.
void expect_workers_bits(JobResult const& job, Experiment const& experiment) {
    auto const trials = two_trials();
    std::uint64_t expected_bytes = 0;
    for (std::size_t t = 0; t < trials.size(); ++t) {
        Workers workers(experiment, TrialId(t), trials[t], job.owners);
        auto const k = static_cast<std::uint64_t>(workers.size());
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            workers.synchronous_epoch(epoch);
            auto const& lap = job.laps.at({TrialId(t), epoch});
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(workers.hash(0))) << "trial " << t << " epoch " << epoch << " K " << k;
            EXPECT_EQ(lap.sync.rounds, workers.plan().steps());
            auto const weights = workers.model(0).state->layout().end_of(Block::parameter);
            expected_bytes += static_cast<std::uint64_t>(workers.plan().steps()) * 2 * (k - 1) * weights;
            std::int64_t rows = 0;
            for (auto const& unit : lap.units) rows += unit.rows;
            EXPECT_EQ(rows, 5 * 31 + 1);
            EXPECT_EQ(lap.valid.rows, 5 * 11);
        }
    }
    EXPECT_EQ(gradient_bytes(job), expected_bytes) << "2(K-1) W a step";
}

// E2, E4, E5, E6: shards that do not divide, trainers with fewer steps than others; the sum in rank order, whatever the
// buckets; bytes by the formula.
TEST(Allreduce, DeterministicEqualsKWorkersInOneLoop) {
    auto const object = [](char const* text) { return parse_json_or_throw(text, "test"); };
    std::vector<Settings> const cases{
        {},
        {{"strategy.first_bucket_mb", 1e-4}, {"strategy.bucket_mb", 1e-5}, {"train.optimizer.momentum", 0.9}},
        {{"strategy.batch", "per_worker"}, {"train.optimizer", object(R"({"name": "adam"})")}, {"train.clip_norm", 0.5}},
        {{"train.accumulate", 3}, {"train.ema", 0.9}},
        {{"train.optimizer", object(R"({"name": "sgd", "weight_decay": 0.1, "decay": "weights"})")},
         {"strategy.bucket_mb", 1e-5}},
        {{"model", object(R"({"name": "lenet"})")}, {"strategy.first_bucket_mb", 0.01}, {"strategy.bucket_mb", 0.02}},
    };
    for (auto settings : cases) {
        settings.emplace_back("strategy.algorithm", "deterministic");
        run_group("allreduce", settings, expect_workers_bits);
    }
}

std::vector<float> parameters_of(MutableBytes state, StateLayout const& layout) {
    auto const* const at = reinterpret_cast<float const*>(state.data());
    return {at, at + layout.end_of(Block::parameter) / sizeof(float)};
}

double largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
    return largest;
}

// E1: K parts of a batch are the batch, for shards that do not divide and trainers that run out before others: after an
// epoch the weights are those of one process that sees the same rows in each step.
TEST(Allreduce, PartsOfABatchAreTheBatch) {
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", 5, 31).string();
    for (auto const* optimizer : {R"({"name": "sgd", "lr": 0.05, "momentum": 0.9})", R"({"name": "adam", "lr": 0.001})"}) {
        auto described = document(data, 12, "allreduce");
        described.set("train.optimizer", parse_json_or_throw(optimizer, "test"));
        auto const experiment = read_document(described);
        for (int trainers = 1; trainers <= 4; ++trainers) {
            auto const owners = make_owners(5, trainers, 2);
            Workers parts(experiment, TrialId(0), {}, owners);
            parts.synchronous_epoch(0);
            Workers whole(experiment, TrialId(0), {}, make_owners(5, 1, 2));
            WholeBatches source(experiment, owners, parts.plan());
            auto& model = whole.model(0);
            auto const before = parameters_of(whole.state(0), model.state->layout());
            model.training->begin_pass(source, {7, TrialId(0), 0, ShardId(0)}, experiment.train.batch_size);
            for (std::int64_t step = 0; step < parts.plan().steps(); ++step) {
                ASSERT_GT(model.training->next_gradient({}, {}), 0);
                model.training->update(parts.plan().total(step));
            }
            auto const after = parameters_of(whole.state(0), model.state->layout());
            EXPECT_LT(largest_difference(parameters_of(parts.state(0), model.state->layout()), after), 2e-6) << trainers;
            EXPECT_GT(largest_difference(before, after), 1e-3) << "it has trained";
        }
    }
}

// E3: whatever the algorithm, every trainer ends a lap with the same bits (else the run itself ends with an error), and a
// ring's are those of the deterministic sum to rounding.
TEST(Allreduce, RingAgreesWithTheDeterministicSum) {
    run_group("allreduce", {{"train.optimizer.momentum", 0.9}}, [](JobResult const& job, Experiment const& experiment) {
        Workers workers(experiment, TrialId(0), two_trials()[0], job.owners);
        workers.synchronous_epoch(0);
        auto const& lap = job.laps.at({TrialId(0), 0});
        ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
        if (workers.size() <= 2) {
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(workers.hash(0))) << "two terms have one order";
        }
        double loss = 0;
        for (auto const& unit : lap.units) loss += unit.loss_sum;
        EXPECT_NEAR(loss / (5 * 31 + 1), 2.3, 0.4);
        EXPECT_EQ(gradient_bytes(job) % 4, 0U);
    });
}

// Buckets cover the parameters once, from the back; never more than tags tell apart, never more than MPI counts.
TEST(Buckets, TheFirstIsNeverLargerThanTheOthers) {
    StrategyConfig config;
    config.reduce.bucket_mb = 0.125;
    EXPECT_EQ(bucket_sizes(config).first_bytes, std::size_t{1} << 17);
    config.reduce.bucket_mb = 8;
    EXPECT_EQ(bucket_sizes(config).first_bytes, std::size_t{1} << 20);
}

TEST(Buckets, CoverTheParametersOnce) {
    StateLayout layout;
    std::size_t at = 0;
    auto const add = [&](std::vector<std::int64_t> shape, std::size_t floats) {
        layout.tensors.push_back({"t", Block::parameter, Element::float32, std::move(shape), at, floats * sizeof(float)});
        at += (floats + 15) / 16 * 16 * sizeof(float);
    };
    add({100, 77}, 7700);
    add({5, 3}, 15);
    add({100}, 100);
    add({7}, 7);
    OptimizerConfig apart;
    apart.decay_all = false;
    auto const floats = layout.end_of(Block::parameter) / sizeof(float);
    for (auto const& optimizer : {OptimizerConfig{}, apart})
        for (std::size_t const bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1000}, std::size_t{1} << 40}) {
            auto const buckets = cut_buckets(layout, {bytes, 2 * bytes}, optimizer);
            std::vector<int> covered(floats);
            for (auto const& bucket : buckets)
                for (std::size_t i = 0; i < bucket.size; ++i) ++covered.at(bucket.first + i);
            EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), static_cast<std::ptrdiff_t>(floats)) << bytes;
            EXPECT_LE(buckets.size(), 602U);
        }
    EXPECT_EQ(cut_buckets(layout, {64, 1 << 20}, {}).size(), 2U) << "a small one first";
    EXPECT_EQ(cut_buckets(layout, {1 << 20, 1 << 20}, apart).size(), 2U) << "those without weight decay by themselves";
}

}  // namespace allreduce_test
}  // namespace hopscotch
