// SPDX-License-Identifier: Apache-2.0
// allreduce against K workers in one loop (bit for bit where the sum is in rank order), against one process with the whole
// batch, and against the byte formula. Threads of 1..4 trainers, and MPI.
#include <cstring>

#include "group_oracle.hpp"
#include "strategy/buckets.hpp"

namespace hopscotch {
namespace {

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
            EXPECT_EQ(to_hex(lap.state_hash), to_hex(workers.hash(0))) << "trial " << t << " epoch " << epoch << " K " << k;
            EXPECT_EQ(lap.sync_rounds, workers.plan().steps());
            auto const weights = workers.model(0).layout().end_of(Block::parameter);
            expected_bytes += static_cast<std::uint64_t>(workers.plan().steps()) * 2 * (k - 1) * weights;
            std::int64_t rows = 0;
            for (auto const& unit : lap.units) rows += unit.rows;
            EXPECT_EQ(rows, 5 * 31 + 1);
            EXPECT_EQ(lap.valid_rows, 5 * 11);
        }
    }
    EXPECT_EQ(gradient_bytes(job), expected_bytes) << "2(K-1) W a step";
}

// E2, E4, E5, E6: shards that do not divide, trainers with fewer steps than others; the sum in rank order, whatever the buckets;
// bytes by the formula.
TEST(Allreduce, DeterministicEqualsKWorkersInOneLoop) {
    auto const object = [](char const* text) { return parse_json_or_throw(text, "test"); };
    std::vector<Settings> const cases{
        {},
        {{"strategy.first_bucket_mb", 1e-4}, {"strategy.bucket_mb", 1e-5}, {"train.optimizer.momentum", 0.9}},
        {{"strategy.batch", "per_worker"}, {"train.optimizer", object(R"({"name": "adam"})")}, {"train.clip_norm", 0.5}},
        {{"train.accumulate", 3}, {"train.ema", 0.9}},
        {{"train.optimizer", object(R"({"name": "sgd", "weight_decay": 0.1, "decay": "weights"})")}, {"strategy.bucket_mb", 1e-5}},
        {{"model", object(R"({"name": "lenet"})")}, {"strategy.first_bucket_mb", 0.01}, {"strategy.bucket_mb", 0.02}},
    };
    for (auto settings : cases) {
        settings.emplace_back("strategy.algorithm", "deterministic");
        run_group("allreduce", settings, expect_workers_bits);
    }
}

// E1: K parts of a batch are the batch. Shards of equal size, so that steps are whole batches of 12.
TEST(Allreduce, RingIsTheWholeBatchToRounding) {
    run_group("allreduce", {{"train.optimizer.momentum", 0.9}}, [](JobResult const& job, Experiment const& experiment) {
        Workers workers(experiment, TrialId(0), two_trials()[0], job.owners);
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            workers.synchronous_epoch(epoch);
            auto const& lap = job.laps.at({TrialId(0), epoch});
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
        }
    });
}

}  // namespace
}  // namespace hopscotch

int main(int argc, char** argv) { return hopscotch::testing::both_worlds_main(argc, argv); }
