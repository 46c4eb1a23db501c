// SPDX-License-Identifier: Apache-2.0
// One trainer's hands: its shards in memory, the validation data, and a model per trial that trains a unit or a piece of
// validation on whatever state it is given. Every strategy, and replay, trains through this class and nothing else.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "data/batches.hpp"
#include "model/trial_model.hpp"
#include "strategy/messages.hpp"

namespace hopscotch {

// Thrown out of a unit when rank 0 has ended the job meanwhile.
struct JobEnded {};

// Makes the model of a trial; tests inject one that misbehaves.
using ModelFactory =
    std::function<std::unique_ptr<TrialModel>(TrialConfig const&, DataSchema const&, Normaliser const&, Workspace&)>;

class TrialRunner {
public:
    // Reads the shards (and all of validation) into memory. Throws DataError, ConfigError.
    TrialRunner(Experiment experiment, std::vector<ShardId> const& shards, TrainerId self,
                ModelFactory factory = make_trial_model);

    // The trial's state before its first unit.
    Buffer initial_state(Lap const& lap, BufferPool& pool);

    // Trains the unit at journey.step, appends its UnitRecord and moves on one step. Never throws for what the trial did:
    // divergence and exceptions end up in journey.record.outcome and reason. activity tells the courier of progress; may be
    // null.
    void run_unit(Journey& journey, MutableBytes state, Activity* activity);

    // Validates one piece, no longer than a training unit. True when validation is complete.
    bool run_validation_piece(Journey& journey, MutableBytes state, Activity* activity);

    void forget(TrialId trial) { models_.erase(trial); }
    Manifest const& manifest() const { return manifest_; }
    StateLayout const& layout(Lap const& lap) { return model(lap).layout(); }
    int shards() const { return static_cast<int>(manifest_.train.size()); }
    TrainerId self() const { return self_; }
    std::string const& device() const { return device_; }
    Experiment const& experiment() const { return experiment_; }

private:
    TrialModel& model(Lap const& lap);
    template <class Work>
    void guarded(Journey& journey, std::string const& what, Work work);

    Experiment experiment_;
    TrainerId self_;
    ModelFactory factory_;
    Manifest manifest_;
    DataSchema schema_;
    Normaliser normaliser_;
    std::string device_;
    Workspace workspace_;
    std::map<ShardId, Shard> train_;
    std::vector<Shard> valid_;
    std::map<TrialId, std::unique_ptr<TrialModel>> models_;
};

}  // namespace hopscotch
