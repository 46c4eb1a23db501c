// SPDX-License-Identifier: Apache-2.0
// One trainer's hands: its shards, the validation data, and a model per trial that trains a unit or a piece of
// validation on whatever state it is given. Every strategy, and replay, trains through this class and nothing else.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "model/feed/workspace.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/trial_model.hpp"
#include "schedule/policy.hpp"
#include "strategy/common/messages.hpp"

namespace hopscotch {

// Thrown out of a unit when rank 0 has ended the job meanwhile.
struct JobEnded {};
// The same, but the job goes on: the state is saved.
struct Paused : JobEnded {};

// Makes the model of a trial; tests inject one that misbehaves.
using ModelFactory = std::function<TrialModel(TrialConfig const&, Manifest const&, Workspace&)>;

// Whose fault it is that this was thrown while a trial was trained.
Cause cause_of(std::exception const& error);

class TrialRunner {
public:
    // Opens the shards (and all of validation). Throws DataError, ConfigError.
    // Which of the job's trainers, and the how manieth on its host (it takes the GPU of that number).
    struct Seat {
        TrainerId self;
        int number_on_host = 0;
    };
    TrialRunner(Experiment experiment, std::vector<ShardId> const& shards, Seat seat,
                ModelFactory factory = make_trial_model);

    // After a loss: these shards are its own now. What has been begun is forgotten. Throws as the constructor does.
    void adopt(std::vector<ShardId> const& shards);

    // For a trainer that has no shards of its own but validates: where it has some, it is done already.
    void open_validation();

    // The trial's state before its first unit.
    Buffer initial_state(Lap const& lap, BufferPool& pool);

    // Between two updates of a unit: whether its place is wanted; if so journey has it, and the state is up to date.
    struct OnTheWay {
        std::function<bool()> wanted;
        std::function<void()> take;
    };

    // Trains the unit at journey.step (what is left of it), appends its UnitRecord and moves on one step; on a shard that
    // the trial holds out it validates, into journey.parts. Never throws for what the trial did: divergence and exceptions
    // end up in journey.record.outcome and reason. activity tells the courier of progress; it and on_the_way may be null.
    void run_unit(Journey& journey, MutableBytes state, Activity* activity, OnTheWay const* on_the_way = nullptr);

    // Validates one piece, no longer than a training unit. True when validation is complete.
    bool run_validation_piece(Journey& journey, MutableBytes state, Activity* activity);

    // Scores a state on the test shards: LapRecord::valid. Never throws for what the trial did, as run_unit.
    LapRecord score_test(Lap const& lap, MutableBytes state, Activity* activity);

    // What the end of validation does to a state (a plateau schedule's counters), again, from the lap's record: for replay.
    void end_epoch(Lap const& lap, MutableBytes state, LapRecord const& record);

    // For strategies that take a unit apart (strategy/shared_lap.hpp): the trial's model, a shard of this trainer, and what
    // to call after each batch: it counts, slows this rank if run.inject says so, and throws JobEnded once rank 0 has ended
    // the job. activity may be null.
    TrialModel& model(Lap const& lap);
    TrialConfig config_of(Lap const& lap) const;            // of that model
    UnitAddress address_of(Lap const& lap, ShardId shard);  // of its random numbers: train.seed_scope says whose they are
    ShardSource& shard(ShardId shard) { return *train_.at(shard); }
    void set_shard(ShardId shard, std::unique_ptr<ShardSource> source) {
        train_[shard] = std::move(source);
    }  // of another's
    std::function<void()> batch_sign(Activity* activity) const;

    // The k-th of `parts` equal ranges of all validation batches, added up. Throws what the model throws.
    Evaluation validate_part(Lap const& lap, MutableBytes state, int k, int parts, Activity* activity);

    // What follows the last piece of a validation, on the bound state: LapRecord::valid, the plateau schedule, the
    // hash at the end, and the outcome if the loss is not finite.
    void end_validation(Lap const& lap, ByteView state, Evaluation const& sums, LapRecord& record);

    // Trials whose models are made from now on train with their learning rate times this: the linear scaling rule of Goyal
    // et al. (2017) for strategy.scale_lr. Weight decay, momentum and schedule.min_lr stay as they are.
    void scale_lr(double factor) { lr_factor_ = factor; }

    // After something was thrown while a trial was trained (what that was: for the error). Throws CommError if the GPU is
    // lost. If the trial's own kernels have made it unusable, the trial fails first, and then require_device() throws:
    // nothing else can be trained by this process.
    void look_at_device(std::string const& after);
    void require_device() const;

    void forget(TrialId trial);
    Manifest const& manifest() const { return manifest_; }
    ShardId shard_of(Lap const& lap, int step) const { return policy_.next({lap.trial, step, shards(), held_out(lap)}); }
    HeldOut held_out(Lap const& lap) const { return held_out_of(lap.assignment, experiment_.search.folds); }
    StateLayout const& layout(Lap const& lap) { return model(lap).state->layout(); }
    int shards() const { return static_cast<int>(manifest_.train.size()); }
    TrainerId self() const { return self_; }
    std::string const& device() const { return device_; }
    Experiment const& experiment() const { return experiment_; }

private:
    std::unique_ptr<ShardSource> open(ShardFile const& file) const;
    bool validate_piece(Journey& journey, TrialModel& trial_model, Evaluation& sums, Activity* activity);
    void evaluate_held_out(Journey& journey, MutableBytes state, Activity* activity);
    UnitSums train_rest(Journey& journey, TrialModel& trial_model, Activity* activity, OnTheWay const* on_the_way);
    void guarded(Journey& journey, std::string const& what, std::function<void()> const& work);

    Experiment experiment_;
    Policy const& policy_;
    TrainerId self_;
    ModelFactory factory_;
    Manifest manifest_;
    std::string device_;
    std::string broken_;      // why nothing can be trained on the device any more; empty: it goes on
    double slow_factor_ = 1;  // run.inject
    double lr_factor_ = 1;
    Workspace workspace_;
    std::map<ShardId, std::unique_ptr<ShardSource>> train_;
    std::vector<std::unique_ptr<ShardSource>> valid_;
    struct Made {
        Assignment assignment;  // a clone takes new values
        TrialModel model;
        TrialId seed_key;
    };
    Made& made(Lap const& lap);
    std::map<TrialId, Made> models_;
    std::map<TrialId, Evaluation> validations_;  // of the laps that are being validated
};

}  // namespace hopscotch
