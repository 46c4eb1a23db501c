// SPDX-License-Identifier: Apache-2.0
// A strategy executes laps: one trial, one epoch. It decides which trainer trains on which shard and how states move; it
// never decides what to train. Every rank builds the same strategy from the same experiment.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "comm/courier.hpp"
#include "comm/nccl_calls.hpp"
#include "core/error.hpp"
#include "model/device.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "strategy/trial_runner.hpp"

namespace hopscotch {

// The rank of a trainer: rank 0 schedules, ranks 1.. train.
inline Rank rank_of(TrainerId trainer) { return Rank(trainer.value + 1); }
inline TrainerId trainer_of(Rank rank) { return TrainerId(rank.value - 1); }

// The GPU of a trainer, as those that train together tell each other, and how it speaks NCCL.
struct TrainerGpu {
    DeviceInfo info;
    std::function<std::shared_ptr<NcclCalls>(std::string const& device)> nccl = make_nccl;
};

// What this rank has. runner: trainers only.
struct Resources {
    Courier& courier;
    Experiment const& experiment;
    OwnerTable owners;
    TrialRunner* runner = nullptr;
    CheckpointTarget checkpoints = {};  // no run_dir: none are written
    TrainerGpu gpu = {};
};

class Strategy {
public:
    virtual ~Strategy() = default;

    // Rank 0, Local. Queues the lap and returns at once; its record reaches the sink of the run later, in any order.
    virtual void execute(Lap const& lap) = 0;

    // Rank 0, Local. A record has come, and what it released has been executed.
    virtual void lap_done(LapRecord const&) {}

    // Rank 0, Local. The trial has ended: everyone lets go of what belongs to it.
    virtual void forget(TrialId trial) = 0;

    // Rank 0, Local. The lap of this trial that is under way ends with its unit, as stopped: its record says so. May come to
    // nothing (nothing is under way, or trainers train it together).
    virtual void leave(TrialId trial, std::string const& why) = 0;

    // Rank 0, Local. The trial's state after that lap, which has not ended or after which it rests, goes to a file, which
    // saved() tells of. A trainer that has gone on from there has no such state any more: then nothing comes.
    virtual void keep_end(TrialId trial, int epoch) = 0;

    // Rank 0, Local. The snapshot of a trial's best epoch, asked from the trainer that validated it.
    // Throws CommError if it does not come within run.deadline_s.
    virtual Buffer fetch_best(TrialId trial, int epoch, TrainerId home) = 0;

    // Rank 0, Local. Has the trainer that validated it score that snapshot on the test shards; the record reaches scored().
    virtual void score_best(Lap const& lap, TrainerId home) = 0;

    // Trainers. Serves laps until rank 0 says shutdown; or until it says how the job goes on after a loss, which is
    // returned. Throws CommError when rank 0 is silent or a transfer fails.
    virtual std::optional<Welcome> serve() = 0;
};

// What a trial's bits depend on besides the experiment: nothing, or the number of trainers too.
enum class Bits { any_trainers, same_trainers };

// Whether rows stay with the trainer that owns their shard. travel: trainers that own no shard train too.
enum class Rows { stay, travel };

struct StrategyEntry {
    std::string name, summary;
    bool all_trainers;  // false: only trainer 0 works, and it owns every shard
    std::unique_ptr<Strategy> (*make)(Resources);
    Bits bits = Bits::any_trainers;
    Rows rows = Rows::stay;
};
std::vector<StrategyEntry> const& strategies();
StrategyEntry const& strategy_named(std::string_view name);  // throws ConfigError that lists the known names

// How many of so many trainers, the first ones, may own shards: dedicated parameter servers own none. At least 1.
int trainers_with_data(StrategyConfig const& config, int trainers);

// Rank 0: a trainer is lost, but the job may go on without it (Courier::survive_losses).
class TrainerLost : public CommError {
public:
    explicit TrainerLost(Lost const& lost) : CommError(lost.why), rank(lost.rank) {}
    Rank rank;
};

// Rank 0: a state did not arrive as it left, and is gone. Its trial must begin again from a checkpoint.
class StateDamaged : public CommError {
public:
    using CommError::CommError;
};

// Rank 0. Throws what a message tells of: CommError with a trainer's own words if it failed, TrainerLost, StateDamaged.
// Nothing otherwise.
void throw_bad_news(Incoming const& message);

// Rank 0. Takes messages into the sink until `finished` says so or nothing came for `idle_s`. Throws CommError with a
// trainer's own words if one of them fails, and names rank, host, trial, unit and seconds when one makes no batch progress.
class Pump {
public:
    Pump(Courier& courier, std::vector<std::string> hosts, double stall_s);
    void take(LapSink& sink, double timeout_s);
    int busy_trainers() const;
    std::uint64_t units_done() const;

    // Has all living trainers stop at their next batch and write every state that has no copy of its present place on the
    // disk. Returns after deadline_s at the latest: true if all of them have done both. What comes meanwhile reaches the
    // sink.
    bool pause(LapSink& sink, double deadline_s);

    // Until all living trainers have done what they were told, and what they had to say about it has reached the sink: none
    // trains a lap of a trial that has been forgotten. enough: gives up.
    void settle(LapSink& sink, std::function<bool()> const& enough);

private:
    void check_stalls();
    bool hear_from_all(MessageKind kind, LapSink& sink, double until_s);
    void hear(Rank from, MessageKind kind, int round);

    struct Progress {
        std::uint64_t batches = 0;
        double since = 0;
    };
    Courier& courier_;
    std::vector<std::string> hosts_;
    double stall_s_;
    std::vector<Progress> progress_;
    double next_check_ = 0;
    int round_ = 0;                                        // of pauses
    std::map<MessageKind, std::set<std::int32_t>> heard_;  // of this round: paused, all_saved, from these ranks
};

}  // namespace hopscotch
