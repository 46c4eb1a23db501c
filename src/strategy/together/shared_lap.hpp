// SPDX-License-Identifier: Apache-2.0
// One trainer's part of a lap that all train together: its own shards one after another, an update at a time. When its rows
// are used up, the trainer goes on updating, with zero gradients of its own. An exception of the model ends the trial and
// not the job: this trainer goes on in the same way, so that no one waits for it, and reports the exception at the end.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_view.hpp"
#include "core/device_floats.hpp"
#include "core/ids.hpp"
#include "model/lean/group_calls.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class TrainingPass;
class TrialRunner;
struct Activity;
struct MemberPlace;
struct StateLayout;
struct TrialModel;

std::string place_of(Lap const& lap, std::int64_t step);  // "trial 3, epoch 0, step 17", for errors

class SharedLap {
public:
    struct Part {
        Lap lap;
        MutableBytes state;  // of this trainer
        std::vector<ShardId> shards;
        std::int64_t batch_size = 1;  // local
    };
    // Binds the state. Throws the exceptions of the model's maker.
    SharedLap(TrialRunner& runner, Part part, Activity& activity);

    // The number of rows in this trainer's part of the next update. gradient() has their mean gradient. 0: no row is left,
    // and gradient() is zero. ready as in TrainingPass::next_gradient.
    std::int64_t next_gradient(GradientReady const& ready = {});
    std::span<float> gradient();
    std::optional<DeviceFloats> device_gradient();  // as in TrainingPass
    void update(std::int64_t rows);                 // of all trainers
    void count(std::int64_t rows);                  // instead of update() where this trainer does none; as in TrainingPass

    // As in TrialState: around work on state() while the pass is open.
    void fetch();
    void store();
    std::optional<DeviceFloats> device_state();

    // work is called before the host waits for the device. It keeps the deadlines if the device waits for other trainers.
    void before_waits(std::function<void()> work) { before_waits_ = std::move(work); }

    // The part of the state that differs between members.
    enum class Own { buffers, buffers_and_slots };
    // Between updates. place: brings the state up to date. go_on: the first call, on the state of another member at that
    // place; writes this member's own part into the state. Throws the exceptions of opening the shard.
    MemberPlace place(Own own);
    void go_on(MemberPlace const& place, Own own);

    // After the last update: closes the pass, and checks that the state is finite.
    void finish();

    TrainingPass& training();
    StateLayout const& layout() const;
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
