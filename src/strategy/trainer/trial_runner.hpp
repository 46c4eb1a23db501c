// SPDX-License-Identifier: Apache-2.0
// The shards of one trainer, the validation data, and a model for each trial that was trained lately, which trains a unit or
// runs a piece of validation on a given state. Every strategy, and replay, trains through this class only.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "model/trial/trial_model.hpp"

namespace hopscotch {

class Buffer;
class BufferPool;
class Evaluation;
class ShardSource;
class TrialState;
class Workspace;
enum class NeededBy;
struct Activity;
struct HeldOut;
struct Journey;
struct Lap;
struct LapRecord;
struct Policy;
struct StateLayout;
struct TrainerGpu;
struct UnitAddress;

// Makes the model of a trial; tests inject one that misbehaves.
using ModelFactory = std::function<TrialModel(TrialConfig const&, Manifest const&, Workspace&)>;

enum class UnitHash { now, later };
class TrialRunner {
public:
    struct Seat {
        TrainerId self;
        int number_on_host = 0;                     // of the trainers there: it takes the GPU of that number
        int cores = 1;                              // its part of the host's
        std::uint64_t feature_memory = UINT64_MAX;  // bytes, of Workspace::limit_features
        TrainerGpu const* gpu = nullptr;            // asked for complaints; null: the device itself is. Not owned
    };

    // Opens the shards (and all of validation). Throws DataError, ConfigError.
    TrialRunner(Experiment experiment, std::vector<ShardId> const& shards, Seat seat,
                ModelFactory factory = make_trial_model);
    ~TrialRunner();

    // After a loss: this trainer owns these shards now. Models of laps under way are dropped. Throws as the constructor.
    void adopt(std::vector<ShardId> const& shards);
    void open_validation();  // for a trainer that owns no shard but validates; else the constructor does this

    Buffer initial_state(Lap const& lap, BufferPool& pool);  // before the trial's first unit

    // Called between two updates. wanted: whether take is called, when journey and state are up to date.
    struct OnTheWay {
        std::function<bool()> wanted;
        std::function<void()> take;
    };

    // Trains the rest of the unit at journey.step, appends its UnitRecord, and moves on a step; on a shard held out it
    // validates into journey.parts. Divergence and exceptions become the record's outcome. activity, on_the_way: may be
    // null. The caller measures seconds. hash: later: if the unit ends well, it has no hash yet (0), and end_unit() is due.
    void run_unit(Journey& journey, MutableBytes state, Activity* activity, OnTheWay const* on_the_way = nullptr,
                  UnitHash hash = UnitHash::now);
    // The end of the last unit of the journey: its hash, and the outcome if a value of the state is not finite. Any thread.
    static void end_unit(Journey& journey, std::uint64_t hash, bool finite);

    bool run_validation_piece(Journey& journey, MutableBytes state, Activity* activity);  // true: validation is complete
    // Scores a state on the test shards: LapRecord::valid. Exceptions of the trial as in run_unit.
    LapRecord score_test(Lap const& lap, MutableBytes state, Activity* activity);
    // ErrorAnalysis of a state on the validation rows, as JSON text; "": there are none here, or the model threw (warns).
    std::string errors_on_validation(Lap const& lap, MutableBytes state, Activity* activity);
    // For replay: changes a state as the end of validation did (a plateau schedule's counters), from the lap's record.
    void end_epoch(Lap const& lap, MutableBytes state, LapRecord const& record);

    // For strategies that take a unit apart (together/shared_lap.hpp). batch_sign: to be called after each batch. Counts the
    // batch, slows this rank if run.inject asks for it, and throws JobEnded once the job has ended. activity may be null.
    TrialModel& model(Lap const& lap);                      // valid while no lap of another trial begins
    TrialConfig const& config_of(Lap const& lap);           // of that model
    UnitAddress address_of(Lap const& lap, ShardId shard);  // of its random numbers (train.seed_scope)
    ShardSource& shard(ShardId shard) { return *train_.at(shard); }
    void set_shard(ShardId shard, std::unique_ptr<ShardSource> source);  // of another owner
    std::function<void()> batch_sign(Activity* activity) const;

    // The sums over the k-th of `parts` equal ranges of all validation batches. Throws the model's exceptions.
    Evaluation validate_part(Lap const& lap, MutableBytes state, int k, int parts, Activity* activity);

    // After the last piece, on the bound state: sets LapRecord::valid, plateau schedule, hash at the end, and outcome.
    void end_validation(Lap const& lap, ByteView state, Evaluation const& sums, LapRecord& record);
    // Models made from now on train with their learning rate times this: the linear scaling rule of Goyal et al. (2017).
    void scale_lr(double factor) { lr_factor_ = factor; }

    // After an exception in training (after: its text). Throws CommError if the GPU is lost. If the trial's own kernels have
    // made it unusable, the trial fails first, and then require_device() throws.
    void look_at_device(std::string const& after);
    void require_device() const;
    void forget(TrialId trial);
    Manifest const& manifest() const { return manifest_; }
    ShardId shard_of(Journey const& journey) const;  // at journey.step; of a bundle the first one
    HeldOut held_out(Lap const& lap) const;
    StateLayout const& layout(Lap const& lap) { return *shared_layout(lap); }
    std::shared_ptr<StateLayout const> const& shared_layout(Lap const& lap);  // makes the model if it is not known yet
    std::shared_ptr<TrialState> known_state(Lap const& lap) const;  // of the trial's model; null: there is none now
    int shards() const { return static_cast<int>(manifest_.train.size()); }
    int visits() const { return shards() / experiment_.strategy.group_size; }  // of a lap: one for each shard, or bundle
    TrainerId self() const { return seat_.self; }
    std::string const& device() const { return device_; }
    Experiment const& experiment() const { return experiment_; }

private:
    std::unique_ptr<ShardSource> open(ShardFile const& file, NeededBy whom) const;
    bool validate_piece(Journey& journey, TrialModel& trial_model, Evaluation& sums, Activity* activity);
    void evaluate_held_out(Journey& journey, MutableBytes state, Activity* activity);
    void train_rest(Journey& journey, TrialModel& trial_model, Activity* activity, OnTheWay const* on_the_way);
    void guarded(Journey& journey, std::string const& what, std::function<void()> const& work);

    Experiment experiment_;
    Policy const& policy_;
    Seat seat_;
    ModelFactory factory_;
    Manifest manifest_;
    std::string device_;
    std::string broken_;  // the reason why the device cannot be used any more; empty: it can
    double lr_factor_ = 1;
    std::int64_t units_ = 0;  // trained here
    std::unique_ptr<Workspace> workspace_;
    std::map<ShardId, std::unique_ptr<ShardSource>> train_;
    std::vector<std::unique_ptr<ShardSource>> valid_;
    struct Trial {
        Assignment assignment;                      // a clone takes new values
        TrialConfig config;                         // resolved once for an assignment
        std::shared_ptr<StateLayout const> layout;  // as the model's; null before the first model
        TrialModel model;                           // empty until it is asked for, and after it was dropped
        std::uint64_t used = 0;                     // last, by uses_
    };
    Trial& trial(Lap const& lap);
    void make_room();
    std::map<TrialId, Trial> trials_;  // those used last
    std::uint64_t uses_ = 0;
    std::map<TrialId, std::unique_ptr<Evaluation>> validations_;  // under way
};

}  // namespace hopscotch
