// SPDX-License-Identifier: Apache-2.0
// The states that a trainer keeps: of trials that rest between two laps, the best state so far, and the copies of states in
// checkpoint files. All strategies save and continue in the same way.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/waiting_state.hpp"

namespace hopscotch {

class BestSnapshot;
class Buffer;
class Checkpointer;
class StateStore;
struct Checkpoint;
struct StateHashes;
struct WorkerResources;

// A lap that begins. state: of the trial at rest; empty: the state is in the file lap.from, or does not exist yet.
struct LapBegin {
    Journey journey;
    WaitingState state;
};

class StateKeeper {
public:
    // parts: between laps other trainers hold parts of a state, so no trial can continue from a file of this trainer alone.
    enum class Holds { whole_states, parts };
    // The resources must outlive the keeper.
    StateKeeper(WorkerResources const& resources, Holds holds);
    ~StateKeeper();

    // Between laps. end: the lap of this trainer has finished: its state may be the best, may go to a file, and is saved if
    // that is due. rest: the state waits here for the trial's next lap.
    LapBegin begin(Lap const& lap, TrainerId home);
    void end(Journey const& journey, ByteView state);
    void rest(TrialId trial, Buffer state);
    void forget(TrialId trial);

    // The end of this lap goes to a file: at once if the trial rests there, else when the lap ends here.
    void keep_end(LapId const& lap);
    BestSnapshot const& best() const { return *best_; }

    // Checkpoints in the middle of a lap, if they are on. is_due: the job pauses, or the trial's newest file is too old.
    bool saves() const { return checkpointer_ != nullptr; }
    bool is_due(Journey const& journey) const;
    void save(Journey& journey, ByteView state);
    // Between units. Throws Paused if the job pauses.
    void save_if_due(Journey& journey, ByteView state);
    void save_left(Journey& journey, ByteView state);  // of a lap that ends now as stopped
    // A trial that rests for long gets a new file. Call it often.
    void save_one_at_rest();

    // The job pauses: saves all states that wait, and returns the number of states that were not written by the deadline.
    // queued: calls save_waiting for the states that wait in the middle of a lap.
    std::uint64_t save_all(double deadline_s, std::function<void()> const& queued);
    void save_waiting(Journey& journey, WaitingState const& state);
    void stop_saving();  // gives up the files that are not written

    // Waiting states go to the disk beyond run.state_memory. The states at rest follow the states in the order given, or run
    // in the order of the laps given.
    StateStore& store() { return *store_; }
    void balance(std::vector<WaitingState const*> order);
    void balance(std::deque<Lap> const& laps);

private:
    struct AtRest {
        WaitingState state;
        std::optional<Journey> next;  // the beginning of the next lap; none: another trainer saves this trial
    };
    bool can_continue() const { return checkpointer_ && holds_ == Holds::whole_states; }
    bool paused() const;
    StateHashes hashes(Lap const& lap, ByteView state) const;
    void consider_best(Journey const& journey, ByteView state);
    void save_best();
    void keep_boundary(Journey const& journey, ByteView state);
    void plan_next(Journey const& done, ByteView state);

    WorkerResources const& resources_;
    Holds holds_;
    bool search_clones_;  // then all ends of laps go to files
    std::unique_ptr<BestSnapshot> best_;
    std::unique_ptr<Checkpoint> unsaved_best_;    // describes best_ until that is in a file
    std::map<TrialId, std::set<int>> kept_ends_;  // epochs whose ends go to files
    std::map<TrialId, double> bests_;             // run.keep_best "trial": of the laps that ended here
    double save_until_s_ = 0, next_look_s_ = 0;
    std::optional<double> best_saved_s_;
    std::unique_ptr<Checkpointer> checkpointer_;  // null: no state is saved
    std::unique_ptr<StateStore> store_;
    std::map<TrialId, AtRest> resting_;
};

}  // namespace hopscotch
