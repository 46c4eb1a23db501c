// SPDX-License-Identifier: Apache-2.0
// What the equivalence tests compare a strategy with: one process that trains a trial alone over the same visit order.
#pragma once
#include <bit>
#include <filesystem>
#include <functional>

#include "comm/courier.hpp"
#include "comm/traffic.hpp"
#include "core/hash.hpp"
#include "core/ids.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "data/dataset/shard.hpp"
#include "job_harness.hpp"
#include "model/state/state.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "schedule/lap.hpp"
#include "schedule/policy.hpp"
#include "strategy/build_info.hpp"

namespace hopscotch::testing {

// The oracle: no strategy, no trainer, no messages. One model object, one block of memory, the visit order in a loop.
class Alone {
public:
    explicit Alone(Experiment const& experiment)
        : experiment_(experiment), manifest_(read_manifest(experiment.data.path)), workspace_("cpu", 1) {
        auto const read = [&](ShardFile const& file) {
            return shard_in_memory(read_shard(experiment.data.path, file, manifest_));
        };
        for (auto const& file : manifest_.train) shards_.push_back(read(file));
        for (auto const& file : manifest_.valid) valid_.push_back(read(file));
    }

    // Hash after every unit, then the validation loss of every epoch.
    struct Result {
        std::vector<std::uint64_t> hashes;
        std::vector<Evaluation> validation;
        std::uint64_t state_bytes = 0;
    };
    Result train(TrialId trial, Assignment const& assignment) {
        Problems problems("oracle");
        auto const config = resolve(experiment_, assignment, problems);
        problems.throw_if_any();
        auto const model = make_trial_model(config, manifest_, workspace_);
        std::vector<std::byte> memory(model.state->layout().bytes + 64);
        MutableBytes const state(memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64),
                                 model.state->layout().bytes);
        model.state->initialise(state, static_cast<std::uint64_t>(experiment_.seed), trial);
        model.state->bind(state);
        Result result;
        result.state_bytes = model.state->layout().bytes;
        auto const count = static_cast<int>(shards_.size());
        auto const folds = experiment_.search.copies.folds;
        auto const held_out = [&](int shard) { return folds > 1 && shard % folds == config.fold; };
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            for (int step = 0; step < count; ++step) {
                auto const shard = visit(trial, step);
                if (held_out(shard)) continue;
                model.training->train_unit(*shards_[static_cast<std::size_t>(shard)],
                                           {static_cast<std::uint64_t>(experiment_.seed), trial, epoch, ShardId(shard)},
                                           [] {});
                result.hashes.push_back(state_hash(state, model.state->layout()));
            }
            Evaluation sums(manifest_.task, manifest_.outputs);
            auto const evaluate = [&](ShardSource& shard) {
                model.evaluation->evaluate(shard, {0, model.evaluation->evaluation_batches(shard.rows())}, sums);
            };
            for (auto const& shard : valid_)
                if (folds == 1) evaluate(*shard);
            for (int step = 0; step < count; ++step)
                if (auto const shard = visit(trial, step); held_out(shard))
                    evaluate(*shards_[static_cast<std::size_t>(shard)]);
            model.state->end_epoch(sums.loss() / static_cast<double>(sums.rows()));
            result.validation.push_back(std::move(sums));
        }
        return result;
    }

private:
    // The order of route_of in job_harness.hpp, written out once more.
    int visit(TrialId trial, int step) const {
        auto const count = static_cast<int>(shards_.size());
        if (!has_setting(experiment_.strategy.name, "visits")) return (trial.value + step) % count;
        int const first = (3 * trial.value + 1) % count;
        return trial.value % 2 == 0 ? (first + step) % count : (first - step + count) % count;
    }

    Experiment const& experiment_;
    Manifest manifest_;
    Workspace workspace_;
    std::vector<std::unique_ptr<ShardSource>> shards_, valid_;
};

// Every unit's hash and every validation. Where states do not hop, this is all there is to compare.
inline void expect_same_bits(JobResult const& job, Experiment const& experiment, std::vector<Assignment> const& trials,
                             int shards) {
    Alone alone(experiment);
    for (std::size_t t = 0; t < trials.size(); ++t) {
        auto const expected = alone.train(TrialId(t), trials[t]);
        auto const trained = expected.hashes.size() / k_epochs;  // shards: all but those held out
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            auto const found = job.laps.find({TrialId(t), epoch});
            ASSERT_NE(found, job.laps.end());
            auto const& lap = found->second;
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            ASSERT_EQ(lap.units.size(), trained);
            EXPECT_LE(trained, static_cast<std::size_t>(shards));
            for (std::size_t u = 0; u < lap.units.size(); ++u)
                EXPECT_EQ(to_hex(lap.units[u].state_hash),
                          to_hex(expected.hashes[static_cast<std::size_t>(epoch) * trained + u]))
                    << "trial " << t << " epoch " << epoch << " unit " << u;
            auto const& sums = expected.validation[static_cast<std::size_t>(epoch)];
            EXPECT_EQ(lap.valid.rows, sums.rows());
            EXPECT_EQ(lap.valid.loss, sums.loss()) << to_json(trials[t]).dump() << " epoch " << epoch;
            EXPECT_EQ(lap.valid.correct, sums.correct());
            EXPECT_EQ(std::bit_cast<std::uint64_t>(lap.valid.f1), std::bit_cast<std::uint64_t>(sums.scores().f1))
                << "or both NaN";
            EXPECT_EQ(lap.state.bytes, expected.state_bytes);
        }
    }
}

inline void expect_equal(JobResult const& job, Experiment const& experiment, std::vector<Assignment> const& trials,
                         int shards) {
    expect_same_bits(job, experiment, trials, shards);
    auto const& policy = policy_named(experiment.strategy.policy);
    std::int64_t hops = 0;
    std::uint64_t hop_bytes = 0;
    for (auto const& [key, lap] : job.laps) {
        hops += lap.hops.count;
        hop_bytes += static_cast<std::uint64_t>(lap.hops.count) * lap.state.bytes;
        auto const held_out = held_out_of(trials[key.trial.index()], experiment.search.copies.folds);
        auto const route = route_of(key.trial, shards, experiment.strategy);
        EXPECT_EQ(lap.hops.count, hops_per_lap(policy, key, job.owners, held_out, route));
    }
    // The byte counter: exactly hops x state size, nothing for stays.
    EXPECT_EQ(job.totals.bytes[static_cast<std::size_t>(Traffic::state)], hop_bytes) << hops << " hops";
}

}  // namespace hopscotch::testing
