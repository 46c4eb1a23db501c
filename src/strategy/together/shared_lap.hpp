// SPDX-License-Identifier: Apache-2.0
// One trainer's part of a lap that all train together: its own shards one after another, an update at a time. When its rows
// are used up it goes on updating, with gradients of none of its own. What the model throws ends the trial and not the job:
// this trainer goes on likewise, so that nobody waits for it, and says so at the end.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "strategy/common/trial_runner.hpp"
#include "strategy/together/group_messages.hpp"

namespace hopscotch {

class SharedLap {
public:
    struct Part {
        Lap lap;
        MutableBytes state;  // of this trainer
        std::vector<ShardId> shards;
        std::int64_t batch_size = 1;  // local
    };
    // Binds the state. Throws what making the model throws.
    SharedLap(TrialRunner& runner, Part part, Activity& activity);

    // The rows of this trainer's part of the next update, whose mean gradient gradient() holds then; 0: it has none (any
    // more), and gradient() is zero. ready as in TrainingPass::next_gradient.
    std::int64_t next_gradient(GradientReady const& ready = {});
    std::span<float> gradient() { return model_.training->gradient(); }
    std::optional<DeviceFloats> device_gradient() { return model_.training->device_gradient(); }  // as in TrainingPass
    void update(std::int64_t rows);                                                               // of all trainers
    void count(std::int64_t rows);  // instead of update() where this trainer does none; as in TrainingPass

    // As in TrialState: around work on state() while the pass is open.
    void fetch();
    void store();
    std::optional<DeviceFloats> device_state() { return model_.state->device_state(); }

    // Called before the host waits for the device: where others have a part in what that still has to do, it keeps the
    // deadlines.
    void before_waits(std::function<void()> work) { before_waits_ = std::move(work); }

    // What of the state differs between members.
    enum class Own { buffers, buffers_and_slots };
    // Between updates, and the state is up to date then. go_on: first of all, on a state that somebody had at that place;
    // what is this member's own is written into it. Throws what opening the shard throws.
    MemberPlace place(Own own);
    void go_on(MemberPlace const& place, Own own);

    // After the last update: closes the pass, looks for what is not finite.
    void finish();

    TrialModel& model() { return model_; }
    Lap const& lap() const { return part_.lap; }
    MutableBytes state() const { return part_.state; }
    std::vector<UnitRecord> const& units() const { return units_; }
    Outcome outcome() const { return outcome_; }
    std::string const& reason() const { return reason_; }

private:
    bool open_next_shard();
    void open(ShardId shard);
    void close_pass();
    template <class Work>
    void guarded(Work work);

    TrialRunner& runner_;
    Part part_;
    Activity& activity_;
    TrialModel& model_;
    std::function<void()> before_waits_ = [] {};
    std::size_t next_shard_ = 0;
    bool open_ = false;
    std::vector<UnitRecord> units_;
    Outcome outcome_ = Outcome::finished;
    std::string reason_;
};

}  // namespace hopscotch
