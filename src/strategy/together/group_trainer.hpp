// SPDX-License-Identifier: Apache-2.0
// The common part of allreduce, parameter_server and model_averaging: all trainers train one lap after another together, and
// each holds the trial's whole state. Rank 0 sends a lap to the first trainer only. The first trainer passes the lap on when
// it begins the lap, so that all trainers take the laps in one order. A lap: all are ready -> train_lap -> one state for all
// -> outcomes and hashes compared -> validation in K parts -> LapDone from the first trainer.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "strategy/together/group.hpp"
#include "strategy/together/shared_lap.hpp"
#include "strategy/trainer/trainer_loop.hpp"

namespace hopscotch {

class BufferMean;
class SharedSaves;
class StepPlan;
class WeightedSum;
struct TrialConfig;

class GroupTrainer : public TrainerLoop {
protected:
    // The values that must be the same on every member when train_lap has returned, and that a member's file holds.
    enum class Same { state, parameters };
    explicit GroupTrainer(WorkerResources const& resources, Same same = Same::state,
                          StateKeeper::Holds holds = StateKeeper::Holds::whole_states);
    ~GroupTrainer() override;

    // Trains this trainer's part of the lap (from step journey.batches on) and leaves the same parameters and slots on every
    // member.
    virtual void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) = 0;
    // Every member calls this at the same numbers of steps, when all members hold the same parameters. About once a second
    // the first member decides whether the lap so far is saved, into one file. Throws Paused if the job pauses.
    void look_at_clock(SharedLap& mine, Journey& journey, std::int64_t steps);
    // Collective, in the first lap. Adds up values on the members' GPUs; null: sums go through host memory.
    WeightedSum* device_sum();

    void handle(Incoming message) override;
    void drop(TrialId trial) override;

    std::int64_t local_batch_size(TrialConfig const& config, int k) const;
    StepPlan plan_of(Lap const& lap) const;
    TrialConfig const& config_of(Lap const& lap) const;

    bool is_root() const { return group_.self() == 0; }

    Group group_;

private:
    struct Start;
    // Others wait for a member in a lap that the first member has begun, even while the job pauses.
    bool may_work() const override { return !laps_.empty() && (!is_root() || !paused()); }
    void work() override;
    void run(LapBegin& begun);
    void open_lap(LapBegin& begun, std::optional<SharedLap>& mine);
    static SharedLap::Own own_of(Same same);
    void tell_members(MessageKind kind, Bytes const& body);
    void train(SharedLap& mine, Journey& journey);
    void agree(SharedLap& mine, Journey& journey, double gpu_use);
    Outcome all_ready(Lap const& lap, Journey& journey, std::string const& complaint);

    bool has_looked_for_nccl_ = false;
    std::unique_ptr<WeightedSum> nccl_;
    std::unique_ptr<BufferMean> buffers_;
    std::unique_ptr<SharedSaves> saves_;
    Same same_;
    std::deque<Lap> laps_;
    Buffer current_;  // of the lap under way: exchanges that a shutdown cuts off still point here
    std::set<TrialId> ended_;
};

}  // namespace hopscotch
