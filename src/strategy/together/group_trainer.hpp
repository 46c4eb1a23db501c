// SPDX-License-Identifier: Apache-2.0
// What allreduce, parameter_server and model_averaging have in common: all trainers train one lap after another together,
// and each holds the trial's whole state. Rank 0 talks to the first trainer alone, which passes a lap on when it begins it,
// so that all take the laps in one order. A lap: everyone is ready? -> train_lap -> one state for all -> outcomes and hashes
// compared -> validation in K parts -> LapDone from the first trainer.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "strategy/common/trainer_base.hpp"
#include "strategy/together/group.hpp"
#include "strategy/together/shared_lap.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/weighted_sum.hpp"

namespace hopscotch {

class GroupTrainer : public TrainerBase {
public:
    void execute(Lap const& lap) override { resources_.courier.send(rank_of(root()), MessageKind::lap, encode(lap)); }
    void forget(TrialId trial) override {
        resources_.courier.send(rank_of(root()), MessageKind::stop, encode(TrialMessage{trial, 0}));
    }

protected:
    explicit GroupTrainer(Resources resources);

    // Trains this trainer's part of the lap (from step journey.batches on) and leaves the same parameters and slots on every
    // member.
    virtual void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) = 0;
    // Every member calls it at the same steps, so many of which are done, where all hold what is the same. Once a second or
    // so the first one says whether the lap so far is saved, into one file. Throws Paused if the job pauses.
    void look_at_clock(SharedLap& mine, Journey& journey, std::int64_t steps);
    // Collective, in the first lap. Adds up what lies on the members' GPUs; null: it goes through host memory.
    WeightedSum* device_sum();
    // What must be the same everywhere when train_lap has returned: all of the state, unless a strategy says otherwise.
    enum class Same { state, parameters };
    virtual Same what_is_same() const { return Same::state; }
    SharedLap::Own own() const {
        return what_is_same() == Same::state ? SharedLap::Own::buffers : SharedLap::Own::buffers_and_slots;
    }
    virtual void let_go(TrialId) {}  // of what the strategy itself keeps for a trial that has ended

    void handle(Incoming message) override;

    std::int64_t local_batch_size(TrialConfig const& config, int k) const;
    StepPlan plan_of(Lap const& lap) const;
    TrialConfig config_of(Lap const& lap) const;
    std::string place(Lap const& lap, std::int64_t step) const;  // "trial 3, epoch 0, step 17", for errors

    bool is_root() const { return group_.self() == 0; }

    Group group_;

private:
    struct Start;
    struct Part;  // what a member says at the end of its training
    TrainerId root() const { return group_.trainers().front(); }
    TrainerId home_of(Lap const&) const override { return root(); }
    void drop(TrialId trial) override;
    WaitingState const* state_at_rest(TrialId trial) const override {
        auto const found = states_.find(trial);
        return found == states_.end() ? nullptr : &found->second;
    }
    bool works_while_paused() const override { return !is_root(); }  // in a lap that the root has begun
    bool has_work() const override { return !laps_.empty(); }
    void work() override;
    void run(Lap const& lap, Journey& journey);
    void train(SharedLap& mine, Journey& journey);
    void average_buffers(SharedLap& mine, double share);
    double buffer_share(StepPlan const& plan) const;
    void agree(SharedLap& mine, Journey& journey);
    void validate_together(SharedLap& mine, Journey& journey);
    Outcome all_ready(Lap const& lap, Journey& journey, std::string const& complaint);
    std::int64_t steps_to_look() const;
    void save_lap(SharedLap& mine, Journey& journey, std::int64_t steps);

    bool has_looked_for_nccl_ = false;
    std::unique_ptr<WeightedSum> nccl_;
    std::deque<Lap> laps_;
    States states_;
    Buffer current_;                             // of the lap under way: exchanges that a shutdown cuts off still point here
    std::vector<float> float_buffers_;           // of average_buffers, as long
    std::vector<std::int64_t> integer_buffers_;  // "
    std::set<TrialId> ended_;
    std::int64_t next_look_ = 0;                  // of look_at_clock: a step
    double lap_started_s_ = 0, steps_per_s_ = 0;  // the first trainer's
    std::int64_t first_step_ = 0;                 // of this lap, likewise
    TrialId timed_;                               // whose steps these are
};

}  // namespace hopscotch
