// SPDX-License-Identifier: Apache-2.0
// What the trainers of every strategy do alike: start a lap at home, finish it (best snapshot, LapDone), answer fetch_best,
// leave at shutdown.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "strategy/common/best_snapshot.hpp"
#include "strategy/common/checkpointer.hpp"
#include "strategy/common/state_store.hpp"
#include "strategy/common/strategy.hpp"

namespace hopscotch {

// A file holds another state than the journal says: that ends the job and not the trial.
class WrongState : public DataError {
public:
    using DataError::DataError;
};

class TrainerBase : public Strategy {
public:
    void forget(TrialId trial) override;                                   // rank 0
    void leave(TrialId trial, std::string const& why) override;            // rank 0
    void keep_end(TrialId trial, int epoch) override;                      // rank 0
    Buffer fetch_best(TrialId trial, int epoch, TrainerId home) override;  // rank 0
    void score_best(Lap const& lap, TrainerId home) override;              // rank 0
    std::optional<Welcome> serve() override;                               // trainers

protected:
    explicit TrainerBase(Resources resources);

    // Trainers: the strategy's own messages; whether there is work; one step of it.
    virtual void handle(Incoming message) = 0;
    virtual void drop(TrialId trial) = 0;
    virtual bool has_work() const = 0;
    virtual void work() = 0;
    // Rank 0 has said that this trial's lap ends with the unit under way: what waits here of it ends now, with end_left.
    // What comes later, when it comes (left_why). Strategies whose trainers train a lap together go on to its end.
    virtual void leave_waiting(TrialId) {}
    std::string const* left_why(TrialId trial) const;  // null: go on
    void end_left(Journey& journey, ByteView state);   // saved, if checkpoints are on, and reported as stopped
    enum class Told { nothing, leave, forget };
    Told told_of(TrialId trial);  // during a lap: takes messages, and sets them aside

    Journey begin(Lap const& lap);
    void finish(Journey& journey, MutableBytes state);  // LapDone; state may be empty if the trial ended early
    void train(Journey& journey, MutableBytes state);   // run_unit with the courier told
    bool validate(Journey& journey, MutableBytes state);
    virtual TrainerId home_of(Lap const& lap) const;
    void set_aside(Incoming message) { postponed_.push_back(std::move(message)); }  // for when the work under way is done
    // Checkpoints, if they are on. save_if_due: of a state between units; throws Paused if the job pauses. load: the state
    // that journey.lap.from holds, compared with the hash that the journal has of it, and where the journey goes on. Throws
    // DataError, WrongState.
    void save_if_due(Journey& journey, ByteView state);
    Buffer load(Journey& journey) const;
    bool saves() const { return checkpointer_.has_value(); }
    bool save_is_due(Journey const& journey) const {
        return paused() || checkpointer_->due(journey.saved_unix_s);
    }  // inside a lap
    void save(Journey& journey, ByteView state);
    bool paused() const { return resources_.courier.activity().pause; }
    virtual bool state_is_whole() const { return true; }  // false: other trainers hold parts of it between laps
    // The job pauses: every state that waits here, with its place, or with its trial if it rests between laps.
    virtual void save_all() { save_resting(); }
    void save_waiting(Journey& journey, WaitingState const& state);
    void save_resting();
    virtual WaitingState const* state_at_rest(TrialId trial) const = 0;  // null: none is here
    StateStore& store() { return *store_; }                              // of all states that wait
    using States = std::map<TrialId, WaitingState>;
    void balance(std::deque<Lap> const& laps, States const& states);  // they run in this order; the others wait for rank 0
    virtual bool works_while_paused() const { return false; }         // since others wait for it
    void busy_with(Lap const& lap, ShardId shard, Phase phase);
    virtual double idle_wait_s() const { return 1; }  // how long a trainer without work may wait for a message

    Resources resources_;
    std::vector<double> hop_s_;
    std::uint64_t staged_bytes_ = 0;  // of training rows copied from other trainers

private:
    [[noreturn]] void set_aside_wrong(Lap const& lap, std::uint64_t expected, std::uint64_t found) const;
    void save_best();
    void save_one_at_rest();
    void keep_boundary(Journey const& journey, ByteView state);
    void keep(Journey const& journey, ByteView state, Checkpointer::Kept kept);
    void rest(Journey const& done, ByteView state);
    bool may_work() const { return has_work() && (!paused() || works_while_paused()); }
    void say_paused();
    void answer_save(Save const& asked);
    void say_goodbye();
    std::uint64_t own_bytes() const;
    void answer(Incoming message);
    void answer_fetch(TrialMessage const& asked);
    void answer_score(Lap const& asked);

    std::optional<Incoming> next_message();

    std::deque<Incoming> postponed_;
    BestSnapshot best_;
    bool best_unsaved_ = false;
    std::uint64_t best_layout_ = 0, best_hash_ = 0;
    void answer_leave(Leave const& asked);
    void answer_keep(TrialMessage const& asked);

    std::map<TrialId, std::string> left_;         // why
    std::map<TrialId, std::set<int>> kept_ends_;  // laps whose ends go to files
    std::map<TrialId, double> bests_;             // run.keep_best "trial": of the laps that ended here
    std::map<TrialId, Journey> resting_;          // of states that rest here: the beginning of their next lap
    std::optional<int> pause_round_;              // to be answered
    double save_until_s_ = 0, next_look_s_ = 0;
    bool search_clones_ = false;  // every boundary state is kept
    std::optional<Checkpointer> checkpointer_;
    std::optional<StateStore> store_;
    std::uint64_t fetched_bytes_ = 0;  // of snapshots sent to rank 0
};

std::uint64_t peak_rss_bytes();

}  // namespace hopscotch
